"""The summariser that needs no model: it picks the most informative sentences and keeps their order.

Sentences are picked greedily by their gain for each character. The gain of a sentence only falls while others are
picked, because words that the summary already has count less, so a sentence whose gain was computed before the last
pick can be compared again lazily: it goes back into the queue with its present gain. That makes the choice
O(n log n) for ordinary texts instead of comparing all sentences after every pick.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from longmind.extraction.candidate import SourceMessage
from longmind.language.words import words_of
from longmind.summaries.sentence_selection import select_lines
from longmind.summaries.sentence_weights import WordWeights, extract_terms, rate_line
from longmind.summaries.summary_line import SummaryLine, parse_lines, render_lines

_REPEATED = 0.2
"""The share of its weight that a word keeps when the summary already has it."""
_LENGTH_POWER = 0.9
"""Below 1, so that of two sentences with the same density the longer one is picked."""
_OVERHEAD = 8
"""Characters that a line costs on top of its text: its share of the speaker's name and of the day."""


class ExtractiveSummariser:
    """A deterministic summariser. Its summaries contain only sentences of the messages."""

    @property
    def name(self) -> str:
        return "extractive@1"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        lines = [*parse_lines(earlier or ""), *select_lines(messages)]
        return render_lines(pick_lines(lines, limit))


def pick_lines(lines: Sequence[SummaryLine], limit: int) -> list[SummaryLine]:
    """Return the most informative lines that fit into `limit` characters, in their order."""
    selection = _LineSelection(lines)
    # With equal gain the later line comes first, since newer statements are more likely to hold.
    queue = [(-selection.gain(place), -place) for place in range(len(lines))]
    heapq.heapify(queue)
    while queue:
        before, place = heapq.heappop(queue)
        gain = selection.gain(-place)
        if queue and -gain > max(before, queue[0][0]):
            # Lines picked since then share words with it, so its gain fell and others may come first.
            heapq.heappush(queue, (-gain, place))
        elif gain > 0 and selection.fits(-place, limit) and not selection.repeats(-place):
            selection.add(-place)
    return selection.lines_with()


class _LineSelection:
    """The lines picked so far, and the words that they contain."""

    def __init__(self, lines: Sequence[SummaryLine]) -> None:
        self._lines = lines
        self._terms = [extract_terms(line) for line in lines]
        weights = WordWeights(lines, self._terms)
        self._weight = {term: weights.weigh(term) for terms in self._terms for term in terms}
        self._worths = [rate_line(line) for line in lines]
        self._chosen: list[int] = []
        self._covered: set[str] = set()
        self._texts: list[str] = []
        self._length = 0

    def gain(self, place: int) -> float:
        """Return the gain of a line for each character that it takes."""
        # A word that the summary has keeps a little weight, so that a new sentence about the same thing can still win.
        words = sum(self._weight[term] * (_REPEATED if term in self._covered else 1.0) for term in self._terms[place])
        return self._worths[place] * words / math.pow(len(self._lines[place].text) + _OVERHEAD, _LENGTH_POWER)

    def fits(self, place: int, limit: int) -> bool:
        """Return whether a line fits; most are refused by their own length, without rendering the summary."""
        # Rendering is the expensive part; most lines are too long by their own length already.
        least = self._length + len(self._lines[place].text)
        return least <= limit and len(render_lines(self.lines_with(place))) <= limit

    def repeats(self, place: int) -> bool:
        """Return whether a picked line contains all words of this one, in the same order and adjacent."""
        return any(_fold_words(self._lines[place]) in earlier for earlier in self._texts)

    def add(self, place: int) -> None:
        self._chosen.append(place)
        self._covered.update(self._terms[place])
        self._texts.append(_fold_words(self._lines[place]))
        self._length = len(render_lines(self.lines_with()))

    def lines_with(self, *places: int) -> list[SummaryLine]:
        """Return the picked lines, and the given ones as if they were picked, in order of time."""
        return [self._lines[place] for place in sorted((*self._chosen, *places))]


def _fold_words(line: SummaryLine) -> str:
    return f" {' '.join(words_of(line.text))} "
