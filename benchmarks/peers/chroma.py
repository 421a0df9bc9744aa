"""Chroma, embedded and on disk, one collection for each user. Its environment: pip install chromadb numpy"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import chromadb  # type: ignore[import-not-found]  # in its own environment only
from chromadb.config import Settings  # type: ignore[import-not-found]  # as above

from benchmarks._recall_data import vectors_of
from benchmarks.peers._peer import TOP, run

NOTES = ("Recall uses vectors alone, with an approximate index that may miss some of the nearest.",)


class Chroma:
    def __init__(self, folder: str) -> None:
        self._client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        self._numbers = count()

    def _collection(self, user: str) -> chromadb.Collection:
        return self._client.get_or_create_collection(user.replace(" ", "-"), embedding_function=None)

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        collection = self._collection(user)
        for start in range(0, len(texts), 5000):
            batch = list(texts[start : start + 5000])
            ids = [str(next(self._numbers)) for _ in batch]
            collection.add(ids=ids, documents=batch, embeddings=vectors_of(batch))

    def add(self, user: str, text: str) -> None:
        self.add_many(user, [text])

    def search(self, user: str, question: str) -> Sequence[object]:
        found = self._collection(user).query(query_embeddings=vectors_of([question]), n_results=TOP)
        documents: list[list[str]] = found["documents"]
        return documents[0]


if __name__ == "__main__":
    run(Chroma, "chromadb", notes=NOTES)
