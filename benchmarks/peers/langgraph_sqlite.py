"""LangGraph's SqliteStore. Its environment: pip install langgraph-checkpoint-sqlite numpy

It needs a Python whose sqlite3 can load extensions, such as that of Debian: /usr/bin/python3 -m venv FOLDER
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import count

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore

from benchmarks._recall_data import DIMENSION, vectors_of
from benchmarks.peers._peer import TOP, run

NOTES = ("Recall uses vectors alone, and compares all of a user's.",)


def _embed(texts: Sequence[str]) -> list[list[float]]:
    return [vector.tolist() for vector in vectors_of(texts)]


class LangGraph:
    def __init__(self, folder: str) -> None:
        # As its own from_conn_string opens it: every write is committed at once.
        connection = sqlite3.connect(f"{folder}/store.db", check_same_thread=False, isolation_level=None)
        # Durable as ours is: on disk when the call returns.
        connection.execute("PRAGMA synchronous = FULL")
        index = {"dims": DIMENSION, "embed": _embed, "fields": ["text"]}
        self._store = SqliteStore(connection, index=index)
        self._store.setup()
        self._numbers = count()

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), 1000):
            self._store.batch(
                [PutOp((user,), str(next(self._numbers)), {"text": text}) for text in texts[start : start + 1000]]
            )

    def add(self, user: str, text: str) -> None:
        self._store.put((user,), str(next(self._numbers)), {"text": text})

    def search(self, user: str, question: str) -> Sequence[object]:
        found: list[object] = self._store.search((user,), query=question, limit=TOP)
        return found


if __name__ == "__main__":
    run(LangGraph, "langgraph-checkpoint-sqlite", "sqlite-vec", notes=NOTES)
