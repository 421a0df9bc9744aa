"""The best atoms in numpy: the highest scores, without scoring atoms that cannot be among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.ranking.decay import decay_weights

Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


class Columns(NamedTuple):
    """The columns by which atoms are weighted, and by which ties are broken."""

    kinds: NDArray[np.uint8]
    importance: NDArray[np.uint8]
    fresh_at: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    ids: NDArray[np.bytes_]


class Weights(NamedTuple):
    """The constants by which a total becomes a score."""

    rates: Floats
    """The rate of decay of each kind."""
    by_importance: Floats
    floor: float
    """The weight of the oldest atoms."""
    middle: float
    """The total at which the similarity is one half."""
    spread: float
    """The spread of the logistic curve from a total to a similarity."""


BestAtoms = tuple[list[int], list[float], list[float], list[float], list[float], list[float]]
"""Places, best first, and the factors of their scores in the order of `Factors`."""


class Factors(NamedTuple):
    """The factors of the scores of some atoms.

    The odds of the similarity are multiplied by the others, and `final` is the probability that comes of it.
    """

    similarity: Floats
    decay: Floats
    importance: Floats
    bonus: Floats
    final: Floats
    odds: Floats
    """The logarithm of the final odds. It orders the atoms, since probabilities near 1 are too close to each other."""


def best(
    standing: Floats,
    matching: Mask,
    bonus: Floats | None,
    columns: Columns,
    weights: Weights,
    most: float,
    known_at: int,
    now: int,
    limit: int,
    slack: float = 0.0,
    settle: Callable[[Places], None] | None = None,
) -> BestAtoms:
    """Return the places of the highest scores, best first, with their factors.

    standing: the total of each atom; higher is better.
    most: the largest bonus.
    slack: the largest error of `standing`.
    settle: corrects `standing` for the places that it is given, which are all that can be among the best.

    Of equal scores the atom that is valid from later on comes first, then the one with the lower id.
    """
    limit = min(limit, len(standing))
    share = weights.floor * float(weights.by_importance.min()) / most
    hopeful = _find_candidates(standing, matching, weights, share, limit, slack)
    if settle is not None:
        settle(hopeful)
    found = compute_factors(hopeful, standing, bonus, columns, weights, known_at, now)
    order = _order_best(found.odds, hopeful, columns, limit)
    similarity, decay, importance, more, final = (each[order].tolist() for each in found[:5])
    return hopeful[order].tolist(), similarity, decay, importance, more, final


def compute_factors(
    places: Places,
    standing: Floats,
    bonus: Floats | None,
    columns: Columns,
    weights: Weights,
    known_at: int,
    now: int,
) -> Factors:
    """Return the factors of the scores of some atoms.

    A confirmation after `known_at` does not count: as of then the atom was as old as its `valid_from`.
    """
    away = (weights.middle - standing[places]) / weights.spread
    # Without the bounds, exp would overflow; the similarity is 0 or 1 there anyway.
    np.clip(away, -_FARTHEST, _FARTHEST, out=away)
    fresh = columns.fresh_at[places]
    if known_at < FOREVER:
        fresh = np.where(fresh > known_at, columns.valid_from[places], fresh)
    decay = decay_weights(weights.rates[columns.kinds[places]], fresh, now, weights.floor)
    importance = weights.by_importance[columns.importance[places]]
    more = np.ones(len(places)) if bonus is None else bonus[places]
    odds: Floats = np.log(decay * importance * more) - away
    return Factors(1 / (1 + np.exp(away)), decay, importance, more, 1 / (1 + np.exp(-odds)), odds)


_FARTHEST = 700.0
"""The end of the logistic curve, in spreads from the middle: anything farther has the same similarity."""


def _order_best(odds: Floats, places: Places, columns: Columns, limit: int) -> NDArray[np.intp]:
    order = (-odds).argsort()[: limit + 1]
    first = odds[order].tolist()
    if len(set(first)) == len(first):
        return order[:limit]
    # Some of the scores are equal, and the ties have to be broken.
    some = np.arange(len(places))
    if len(some) > limit:
        some = find_not_below(odds, limit)
    if len(some) > limit:
        # The last ones are equal: keep those that are valid from later on.
        above = odds[some] > odds[some].min()
        some = some[find_not_below(np.where(above, FOREVER, columns.valid_from[places[some]]), limit)]
    # All atoms that tie with the last one that fits are still here, so that the id decides between them too.
    at = places[some]
    return some[np.lexsort((columns.ids[at], -columns.valid_from[at], -odds[some]))[:limit]]


def find_not_below(values: Array, limit: int) -> NDArray[np.intp]:
    """Return the places of the `limit` highest values, and of all that equal the lowest of these."""
    last = np.partition(values, len(values) - limit)[len(values) - limit]
    return np.flatnonzero(values >= last)


_GROUPED, _MANY = 16, 16_384
"""The size of a group, and the number of atoms from which groups are four times as large."""
_SURELY = 1e-6


def _find_candidates(
    standing: Floats, matching: Mask, weights: Weights, share: float, limit: int, slack: float
) -> Places:
    """Return the places that can be among the best, whatever their age, importance and entities.

    Age and importance reduce the odds to no less than `share` of them. An atom cannot be among the best if its full
    odds are below the reduced odds of the atom at rank `limit`, and so need not be scored at all.
    """
    if not limit:
        return np.empty(0, np.int64)
    if np.count_nonzero(matching) < len(matching):
        standing = np.where(matching, standing, -np.inf)
    grouped = _GROUPED if len(standing) < _MANY else 4 * _GROUPED
    groups = len(standing) // grouped
    if groups > limit:
        # At least `limit` groups have a member this high, so the atom at rank `limit` is no lower.
        of_groups = np.maximum.reduce(standing[: groups * grouped].reshape(grouped, groups))
        of_groups.partition(groups - limit)
        last = float(of_groups[groups - limit])
    elif len(standing) > limit:
        last = float(np.partition(standing, len(standing) - limit)[len(standing) - limit])
    else:
        last = -math.inf
    if last == -math.inf:
        return matching.nonzero()[0]
    # Beyond the ends of the curve all are equal.
    bound = min((last - slack - weights.middle) / weights.spread, _FARTHEST) + math.log(share)
    if bound <= -_FARTHEST:
        return matching.nonzero()[0]
    return (standing >= weights.middle + weights.spread * bound - _SURELY - slack).nonzero()[0]
