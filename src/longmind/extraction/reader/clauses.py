"""The clauses of a message: the units that facts are read from.

The network marks words, and where its stretches begin and end is no surer than where annotators let a quote begin. A
clause is a better unit to show, so stretches are widened to the clauses that they belong to.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from longmind.extraction.reader.message_statement import Reading

_SENTENCE_END = re.compile(r"[.!?\u2026]+[\"')\]\u201d]*(?=\s|$)|[\u3002\uff01\uff1f]|\n+|;(?=\s)")
_CLAUSE_END = re.compile(
    r",\s+|\s[-\u2013\u2014]+\s|:\s|[()]"
    r"|(?<!\s)\s+(?=(?:and|but|so|because|cause|since|though|although|while|then|plus|which|cuz|coz|btw)\s)",
    re.IGNORECASE,
)
MOST_WORDS = 18
"""Words of a sentence that stays whole."""
_FEWEST_WORDS, _FEWEST_ALONE, _SHORT_MESSAGE = 3, 6, 8
# Where a sentence goes on with a statement of its own: "I live in Graz and I work at the museum".
_NEXT_STATEMENT = re.compile(
    r"(?:,|(?<![\s,]))\s+(?:(?:and|but|so|also|plus)\s+){1,3}(?=(?:i|i'm|i've|im|my|we|we're|our)\b)|,\s+(?=(?:i|i'm|im|my|we)\b)",
    re.IGNORECASE,
)
_NEAR_WORDS = 4
"""Words by which a stretch is widened to a clause; a boundary that is farther away is not its own."""
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|approx|ca|no|vs|e\.g|i\.e|etc|jr|sr)|\b[A-Z])\.$", re.IGNORECASE
)


class Clauses:
    """The boundaries of the sentences and clauses of one message."""

    def __init__(self, text: str) -> None:
        self._text = text
        sentences = [
            found.end()
            for found in _SENTENCE_END.finditer(text)
            if not _ABBREVIATION.search(text, max(0, found.end() - 6), found.end())
        ]
        sentences += [found.end() for found in _NEXT_STATEMENT.finditer(text)]
        clauses = [found.end() for found in _CLAUSE_END.finditer(text)]
        self._sentences = sorted({0, *sentences, len(text)})
        self._bounds = sorted({*self._sentences, *clauses})

    def widen(self, start: int, end: int) -> tuple[int, int]:
        """Return a stretch widened to its sentence if that is short, and else to its clauses, without blanks."""
        low, high = self._find(self._sentences, start, end)
        if self._text[low:high].rstrip().endswith("?") or self._count_words(low, high) > MOST_WORDS:
            first, last = self._find(self._bounds, start, end)
            low = first if self._count_words(first, start) <= _NEAR_WORDS else start
            high = last if self._count_words(end, last) <= _NEAR_WORDS else end
        while low < high and self._text[low].isspace():
            low += 1
        joint = _NEXT_STATEMENT.search(self._text, max(low, high - 12), high + 4)
        high = joint.start() if joint is not None and joint.end() == high else high
        while high > low and (self._text[high - 1].isspace() or self._text[high - 1] in ",(-\u2013\u2014:"):
            high -= 1
        return low, high

    def split(self, reading: Reading) -> list[Reading]:
        """Return a reading in parts of one sentence each; scraps at its ends are left out."""
        first, last = bisect_right(self._sentences, reading.begins), bisect_left(self._sentences, reading.ends)
        inner = self._sentences[first:last]
        if not inner:
            return [reading]
        bounds = [reading.begins, *inner, reading.ends]
        parts = [reading.place_at(low, high) for low, high in pairwise(bounds)]
        long = [part for part in parts if self._count_words(part.begins, part.ends) >= _FEWEST_ALONE]
        return long or [max(parts, key=lambda part: part.ends - part.begins)]

    def _find(self, bounds: list[int], start: int, end: int) -> tuple[int, int]:
        first = bounds[max(0, bisect_right(bounds, start) - 1)]
        return first, bounds[min(len(bounds) - 1, bisect_left(bounds, end))]

    def _count_words(self, start: int, end: int) -> int:
        return len(self._text[start:end].split())


def join_readings(readings: Sequence[Reading], text: str) -> list[Reading]:
    """Return the readings widened to sentences or clauses; those that share most of one become one."""
    clauses = Clauses(text)
    kept: list[Reading] = []
    for reading in (part for each in readings for part in clauses.split(each)):
        wide = reading.place_at(*clauses.widen(reading.begins, reading.ends))
        if kept and _overlap(kept[-1], wide):
            kept[-1] = _join(kept[-1], wide)
        else:
            kept.append(wide)
    return [each for each in kept if _says_enough(each, text)]


def _join(one: Reading, other: Reading) -> Reading:
    """Return the more important of two readings with the bounds of both, and the change that either makes."""
    best = max(one, other, key=lambda each: (each.importance, each.confidence))
    change = next((each.change for each in (best, one, other) if each.change != "none"), best.change)
    return replace(best.place_at(min(one.begins, other.begins), max(one.ends, other.ends)), change=change)


def _says_enough(reading: Reading, text: str) -> bool:
    """Return whether a reading is more than a scrap: two words, or all that its message says."""
    words = text[reading.begins : reading.ends].split()
    fewest = _FEWEST_WORDS if reading.value is None else _FEWEST_WORDS - 1
    return len(words) >= fewest or len(text.split()) <= _SHORT_MESSAGE


def _overlap(one: Reading, other: Reading) -> bool:
    """Return whether two readings share at least half of the shorter one."""
    shared = min(one.ends, other.ends) - max(one.begins, other.begins)
    return shared * 2 >= min(one.ends - one.begins, other.ends - other.begins)
