"""How OpenAI writes vectors, and what may be wrong with them."""

from __future__ import annotations

from typing import Any

from tests.embedder import WordsEmbedder

_EMBEDDER = WordsEmbedder()


def texts_in(body: dict[str, Any]) -> list[str]:
    return [body["input"]] if isinstance(body["input"], str) else body["input"]


def vectors(texts: list[str], trouble: str) -> tuple[int, Any]:
    """The status and the body of an answer."""
    vectors = _EMBEDDER.embed_texts(texts)
    match trouble:
        case "500" | "429":
            return int(trouble), {"error": {"message": f"trouble {trouble}", "type": "server_error"}}
        case "too short":
            vectors = [vector[:-3] for vector in vectors]
        case "too few":
            vectors = vectors[:-1]
        case "not a vector":
            return 200, {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": "?"}]}
        case "no json":
            return 200, "what?"
    data = [{"object": "embedding", "index": place, "embedding": each} for place, each in enumerate(vectors)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": usage}
