"""mem0 with its default store, Qdrant in a folder, and without a model. Its environment: pip install mem0ai numpy"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from benchmarks._recall_data import DIMENSION, vectors_of
from benchmarks.peers._peer import TOP, run_without_bulk

NOTES = (
    "Facts are added with infer=False, so no model runs; all users share one collection, separated by the filter "
    "user_id.",
    "Recall uses vectors alone: its search by words needs fastembed and a model from the network.",
)


class Vectors:
    """A replacement for mem0's embedders, which all need a network or a model."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        found: list[float] = vectors_of([text])[0].tolist()
        return found


class Mem0:
    def __init__(self, folder: str) -> None:
        # Read at import: nothing is sent, and nothing is stored outside of the folder.
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=f"{folder}/settings")
        from mem0 import Memory

        unused = {"api_key": "unused"}
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"path": f"{folder}/qdrant", "on_disk": True, "embedding_model_dims": DIMENSION},
                },
                "history_db_path": f"{folder}/history.db",
                "llm": {"provider": "openai", "config": unused},
                "embedder": {"provider": "openai", "config": unused},
            }
        )
        self._memory.embedding_model = Vectors()

    def add(self, user: str, text: str) -> None:
        self._memory.add(text, user_id=_identifier(user), infer=False)

    def search(self, user: str, question: str) -> Sequence[object]:
        # Without a threshold it returns the requested number, like the others.
        found: dict[str, Any] = self._memory.search(
            question, filters={"user_id": _identifier(user)}, top_k=TOP, threshold=0.0
        )
        results: list[object] = found["results"]
        return results


def _identifier(user: str) -> str:
    # User names must not contain blanks.
    return user.replace(" ", "-")


if __name__ == "__main__":
    run_without_bulk(Mem0, "mem0ai", "qdrant-client", notes=NOTES)
