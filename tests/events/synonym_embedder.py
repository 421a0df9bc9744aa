"""Embedders for searches: one that knows synonyms, and tells what it was asked to embed."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.errors import EmbedderFailed
from tests.embedder import WordsEmbedder

SYNONYMS = {"automobile": "car", "rollout": "deployment", "crashed": "failure", "beverage": "tea"}


class MeaningEmbedder(WordsEmbedder):
    """Texts are near each other that share words, or words that mean the same."""

    def __init__(self, model: str = "test:meaning", dimension: int = 2048) -> None:
        super().__init__(model, dimension)
        self.embedded: list[str] = []
        self.fails = False

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        if self.fails:
            raise EmbedderFailed("There is no line to the model.")
        self.embedded += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> list[float]:
        return super().embed_query(" ".join(SYNONYMS.get(word, word) for word in query.casefold().split()))
