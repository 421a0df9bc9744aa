"""An embedder without a model: texts that share words are near each other, and the same text is always the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence


class WordsEmbedder:
    def __init__(self, model: str = "test:words", dimension: int = 32) -> None:
        self.model = model
        self.dimension = dimension

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> list[float]:
        vector = [0.0] * self.dimension
        for word in re.findall(r"\w+", query.casefold()) or [query]:
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            vector[int.from_bytes(digest) % self.dimension] += 1.0 if digest[0] % 2 else -1.0
        return vector
