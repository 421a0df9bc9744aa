"""The summariser that needs no model: it picks the sentences that tell most, and keeps them in their order."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from longmind.extraction.candidate import SourceMessage
from longmind.language.words import words_of
from longmind.summaries.sentence_selection import telling_lines
from longmind.summaries.sentence_weights import Weights, terms_of_line, worth_of
from longmind.summaries.summary_line import Line, read_back, written

_TOLD_BEFORE = 0.2
"""What is left of a word's weight when another sentence of the summary has told it."""
_LENGTH_POWER = 0.9
"""Below 1, so that of two sentences that tell as much for their length the longer one is picked."""
_OVERHEAD = 8
"""Characters that a line costs besides its text: part of a speaker's name and of a day."""


class ExtractiveSummariser:
    """Picks sentences. The same messages give the same summary, which says nothing that they do not say."""

    @property
    def name(self) -> str:
        return "extractive@1"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        lines = [*read_back(earlier or ""), *telling_lines(messages)]
        return written(pick(lines, limit))


def pick(lines: Sequence[Line], limit: int) -> list[Line]:
    """The lines that together tell most in so many characters."""
    picking = _Picking(lines)
    # Of two that tell as much, the one that was said later comes first.
    queue = [(-picking.gain(place), -place) for place in range(len(lines))]
    heapq.heapify(queue)
    while queue:
        before, place = heapq.heappop(queue)
        gain = picking.gain(-place)
        if queue and -gain > max(before, queue[0][0]):
            # Lines that were picked since have told some of it: it has to wait for its turn.
            heapq.heappush(queue, (-gain, place))
        elif gain > 0 and picking.fits(-place, limit) and not picking.says_again(-place):
            picking.add(-place)
    return picking.lines_with()


class _Picking:
    """The lines of a summary in the making, and what they tell already."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._terms = [terms_of_line(line) for line in lines]
        weights = Weights(lines, self._terms)
        self._weight = {term: weights.of(term) for terms in self._terms for term in terms}
        self._worths = [worth_of(line) for line in lines]
        self._chosen: list[int] = []
        self._told: set[str] = set()
        self._said: list[str] = []
        self._length = 0

    def gain(self, place: int) -> float:
        """What a line would add for each character that it takes."""
        words = sum(self._weight[term] * (_TOLD_BEFORE if term in self._told else 1.0) for term in self._terms[place])
        return self._worths[place] * words / math.pow(len(self._lines[place].text) + _OVERHEAD, _LENGTH_POWER)

    def fits(self, place: int, limit: int) -> bool:
        """Whether there is room for a line; most are refused for their own length, without writing it all down."""
        least = self._length + len(self._lines[place].text)
        return least <= limit and len(written(self.lines_with(place))) <= limit

    def says_again(self, place: int) -> bool:
        """Whether one of the chosen lines has all of its words, in their order and side by side."""
        return any(_folded(self._lines[place]) in said for said in self._said)

    def add(self, place: int) -> None:
        self._chosen.append(place)
        self._told.update(self._terms[place])
        self._said.append(_folded(self._lines[place]))
        self._length = len(written(self.lines_with()))

    def lines_with(self, *places: int) -> list[Line]:
        """What was chosen, and others as if they were, in the order in which it was said."""
        return [self._lines[place] for place in sorted((*self._chosen, *places))]


def _folded(line: Line) -> str:
    return f" {' '.join(words_of(line.text))} "
