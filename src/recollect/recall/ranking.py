"""From a query to the atoms of a space that answer it best.

What an atom means (its vector) and which words it holds (BM25) are put on one scale and added. The sum becomes a
similarity between 0 and 1, which is then weighed by age, importance and the entities that the query names. The sum is
made for every atom; the rest only for those that can still be among the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.recall.asking import Question
from recollect.recall.dates import Interval
from recollect.recall.decay import FLOOR, decay_weights
from recollect.recall.facts import FOREVER
from recollect.recall.space_index import SpaceIndex

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

# Each of these is what a feature counts, in standard deviations of the vectors' similarity to a query.
WORDS_WEIGHT = 4.2
SPEAKER_WEIGHT = 2.2
DATE_WEIGHT = 2.0
STATEMENT_WEIGHT = 0.5
RERANK_WEIGHT = 0.3
"""What a reranker's opinion counts, which is the logarithm of odds. It is added and never replaces the rest."""

NEAR = 1.3
"""How far above the mean a similarity is, in standard deviations, that speaks for itself, with no word in common."""

MIDDLE = 10.0
"""The sum at which a similarity is a half."""
SPREAD = 0.7
"""How far from there it is about a quarter or three quarters. A small spread keeps age and importance from outweighing
what a hit says."""

USUAL_ATOMS = 30
"""In a small space the mean and the deviation of similarities say little: so many atoms' worth of usual ones join."""
_DAY = 24 * 3600 * 1_000_000

ENTITY_BONUS = 0.5
MOST_BONUS = 2.0
LEAST_IMPORTANT = 0.76
IMPORTANCE_STEP = 0.06
_BY_IMPORTANCE = LEAST_IMPORTANT + IMPORTANCE_STEP * (np.arange(6) - 1.0)


class Query(NamedTuple):
    question: Question
    vector: NDArray[np.float32] | None
    model: str | None
    """Whose vector it is. A space may change its model while a question is being embedded."""
    usual: tuple[float, float] | None
    """The mean and the deviation that similarities usually have with this embedder, where they are known."""
    by_meaning: bool
    """Whether there is an embedder that it was, or could have been, turned into a vector by: everything then is more or
    less alike, also while the vectors to compare with are still being made."""
    overlap_only: bool
    """Whether the host has chosen to have no embedder: similarity is then the share of words in common."""
    mentioned: Mapping[str, tuple[int, ...]]
    """The entities that the query names, each with the positions of the atoms that speak of it."""
    known_at: int | None = None
    """The instant whose knowledge is asked: what came later changes nothing about how rare or usual something was."""


class Evidence(NamedTuple):
    """What speaks for each atom, before age, importance and entities are weighed in."""

    dense: NDArray[np.float32] | None
    lexical: Floats
    standing: Floats
    """All of it added up or, with words alone, the share of words in common: higher is better."""
    matches: Mask | None
    """Which atoms match at all; None says that all do, since each has a vector to compare, or could have."""
    opinions: Mapping[int, float]
    """What a reranker thinks of some of them."""


class Scores(NamedTuple):
    """Every factor of the scores of some atoms, in the order of `places`."""

    places: Places
    similarity: Floats
    decay: Floats
    importance: Floats
    bonus: Floats
    final: Floats

    def taken(self, order: Places) -> Scores:
        return Scores(
            self.places[order],
            self.similarity[order],
            self.decay[order],
            self.importance[order],
            self.bonus[order],
            self.final[order],
        )


_NO_OPINIONS: Mapping[int, float] = {}


def weigh(index: SpaceIndex, query: Query, opinions: Mapping[int, float] = _NO_OPINIONS) -> Evidence:
    """Look at every atom."""
    terms = query.question.terms
    known = index.known_at(query.known_at)
    lexical = index.word_scores(terms, known) if terms else np.zeros(index.atoms)
    dense = None
    if query.vector is not None and query.model == index.model:
        dense = index.similarity(query.vector)
    if query.overlap_only:
        standing = index.overlap(terms)
        return Evidence(dense, lexical, standing, standing > 0, opinions)
    standing = _sum(index, query, lexical, dense, known)
    if opinions:
        # Against their mean, so that those which were read stand on the whole where they stood before.
        thoughts = np.array(list(opinions.values()))
        standing[list(opinions)] += RERANK_WEIGHT * (thoughts - thoughts.mean())
    return Evidence(dense, lexical, standing, None if query.by_meaning else lexical > 0, opinions)


