"""The search for the weights of evidence: one weight at a time, over a few values of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.relevance_cases import FULL, KINDS, Case
from longmind.recall.ranking.relevance import BORROWED, EvidenceWeights

_LEAST_GAIN = 1e-4
"""The smallest gain for which a weight is changed, so that nothing moves by chance alone."""


OPPOSITE = -0.9
"""The weight of saying the opposite, which no set has enough questions to fit."""


class Weights(NamedTuple):
    """The weights that are fitted; for a message, statements count nothing."""

    question_words: float
    message_words: float
    statement: float
    speaker: float
    date: float

    @property
    def of_question(self) -> EvidenceWeights:
        return EvidenceWeights(self.question_words, self.statement, self.speaker, self.date, OPPOSITE)

    @property
    def of_message(self) -> EvidenceWeights:
        return EvidenceWeights(self.message_words, 0.0, self.speaker, self.date, OPPOSITE)


class Grid(NamedTuple):
    """Where the search for the weights of one kind of memory begins, and the values that it tries."""

    start: Weights
    """Round numbers that were fitted to nothing."""
    values: dict[str, tuple[float, ...]]
    cutoffs: tuple[int, int]
    """The places within which memories are to be found; the mean of both recalls is to be as high as possible."""


OF_PASSAGES = Grid(
    Weights(3.0, 3.0, 0.0, 2.0, 2.0),
    {
        "question_words": (2.0, 2.5, 3.0, 3.5, 4.0, 5.0),
        "message_words": (1.0, 1.5, 2.0, 2.5, 3.0),
        "statement": (0.0, 0.15, 0.3, 0.45),
        "speaker": (1.6, 2.0, 2.4, 2.8, 3.2),
        "date": (1.4, 1.8, 2.2, 2.6),
    },
    (5, 10),
)
OF_FACTS = Grid(
    Weights(1.0, 1.0, 0.0, 1.0, 1.0),
    {
        "question_words": (0.5, 1.0, 1.5, 2.0, 2.5),
        "message_words": (0.5, 1.0, 1.5),
        "statement": (0.0,),
        "speaker": (0.8, 1.2, 1.6, 2.0, 2.4),
        "date": (0.4, 0.8, 1.2, 1.6, 2.0),
    },
    (1, 5),
)
"""A space of notes holds a dozen, so its recall within ten places would be high with any weights."""


def total_memories(case: Case, weights: Weights, *, by_meaning: bool = True) -> NDArray[np.float64]:
    """Return the total of each memory of a case: that of its best piece.

    by_meaning: pass False for a space without vectors, where a memory without words of the question is not found.
    """
    chosen = weights.of_question if case.question.is_plain else weights.of_message
    words, *others = chosen
    line = [1.0, words, *others, 0.0, 0.0] if by_meaning else [0.0, 0.0, *others, words, BORROWED]
    totals = (case.evidence @ np.array(line, np.float32)).astype(np.float64)
    if not by_meaning:
        totals[case.evidence[:, KINDS.index("words alone")] <= 0] = -np.inf
    best: NDArray[np.float64] = np.maximum.reduceat(totals, case.starts)
    return best


class WeightSearch:
    """The search for the best weights on any choice of sets; what was measured for one search is used by the others."""

    def __init__(self, cases: Mapping[str, Sequence[Case]], grid: Grid) -> None:
        self._grid = grid
        self._cases = {name: [case for case in each if case.scenario == FULL] for name, each in cases.items()}
        self._measured: dict[Weights, dict[str, tuple[float, float]]] = {}

    @property
    def tried(self) -> int:
        """The number of configurations that were measured."""
        return len(self._measured)

    def measure(self, weights: Weights, name: str) -> tuple[float, float]:
        """Return the recall on a set within the two numbers of places."""
        if weights not in self._measured:
            self._measured[weights] = {
                each: _average_recall(cases, weights, self._grid.cutoffs) for each, cases in self._cases.items()
            }
        return self._measured[weights][name]

    def find_best(self, names: Sequence[str]) -> Weights:
        """Return the weights with the highest mean of both recalls over some sets."""

        def score(weights: Weights) -> float:
            return float(np.mean([self.measure(weights, name) for name in names]))

        best, previous = self._grid.start, None
        while best != previous:
            previous = best
            for kind, values in self._grid.values.items():
                for value in values:
                    other = best._replace(**{kind: value})
                    if score(other) > score(best) + _LEAST_GAIN:
                        best = other
        return best


def _average_recall(cases: Sequence[Case], weights: Weights, cutoffs: tuple[int, int]) -> tuple[float, float]:
    recalls = np.zeros(len(cutoffs))
    for case in cases:
        order = np.argsort(-total_memories(case, weights), kind="stable")
        recalls += [np.count_nonzero(case.gold[order[:cutoff]]) / case.wanted for cutoff in cutoffs]
    first, second = (recalls / max(len(cases), 1)).tolist()
    return first, second
