"""Texts around a message, which widen the words by which a memory of it is found."""

from __future__ import annotations

from collections.abc import Sequence

_WORDS = 50


def build_search_contexts(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return for each text the end of the one before and the beginning of the next, then of those beyond them.

    An empty text stands for one that is missing, so that each place keeps its distance.
    """
    ends = ["", "", *(" ".join(text.rsplit(None, _WORDS)[-_WORDS:]) for text in texts)]
    beginnings = [*(" ".join(text.split(None, _WORDS)[:_WORDS]) for text in texts), "", ""]
    return [(ends[place + 1], beginnings[place + 1], ends[place], beginnings[place + 2]) for place in range(len(texts))]
