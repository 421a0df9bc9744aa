"""Words in texts that make a worker of the proof spend longer on a job than its lease."""

from __future__ import annotations

from collections.abc import Iterable

MARKS = {
    "extraction": "stays for long",
    "sleep": "before the night",
    "summary": "told at great length",
    "distillation": "noted with care",
    "vectors": "waits for a vector",
    "event vectors": "waits for its vector",
}
"""The words that slow down each kind of work."""


def find_mark(texts: Iterable[str], *kinds: str) -> str | None:
    """Return the first of these kinds that the texts slow down; None if there is none."""
    remarks = list(texts)
    return next((kind for kind in kinds if any(MARKS[kind] in text for text in remarks)), None)
