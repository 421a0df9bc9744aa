"""An embedder that computes each vector once, because many histories share sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.evaluation.vector_files import VectorFolder, make_key
from longmind.providers.embedder import CheckedEmbedder, Vectors

_KINDS = ("texts", "queries")
_SAVED_AT_ONCE = 1000


class CachingEmbedder:
    """A cache in front of an embedder; it is never emptied.

    folder: a folder in which vectors are kept for later runs.
    """

    def __init__(self, embedding: CheckedEmbedder, folder: Path | None = None) -> None:
        self._embedding = embedding
        self._files = None if folder is None else VectorFolder.of_embedder(folder, embedding)
        self._texts, self._queries = (
            _KnownVectors({} if self._files is None else self._files.load(kind)) for kind in _KINDS
        )
        self.model = embedding.model
        self.usual_similarity = embedding.usual
        self.encoder = embedding.encoder

    @property
    def dimension(self) -> int:
        """The length of the vectors."""
        return len(self.embed_query("dimension"))

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        if new:
            self._texts.add(zip(new, self._embedding.texts(new), strict=True))
            if self._texts.unsaved >= _SAVED_AT_ONCE:
                self.save()
        return np.array([self._texts[text] for text in texts])

    def embed_query(self, query: str) -> Vectors:
        """Return the vector of a question."""
        if query not in self._queries:
            self._queries.add([(query, self._embedding.query(query))])
        return self._queries[query]

    def save(self) -> None:
        """Store the vectors that were computed since the last call, if there is a folder."""
        for kind, known in zip(_KINDS, (self._texts, self._queries), strict=True):
            new = known.take_new()
            if self._files is not None:
                self._files.save(kind, new)

    def measure_query_times(self, queries: Sequence[str]) -> Iterator[float]:
        """Yield the seconds that the embedder itself takes for each question."""
        for query in queries:
            # A text that neither this cache nor one of the embedder has seen.
            began = time.perf_counter()
            self._embedding.query(f"{query} Once more?")
            yield time.perf_counter() - began


class _KnownVectors:
    """Vectors by text, and those of them that are not stored yet."""

    def __init__(self, stored: dict[bytes, Vectors]) -> None:
        self._by_key = stored
        self._new: dict[bytes, Vectors] = {}

    def __contains__(self, text: str) -> bool:
        return make_key(text) in self._by_key

    def __getitem__(self, text: str) -> Vectors:
        return self._by_key[make_key(text)]

    @property
    def unsaved(self) -> int:
        return len(self._new)

    def add(self, vectors: Iterator[tuple[str, Vectors]] | Sequence[tuple[str, Vectors]]) -> None:
        found = {make_key(text): vector for text, vector in vectors}
        self._by_key |= found
        self._new |= found

    def take_new(self) -> Mapping[bytes, Vectors]:
        new, self._new = self._new, {}
        return new
