"""An embedder that is asked only once for each text: many histories share the same sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longmind.providers.embedder import CheckedEmbedder, Vectors


class RememberingEmbedder:
    def __init__(self, embedding: CheckedEmbedder) -> None:
        self._embedding = embedding
        self._texts: dict[str, Vectors] = {}
        self._queries: dict[str, Vectors] = {}
        self.model = embedding.model
        self.usual_similarity = embedding.usual

    @property
    def dimension(self) -> int:
        return len(self.embed_query("dimension"))

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        if new:
            self._texts |= zip(new, self._embedding.texts(new), strict=True)
        return np.array([self._texts[text] for text in texts])

    def embed_query(self, query: str) -> Vectors:
        if query not in self._queries:
            self._queries[query] = self._embedding.query(query)
        return self._queries[query]