def related(index: SpaceIndex, query: Query, evidence: Evidence) -> Mask:
    """Which atoms have to do with a query: they share a word with it, or their meaning is much nearer than usual."""
    shares: Mask = evidence.lexical > 0
    if evidence.dense is None:
        return shares
    counted = _among(index.compared, index.known_at(query.known_at))
    return shares | (_standardised(counted, evidence.dense, query.usual) >= NEAR)


def unasked(index: SpaceIndex) -> Evidence:
    """Where nothing is asked, everything is as much about it as can be: what is left are age and importance."""
    return Evidence(None, np.zeros(index.atoms), np.full(index.atoms, np.inf), None, _NO_OPINIONS)


def score(index: SpaceIndex, query: Query, evidence: Evidence, places: Places, now: int) -> Scores:
    """The scores of some atoms, exactly."""
    standing = evidence.standing[places]
    similarity = standing if query.overlap_only else _logistic(standing)
    if evidence.matches is not None:
        similarity = np.where(evidence.matches[places], similarity, 0.0)
    decay = decay_weights(index.kind.values[places], _fresh_at(index, query, places), now)
    importance = _BY_IMPORTANCE[index.importance.values[places]]
    final = similarity * decay
    final *= importance
    bonus = np.zeros(len(places))
    bonus += 1
    if query.mentioned:
        for positions in query.mentioned.values():
            bonus[np.isin(places, positions)] += ENTITY_BONUS
        np.minimum(bonus, MOST_BONUS, out=bonus)
        final *= bonus
        np.minimum(final, 1.0, out=final)
    return Scores(places, similarity, decay, importance, bonus, final)


def best(index: SpaceIndex, query: Query, evidence: Evidence, matching: Mask, limit: int, now: int) -> Scores:
    """The highest scores, best first; of equals the one that is valid from later on, then the one of the lower id."""
    scores = score(index, query, evidence, _hopeful(query, evidence, matching, limit), now)
    order = (-scores.final).argsort()[: limit + 1]
    first = scores.final[order].tolist()
    if len(set(first)) == len(first):
        return scores.taken(order[:limit])
    # There are equals among them, which what follows puts in order.
    if len(scores.places) > limit:
        scores = scores.taken(not_below(scores.final, limit))
    if len(scores.places) > limit:
        # The last of them are equal: of these, the ones valid from later on.
        above = scores.final > scores.final.min()
        latest = np.where(above, FOREVER, index.valid_from.values[scores.places])
        scores = scores.taken(not_below(latest, limit))
    places = scores.places
    # Whatever is as good as the last that fits is among these places, so that also there the id decides.
    order = np.lexsort((index.ids.values[places], -index.valid_from.values[places], -scores.final))
    return scores.taken(order[:limit])


def not_below(values: NDArray[Any], limit: int) -> Places:
    """Where the values are at least as high as the last of the highest; equal ones are all there."""
    last = np.partition(values, len(values) - limit)[len(values) - limit]
    return np.flatnonzero(values >= last)


_GROUPED, _MANY = 16, 16_384
"""How many share a group, and from how many atoms on four times as many do: small groups tell more exactly."""
_SURELY = 1e-6


def _hopeful(query: Query, evidence: Evidence, matching: Mask, limit: int) -> Places:
    """The places that can be among the best, whatever their age, importance and entities.

    These weigh an atom down to a known share at the most. So who stands so far below the last of the best that even
    the full weight does not lift it over that one's least weight need not be looked at.
    """
    standing = evidence.standing
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
    share = FLOOR * LEAST_IMPORTANT / (MOST_BONUS if query.mentioned else 1.0)
    if query.overlap_only:
        return (standing >= last * share - _SURELY).nonzero()[0]
    # The same in terms of the sum, of which similarity is the logistic.
    x = (last - MIDDLE) / SPREAD
    likeness = share / (1 + math.exp(-x)) if x > -30 else 0.0
    bound = math.log(likeness / (1 - likeness)) if likeness else x + math.log(share)
    return (standing >= MIDDLE + SPREAD * bound - _SURELY).nonzero()[0]


