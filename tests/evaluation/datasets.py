"""A small set of conversations with a question, for tests to change before it is written to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def a_set(name: str = "Small talk") -> dict[str, Any]:
    return {
        "name": name,
        "sessions": {
            "s1": {
                "date": "2024-01-05T10:00:00Z",
                "turns": [
                    {"id": "t1", "speaker": "Ada", "text": "I have bought a dog called Bello."},
                    {"id": "t2", "speaker": "Ben", "text": "My sister lives in Graz."},
                ],
            }
        },
        "corpora": {"c": ["s1"]},
        "queries": [a_query()],
    }


def a_query(category: str = "single-hop") -> dict[str, Any]:
    return {
        "id": "q1",
        "corpus": "c",
        "date": "2024-03-01T00:00:00Z",
        "category": category,
        "text": "What is the dog called?",
        "answer": "Bello",
        "gold": ["t1"],
        "gold_sessions": ["s1"],
    }


def an_update() -> dict[str, Any]:
    return {
        "question": "Where does my sister live?",
        "old": [{"at": "2024-01-01T00:00:00Z", "role": "user", "text": "My sister lives in Graz."}],
        "new": [{"at": "2024-02-01T00:00:00Z", "role": "user", "text": "My sister lives in Linz now."}],
    }


def write(folder: Path, name: str, data: object) -> Path:
    (folder / name).write_text(json.dumps(data), "utf-8")
    return folder
