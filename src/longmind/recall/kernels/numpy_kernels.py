"""The inner loops of recall with numpy alone, for where nothing was compiled.

Each does what the function of the same name in `inner_loops.c` does, but for the last digits of a number: sums are
added in another order. The arrays of the caller that come last are what an answer is written to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from longmind.models.value import Beside, Value
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.postings import OWN, RunArrays
from longmind.recall.index.segments import FINER, rough, small_integers
from longmind.recall.ranking.decay import decay_weights

try:
    from simsimd import cdist
except ImportError:
    cdist = None  # type: ignore[assignment]  # not built for this platform: numpy gives the same, five times slower

V = TypeVar("V", bound=Value)
Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

_AT_ONCE = 512

Piece = tuple[int, Array, Array, int]
"""Where a term of a query was found: which of the terms it is, the places, their codes, and how many of the places hold
it in their own text."""


# --- words -----------------------------------------------------------------------------------


def word_scores(
    runs: Sequence[RunArrays], terms: tuple[int, ...], worth: Floats, among: Mask | None, atoms: int, scores: Floats
) -> None:
    """BM25 of each place, as a share of what holding every term without end would give.

    `worth` is what each code counts, `atoms` how many there are; only places that are `among` some are counted.
    """
    pieces = find_pieces(runs, terms)
    if among is not None:
        pieces = _restrict(pieces, among)
    if not pieces:
        return
    holders: dict[int, int] = {}
    for number, _, _, own in pieces:
        holders[number] = holders.get(number, 0) + own
    rarity = {number: math.log1p((atoms - held + 0.5) / (held + 0.5)) for number, held in holders.items()}
    # In the order of the query: which runs hold a word, and so which is met first, changes as a space grows.
    most = math.hypot(*(rarity[number] for number in sorted(rarity)))
    # All pieces at once: a call of numpy takes longer than to go through the places of a word that few hold.
    numbers, places, codes, _ = zip(*pieces, strict=True)
    weights = worth.take(np.concatenate(codes))
    weights *= np.repeat([rarity[number] / most for number in numbers], [len(each) for each in places])
    scores[:] = np.bincount(np.concatenate(places), weights, len(scores))


def find_pieces(runs: Sequence[RunArrays], terms: Sequence[int]) -> list[Piece]:
    """The pieces in which the terms of a query are found, in the order of the terms in each run."""
    pieces = []
    asked = np.array(terms, np.uint32)
    for known, starts, places, codes, own in runs:
        for number, (term, at) in enumerate(zip(terms, known.searchsorted(asked).tolist(), strict=True)):
            if at < len(known) and known[at] == term:
                start, end = starts[at], starts[at + 1]
                pieces.append((number, places[start:end], codes[start:end], int(own[at])))
    return pieces


def _restrict(pieces: list[Piece], some: Mask) -> list[Piece]:
    """What of the pieces is about some of the atoms."""
    left = []
    for number, places, codes, _ in pieces:
        there = some[places]
        if there.any():
            codes = codes[there]
            left.append((number, places[there], codes, int(np.count_nonzero(codes & OWN))))
    return left


# --- vectors ---------------------------------------------------------------------------------


def likeness(
    query: NDArray[np.float32], rows: NDArray[np.int8], scales: NDArray[np.float32], found: NDArray[np.float32]
) -> None:
    """The cosine of a vector with each row, by rough integers that count as much as its scale; NaN where that is 0.

    It is wrong by no more than `doubt`.
    """
    steps, scale = small_integers(query)
    np.multiply(dots(rough(steps).astype(np.int8), rows), scales, out=found)
    found *= scale
    found[scales == 0] = np.nan


def fine_likeness(
    query: NDArray[np.float32],
    rows: NDArray[np.int8],
    finer: NDArray[np.int8],
    scales: NDArray[np.float32],
    found: Floats,
) -> None:
    """The cosine of a vector with each row by all that is known of both; NaN where the scale is 0.

    They are integers until the end, and so the same wherever they are added up in whatever order.
    """
    steps, scale = small_integers(query)
    asked = steps.astype(np.float64)
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        wide = rows[part].astype(np.float64)
        wide *= FINER
        wide += finer[part]
        np.matmul(wide, asked, out=found[part])
    found *= scales.astype(np.float64) * (float(scale) / FINER**2)
    found[scales == 0] = np.nan


def doubt(query: NDArray[np.float32], scales: NDArray[np.float32]) -> float:
    """How much a rough likeness is wrong by at the most.

    A product of two vectors is at most that of their lengths. Vectors have the length 1, and of each the rough integers
    leave so much: of the rows at most half a step in each number, and of the query what can be told.
    """
    steps, scale = small_integers(query)
    of_rows = float(scales.max(initial=0)) * math.sqrt(len(query)) / 2
    left = (steps - FINER * rough(steps)).astype(np.float64)
    of_query = math.sqrt(float(left @ left)) * float(scale) / FINER
    # But for what was rounded to the finest steps, which is more the more numbers there are.
    rounded = 1.001 + math.sqrt(len(query)) / 65_000
    return rounded * (of_rows + of_query + of_rows * of_query)


def dots(query: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """The dot product of a vector with each row. Integers below 2**24 are exact in either way."""
    if cdist is not None and len(rows):
        products: Any = cdist(query[None, :], rows, metric="dot", out_dtype="float32")
        return np.asarray(products, np.float32).reshape(-1)
    out = np.empty(len(rows), np.float32)
    wide = query.astype(np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        # A few rows at a time, so that their wider copies stay in the processor's cache.
        np.matmul(rows[start : start + _AT_ONCE].astype(np.float32), wide, out=out[start : start + _AT_ONCE])
    return out


# --- all that speaks for an atom -------------------------------------------------------------


def total(
    lexical: Floats,
    roughly: NDArray[np.float32] | None,
    dense: Floats | None,
    unsure: float,
    counted: Mask | None,
    usual: tuple[float, float] | None,
    usual_atoms: float,
    words_weight: float,
    rest: Floats,
    sums: Floats,
) -> float:
    """Words by their weight, how far each meaning is from the mean, in standard deviations, and the rest, added up.

    Only those that are `counted` say what the mean is, by what they are `roughly`, which is wrong by no more than
    `unsure`; how far each is from there is told by `dense`, if that is known. Where they differ by so little that what
    is known roughly does not tell them apart, `dense` tells both. The answer is what one of likeness counts.
    """
    np.multiply(lexical, words_weight, out=sums)
    by = 0.0
    if roughly is not None:
        values = roughly.astype(np.float64)
        mean, deviation = measure_usual(counted, values, usual, usual_atoms)
        finely = dense is not None and is_too_rough(unsure, 1 / deviation)
        if dense is not None and finely:
            values = dense.copy()
            mean, deviation = measure_usual(counted, values, usual, usual_atoms)
        by = 1 / deviation
        values -= mean
        values *= by
        sums += values if counted is None else _zero_missing(values)
        sums += rest
        if dense is not None and not finely:
            sums += _zero_missing((dense - roughly) * by)
    else:
        sums += rest
    return by


def is_too_rough(unsure: float, by: float) -> bool:
    """Whether a rough likeness may be wrong by so much, in deviations, that it tells nothing.

    What it is wrong by on the average is far less than what it may be at the most.
    """
    return unsure * by > _TELLING


_TELLING = 4.0
_LEAST_VARIANCE = 1e-8
"""Cosines that differ by less are the same but for what was rounded."""


def standardise(counted: Mask | None, values: Floats, usual: tuple[float, float] | None, usual_atoms: float) -> Floats:
    """How far each value is from the mean of the space, in standard deviations; what has none is at the mean."""
    mean, deviation = measure_usual(counted, values, usual, usual_atoms)
    return _zero_missing((values - mean) * (1 / deviation))


def _zero_missing(values: Floats) -> Floats:
    """What has no vector is taken to be at the mean."""
    return np.nan_to_num(values, copy=False)


def measure_usual(
    counted: Mask | None, values: Floats, usual: tuple[float, float] | None, usual_atoms: float
) -> tuple[float, float]:
    """The mean of some values and their deviation, which those that are usual join where the values are few."""
    own_values = values if counted is None else values[counted]
    count = len(own_values)
    mean, variance = (0.0, 1.0) if usual is None else (usual[0], usual[1] ** 2)
    if count:
        own = float(np.add.reduce(own_values)) / count
        share = 1.0 if usual is None else count / (count + usual_atoms)
        # Not by a product of vectors: for many atoms that would start threads, which cost more than they save. What
        # the difference loses to rounding is far below the least deviation.
        own_variance = float(np.add.reduce(own_values * own_values)) / count - own * own
        variance = share * max(own_variance, 0.0) + (1 - share) * variance
        mean = share * own + (1 - share) * mean
    return mean, max(variance, _LEAST_VARIANCE) ** 0.5


# --- the best --------------------------------------------------------------------------------


class Columns(NamedTuple):
    """What each atom is weighed and ordered by."""

    kinds: NDArray[np.uint8]
    importance: NDArray[np.uint8]
    fresh_at: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    ids: NDArray[np.bytes_]


class Weights(NamedTuple):
    rates: Floats
    """How fast each kind fades."""
    by_importance: Floats
    floor: float
    """What is left of the weight of the oldest."""
    middle: float
    spread: float
    """Of the curve that makes a similarity of a sum; a spread of 0 says that the sum is the similarity."""


BestAtoms = tuple[list[int], list[float], list[float], list[float], list[float], list[float]]
"""Places, and their factors as below."""


class Factors(NamedTuple):
    """What the scores of some atoms are made of."""

    similarity: Floats
    decay: Floats
    importance: Floats
    bonus: Floats
    final: Floats


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
    """The places of the highest scores, best first, and their factors.

    Of equals the one that is valid from later on comes first, then the one of the lower id. `most` is what a similarity
    is multiplied by at the most. Where everybody may stand so much higher or lower, that is settled for those whom it
    may matter to.
    """
    limit = min(limit, len(standing))
    share = weights.floor * float(weights.by_importance.min()) / most
    hopeful = _find_candidates(standing, matching, weights, share, limit, slack)
    if settle is not None:
        settle(hopeful)
    found = compute_factors(hopeful, standing, bonus, columns, weights, known_at, now)
    order = _order_best(found.final, hopeful, columns, limit)
    similarity, decay, importance, more, final = (each[order].tolist() for each in found)
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
    similarity = standing[places]
    if weights.spread:
        similarity = _logistic(similarity, weights)
    fresh = columns.fresh_at[places]
    if known_at < FOREVER:
        # What was confirmed after the instant that is asked about was not so then.
        fresh = np.where(fresh > known_at, columns.valid_from[places], fresh)
    decay = decay_weights(weights.rates[columns.kinds[places]], fresh, now, weights.floor)
    importance = weights.by_importance[columns.importance[places]]
    final = similarity * decay
    final *= importance
    if bonus is None:
        return Factors(similarity, decay, importance, np.ones(len(places)), final)
    more = bonus[places]
    final *= more
    np.minimum(final, 1.0, out=final)
    return Factors(similarity, decay, importance, more, final)


_FARTHEST = 700.0
"""So many spreads below the middle the curve ends: who stands lower than that is as similar as who stands there."""


def _logistic(sums: Floats, weights: Weights) -> Floats:
    away = weights.middle - sums
    away /= weights.spread
    # Far away it must not overflow; there it is 0 anyway.
    np.minimum(away, _FARTHEST, out=away)
    np.exp(away, out=away)
    away += 1
    return np.reciprocal(away, out=away)


def _order_best(final: Floats, places: Places, columns: Columns, limit: int) -> NDArray[np.intp]:
    order = (-final).argsort()[: limit + 1]
    first = final[order].tolist()
    if len(set(first)) == len(first):
        return order[:limit]
    # There are equals among them, which what follows puts in order.
    some = np.arange(len(places))
    if len(some) > limit:
        some = find_not_below(final, limit)
    if len(some) > limit:
        # The last of them are equal: of these, the ones valid from later on.
        above = final[some] > final[some].min()
        some = some[find_not_below(np.where(above, FOREVER, columns.valid_from[places[some]]), limit)]
    # Whatever is as good as the last that fits is among these places, so that also there the id decides.
    at = places[some]
    return some[np.lexsort((columns.ids[at], -columns.valid_from[at], -final[some]))[:limit]]


def find_not_below(values: Array, limit: int) -> NDArray[np.intp]:
    """Where the values are at least as high as the last of the highest; equal ones are all there."""
    last = np.partition(values, len(values) - limit)[len(values) - limit]
    return np.flatnonzero(values >= last)


_GROUPED, _MANY = 16, 16_384
"""How many share a group, and from how many atoms on four times as many do: small groups tell more exactly."""
_SURELY = 1e-6


def _find_candidates(
    standing: Floats, matching: Mask, weights: Weights, share: float, limit: int, slack: float
) -> Places:
    """The places that can be among the best, whatever their age, importance and entities.

    These weigh an atom down to a known share at the most. So who stands so far below the last of the best that even
    the full weight does not lift it over that one's least weight need not be looked at.
    """
    if np.count_nonzero(matching) < len(matching):
        standing = np.where(matching, standing, -np.inf)
    grouped = _GROUPED if len(standing) < _MANY else 4 * _GROUPED
    groups = len(standing) // grouped
    if groups > limit:
        # So many groups have a member that stands at least this high.
        of_groups = np.maximum.reduce(standing[: groups * grouped].reshape(grouped, groups))
        of_groups.partition(groups - limit)
        last = float(of_groups[groups - limit])
    elif len(standing) > limit:
        last = float(np.partition(standing, len(standing) - limit)[len(standing) - limit])
    else:
        last = -math.inf
    if last == -math.inf:
        return matching.nonzero()[0]
    if not weights.spread:
        return (standing >= (last - slack) * share - _SURELY - slack).nonzero()[0]
    # The same in terms of the sum, of which similarity is the logistic.
    x = (last - slack - weights.middle) / weights.spread
    likeness = share / (1 + math.exp(-x)) if x > -30 else 0.0
    bound = math.log(likeness / (1 - likeness)) if likeness else x + math.log(share)
    if bound <= -_FARTHEST:
        return matching.nonzero()[0]
    return (standing >= weights.middle + weights.spread * bound - _SURELY - slack).nonzero()[0]


# --- all of it at once -----------------------------------------------------------------------


class SpaceArrays(NamedTuple):
    """The arrays of a space, which are the same from question to question, and the weights that go with them."""

    runs: tuple[RunArrays, ...]
    worth: Floats
    rows: NDArray[np.int8] | None
    finer: NDArray[np.int8] | None
    scales: NDArray[np.float32]
    rest: Floats
    words_weight: float
    usual_atoms: float
    columns: Columns
    weights: Weights


hold = SpaceArrays


def rank(
    held: SpaceArrays,
    terms: tuple[int, ...],
    vector: NDArray[np.float32] | None,
    roughly: NDArray[np.float32] | None,
    among: Mask | None,
    atoms: int,
    counted: Mask | None,
    usual: tuple[float, float] | None,
    rest: Floats | None,
    matching: Mask,
    bonus: Floats | None,
    most: float,
    known_at: int,
    now: int,
    limit: int,
) -> tuple[BestAtoms, int]:
    """The best of those that match, by the functions above one after the other, and how many match.

    The vector is compared with what is held, roughly unless that was done, and then by all that is known with those
    that may be among the best. None for the `rest` is what is held of it.
    """
    size = len(matching)
    lexical, sums = np.zeros(size), np.empty(size)
    word_scores(held.runs, terms, held.worth, among, atoms, lexical)
    rows, finer, scales = held.rows, held.finer, held.scales
    if rows is not None and vector is not None and roughly is None and size:
        roughly = np.empty(size, np.float32)
        likeness(vector, rows, scales, roughly)
    rest = held.rest if rest is None else rest
    among_all = (counted, usual, held.usual_atoms, held.words_weight, rest, sums)
    by = total(lexical, roughly, None, 0.0, *among_all)
    slack, settle = 0.0, None
    if rows is not None and finer is not None and vector is not None and roughly is not None:
        unsure = doubt(vector, scales)
        if is_too_rough(unsure, by):
            dense = np.empty(size)
            fine_likeness(vector, rows, finer, scales, dense)
            total(lexical, roughly, dense, unsure, *among_all)
        else:
            slack, settle = by * unsure, _make_refiner(vector, rows, finer, scales, roughly, by, sums)
    wish = (matching, bonus, held.columns, held.weights, most, known_at, now, limit)
    return best(sums, *wish, slack, settle), int(np.count_nonzero(matching))


def _make_refiner(
    vector: NDArray[np.float32],
    rows: NDArray[np.int8],
    finer: NDArray[np.int8],
    scales: NDArray[np.float32],
    roughly: NDArray[np.float32],
    by: float,
    sums: Floats,
) -> Callable[[Places], None]:
    def settle(places: Places) -> None:
        """Put in order how some stand whose likeness is known but roughly."""
        exactly = np.empty(len(places))
        fine_likeness(vector, rows[places], finer[places], scales[places], exactly)
        sums[places] += _zero_missing((exactly - roughly[places]) * by)

    return settle


# --- values ----------------------------------------------------------------------------------


def values(kind: type[V], beside: Beside, names: tuple[str, ...], columns: tuple[list[Any], ...]) -> list[V]:
    """Values of a kind from columns of all their fields, unchecked. `beside` is what each holds besides those."""
    return [kind.trusted(dict(zip(names, fields, strict=True))) for fields in zip(*columns, strict=True)]


def kept_values(
    kind: type[V],
    beside: Beside,
    own: tuple[str, ...],
    lists: tuple[str, ...],
    kept: Mapping[int, tuple[Any, ...]],
    places: list[int],
) -> list[V | None]:
    """The values of a kind that are kept for some places, None where there is none; each is new, with lists of its own.

    What is kept of one are the fields that others have too, its own ones, and the members of its lists, or None where
    all of them are empty.
    """
    made: list[V | None] = []
    for found in map(kept.get, places):
        if found is None:
            made.append(None)
            continue
        common, members = found[0], found[len(own) + 1]
        fields = {**common, **dict(zip(own, found[1:], strict=False))}
        for at, name in enumerate(lists):
            fields[name] = [] if members is None else list(members[at])
        made.append(kind.trusted(fields))
    return made
