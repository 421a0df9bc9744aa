"""The fit of the curve from a total to a probability: a logistic regression over the best memories of each case."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.confidence import PLACES, compute_auc, compute_calibration_error
from benchmarks.evaluation.relevance_cases import FOREIGN, FULL, SIZES, Case, name_small
from benchmarks.evaluation.relevance_search import Weights, total_memories
from longmind.recall.ranking.relevance import Curve

SHARES = {
    FULL: 1.0,
    FOREIGN: 1.0,
    **{name_small(size, answerable=answerable): 0.5 for size in SIZES for answerable in (True, False)},
}
"""The weight of each scenario in every set; adversarial questions have none."""
_FEWEST = 2
"""A single memory counts as two, as in the product."""
_RIDGE = 1e-3
_MOST_STEPS = 50
_CLOSE = 1e-8

Floats = NDArray[np.float64]


class BestMemories(NamedTuple):
    """The best memories of a case, best first."""

    scenario: str
    context: tuple[float, float, float]
    """The logarithm of the number of pieces, and 1 where the question asks about somebody's words, or for a time."""
    asked: float
    """What a memory of the speaker and of the time that are asked for has in its total for them."""
    totals: Floats
    right: NDArray[np.bool_]


def list_best(cases: Iterable[Case], weights: Weights, *, by_meaning: bool = True) -> list[BestMemories]:
    """Return the best memories of each case."""
    return [_find_best(case, weights, by_meaning) for case in cases]


def _find_best(case: Case, weights: Weights, by_meaning: bool) -> BestMemories:
    totals = total_memories(case, weights, by_meaning=by_meaning)
    order = np.argsort(-totals, kind="stable")[:PLACES]
    order = order[np.isfinite(totals[order])]
    question = case.question
    context = (math.log(max(case.pieces, _FEWEST)), float(question.speakers is not None), float(bool(question.dates)))
    asked = float(np.dot(context[1:], (weights.speaker, weights.date)))
    return BestMemories(case.scenario, context, asked, totals[order], case.gold[order])


def fit_curve(sets: Mapping[str, Sequence[BestMemories]], weights: Weights) -> Curve:
    """Return the curve for some sets, each of which weighs as much as the others.

    weights: the weights of the totals. For speakers and dates, the fit is of the difference to a memory of those that
    are asked for, so that sets without such questions leave them as certain as others.
    """
    rows, right, shares = [], [], []
    for cases in sets.values():
        numbers = Counter(case.scenario for case in cases)
        for case in cases:
            share = SHARES.get(case.scenario, 0.0)
            if share and len(case.totals):
                rows.append(_make_rows(case))
                right.append(case.right)
                shares.append(np.full(len(case.totals), share / numbers[case.scenario]))
    weighed = np.concatenate(shares)
    # The ridge then means the same for any amount of data.
    weighed *= len(weighed) / weighed.sum()
    curve = Curve(*_fit_logistic(np.concatenate(rows), np.concatenate(right), weighed).tolist())
    return curve._replace(
        speaker=curve.speaker - curve.slope * weights.speaker, date=curve.date - curve.slope * weights.date
    )


def _make_rows(case: BestMemories) -> Floats:
    """Return the features of each memory, in the order of the fields of a curve."""
    return np.array([(total - case.asked, 1.0, *case.context) for total in case.totals])


def _fit_logistic(rows: Floats, right: NDArray[np.bool_], weights: Floats) -> Floats:
    """Return the coefficients of a weighted logistic regression with a slight ridge, by Newton's method."""
    found = np.zeros(rows.shape[1])
    ridge = _RIDGE * np.eye(rows.shape[1])
    for _ in range(_MOST_STEPS):
        chance = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (chance - right)) + ridge @ found
        bend = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + ridge
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < _CLOSE:
            break
    return found


def score(case: BestMemories, curve: Curve) -> Floats:
    """Return the probabilities of the best memories of a case."""
    level = curve.level + float(np.dot(case.context, (curve.by_count, curve.speaker, curve.date)))
    chances: Floats = 1 / (1 + np.exp(-(curve.slope * case.totals + level)))
    return chances


class Judgement(NamedTuple):
    """How well a curve fits a set."""

    calibration_error: float | None
    """Of questions asked of whole histories."""
    auc: float | None
    """How well the best score tells these questions from those of other histories."""


def judge_curve(cases: Sequence[BestMemories], curve: Curve) -> Judgement:
    """Return how well a curve fits a set."""
    whole = [case for case in cases if case.scenario == FULL]
    scores = [value for case in whole for value in score(case, curve).tolist()]
    right = [truth for case in whole for truth in case.right.tolist()]
    known, unknown = (list(_list_highest(cases, curve, scenario)) for scenario in (FULL, FOREIGN))
    return Judgement(compute_calibration_error(scores, right), compute_auc(known, unknown))


def _list_highest(cases: Sequence[BestMemories], curve: Curve, scenario: str) -> Iterator[float]:
    for case in cases:
        if case.scenario == scenario:
            yield float(score(case, curve).max(initial=0.0))