def _logistic(total: Floats) -> Floats:
    away = MIDDLE - total
    away /= SPREAD
    # Far away it must not overflow; there it is 0 anyway.
    np.minimum(away, 700.0, out=away)
    np.exp(away, out=away)
    away += 1
    return np.reciprocal(away, out=away)


def _fresh_at(index: SpaceIndex, query: Query, places: Places) -> NDArray[np.int64]:
    """Since when the atoms fade; what was confirmed after the instant that is asked about was not so then."""
    fresh: NDArray[np.int64] = index.fresh_at.values[places]
    if query.known_at is None:
        return fresh
    return np.where(fresh > query.known_at, index.valid_from.values[places], fresh)


def _sum(
    index: SpaceIndex, query: Query, lexical: Floats, dense: NDArray[np.float32] | None, known: Mask | None
) -> Floats:
    """All that speaks for an atom, added up."""
    total = lexical * WORDS_WEIGHT
    if dense is not None:
        total += _standardised(_among(index.compared, known), dense, query.usual)
    total += index.derived("stated", lambda: STATEMENT_WEIGHT * np.log1p(index.statements.values.astype(np.float64)))
    speakers = query.question.speakers
    if speakers is not None:
        # Who nothing is known of is neither for nor against; whoever else was not asked about is against.
        worth = np.array([speakers.get(who, 0.0) for who in index.speaker_codes] + [0.5])
        total += (SPEAKER_WEIGHT * worth)[index.speaker.values]
    if query.question.dates:
        total += DATE_WEIGHT * _nearness(index.valid_from.values, query.question.dates)
    return total


def _among(compared: Mask | None, known: Mask | None) -> Mask | None:
    """Which atoms say what is usual: those that have a vector to compare, of those that were known."""
    if compared is None or known is None:
        return known if compared is None else compared
    return compared & known


def _standardised(counted: Mask | None, dense: NDArray[np.float32], usual: tuple[float, float] | None) -> Floats:
    """How far each value is from the mean of the space, in standard deviations; what has none is at the mean."""
    values = dense.astype(np.float64)
    mean, deviation = usual_among(counted, values, usual)
    values -= mean
    values *= 1 / deviation
    if counted is not None:
        np.nan_to_num(values, copy=False)
    return values


def usual_among(counted: Mask | None, values: Floats, usual: tuple[float, float] | None) -> tuple[float, float]:
    """The mean of some values and their deviation, which those that are usual join where the values are few."""
    own_values = values if counted is None else values[counted]
    count = len(own_values)
    mean, variance = (0.0, 1.0) if usual is None else (usual[0], usual[1] ** 2)
    if count:
        own = float(np.add.reduce(own_values)) / count
        share = 1.0 if usual is None else count / (count + USUAL_ATOMS)
        # Not by a product of vectors: for many atoms that would start threads, which cost more than they save. What
        # the difference loses to rounding is far below the least deviation.
        own_variance = float(np.add.reduce(own_values * own_values)) / count - own * own
        variance = share * max(own_variance, 0.0) + (1 - share) * variance
        mean = share * own + (1 - share) * mean
    return mean, max(variance, 1e-12) ** 0.5


def _nearness(valid_from: NDArray[np.int64], intervals: Sequence[Interval]) -> Floats:
    """How near each atom's day is to what was asked for: 1 within it, less with each day beside it."""
    days = valid_from // _DAY + _EPOCH
    nearest = np.zeros(len(days))
    for interval in intervals:
        beside = np.maximum(interval.first.toordinal() - days, days - interval.last.toordinal())
        np.maximum(nearest, np.exp(-np.maximum(beside, 0) / interval.slack), out=nearest)
    return nearest


_EPOCH = date(1970, 1, 1).toordinal()
