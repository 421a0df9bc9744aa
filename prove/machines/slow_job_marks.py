"""Words by which a worker of the proof knows that it is to think over a job for longer than its lease."""

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
"""What each kind of thinking is called, and what is said in the texts that it is done slowly over."""


def find_mark(texts: Iterable[str], *kinds: str) -> str | None:
    """Which of these kinds of thinking the texts ask for."""
    said = list(texts)
    return next((kind for kind in kinds if any(MARKS[kind] in text for text in said)), None)
