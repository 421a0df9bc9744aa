"""The fit of relevance on all sets together, and without each of them in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.evaluation.relevance_cases import Case
from benchmarks.evaluation.relevance_curve import Judgement, fit_curve, judge_curve, list_best
from benchmarks.evaluation.relevance_search import Grid, Weights, WeightSearch
from longmind.recall.ranking.relevance import Curve

MOST_LOST = 0.02
"""The part of its recall that a set may lose if the constants are fitted without it."""
MOST_CALIBRATION_ERROR = 0.05


@dataclass(frozen=True)
class Constants:
    """The constants of relevance."""

    weights: Weights
    by_meaning: Curve
    by_words: Curve


@dataclass(frozen=True)
class SetResult:
    """What some constants reach on one set."""

    first: float
    """The recall within the first of the two numbers of places."""
    second: float
    by_meaning: Judgement
    by_words: Judgement


@dataclass(frozen=True)
class Comparison:
    """What is reached on a set with constants that were fitted with it, and without it."""

    together: SetResult
    without: SetResult
    constants: Constants
    """The constants that were fitted without the set."""

    @property
    def lost(self) -> float:
        """The part of the second recall that is lost without the set."""
        return self.together.second - self.without.second


class RelevanceFit:
    """The fit of the relevance of one kind of memory to several sets."""

    def __init__(self, cases: Mapping[str, Sequence[Case]], grid: Grid) -> None:
        self._cases = cases
        self._search = WeightSearch(cases, grid)

    @property
    def tried(self) -> int:
        """The number of configurations of weights that were measured."""
        return self._search.tried

    def fit(self, without: str | None = None) -> Constants:
        """Return the constants for all sets, or for all but one."""
        sets = {name: cases for name, cases in self._cases.items() if name != without}
        weights = self._search.find_best(list(sets))
        by_meaning, by_words = (
            fit_curve({name: list_best(cases, weights, by_meaning=meaning) for name, cases in sets.items()}, weights)
            for meaning in (True, False)
        )
        return Constants(weights, by_meaning, by_words)

    def measure(self, name: str, constants: Constants) -> SetResult:
        """Return what constants reach on a set."""
        by_meaning, by_words = (
            judge_curve(list_best(self._cases[name], constants.weights, by_meaning=meaning), curve)
            for meaning, curve in ((True, constants.by_meaning), (False, constants.by_words))
        )
        return SetResult(*self._search.measure(constants.weights, name), by_meaning, by_words)

    def compare(self, together: Constants) -> dict[str, Comparison]:
        """Return by set what is reached with all sets, and without it."""
        compared: dict[str, Comparison] = {}
        for name in self._cases if len(self._cases) > 1 else ():
            alone = self.fit(without=name)
            compared[name] = Comparison(self.measure(name, together), self.measure(name, alone), alone)
        return compared
