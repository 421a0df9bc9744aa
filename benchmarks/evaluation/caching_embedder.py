"""An embedder that computes each vector once, because many histories share sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longmind.providers.embedder import CheckedEmbedder, Vectors


class CachingEmbedder:
    """A cache in front of an embedder; it is never emptied."""

    def __init__(self, embedding: CheckedEmbedder) -> None:
        self._embedding = embedding
        self._texts: dict[str, Vectors] = {}
        self._queries: dict[str, Vectors] = {}
        self.model = embedding.model
        self.usual_similarity = embedding.usual

    @property
    def dimension(self) -> int:
        """The length of the vectors."""
        return len(self.embed_query("dimension"))

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        if new:
            self._texts |= zip(new, self._embedding.texts(new), strict=True)
        return np.array([self._texts[text] for text in texts])

    def embed_query(self, query: str) -> Vectors:
        """Return the vector of a question."""
        if query not in self._queries:
            self._queries[query] = self._embedding.query(query)
        return self._queries[query]
