"""How far the scores of a recall can be trusted: as probabilities, and as a sign that something is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.evaluation.scoring import Memory

PLACES = 10
"""The places of each list whose scores are compared with what is right."""
_BINS = 10


def compute_calibration_error(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Return the expected calibration error with ten bins of equal width; None without scores.

    It is the distance between the mean score of a bin and the share of it that is right, weighted by the size of the
    bin.
    """
    if not scores:
        return None
    values, truths = np.array(scores, np.float64), np.array(right, np.float64)
    bins = np.minimum((values * _BINS).astype(np.intp), _BINS - 1)
    gaps = np.bincount(bins, values - truths, _BINS)
    return float(np.abs(gaps).sum() / len(values))


def compute_auc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return the probability that a score of the first kind is above one of the second; equal scores count half.

    None if either kind has no scores.
    """
    if not len(positive) or not len(negative):
        return None
    ordered = np.sort(np.array(negative, np.float64))
    scores = np.array(positive, np.float64)
    below, up_to = ordered.searchsorted(scores), ordered.searchsorted(scores, "right")
    return float((below + up_to).mean() / 2 / len(ordered))


class Calibration:
    """Scores of the first places of many lists, with what is right among them."""

    def __init__(self) -> None:
        self._scores: list[float] = []
        self._right: list[bool] = []

    def add(self, ranked: Sequence[Memory], gold: frozenset[str]) -> None:
        """Add the first places of a list."""
        for memory in ranked[:PLACES]:
            self._scores.append(memory.score)
            self._right.append(not gold.isdisjoint(memory.turns))

    def summarise(self) -> dict[str, float | None]:
        """Return the error, and the means whose distance is the least error that is possible."""
        error = compute_calibration_error(self._scores, self._right)
        if error is None:
            return {"calibration error": None}
        return {
            "calibration error": round(error, 4),
            "mean score": round(float(np.mean(self._scores)), 4),
            "share right": round(float(np.mean(self._right)), 4),
        }


def find_best_score(ranked: Sequence[Memory]) -> float:
    """Return the highest score of a list; 0 for an empty one."""
    return max((memory.score for memory in ranked), default=0.0)
