"""From a query to the atoms of a space that answer it best.

What an atom means (its vector) and which words it holds (BM25) are put on one scale and added. The sum becomes a
similarity between 0 and 1, which is then weighed by age, importance and the entities that the query names. The sum is
made for every atom; the rest only for those that can still be among the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

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


@dataclass(frozen=True)
class Query:
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


@dataclass(frozen=True)
class Evidence:
    """What speaks for each atom, before age, importance and entities are weighed in."""

    dense: NDArray[np.float32] | None
    lexical: NDArray[np.float32]
    standing: Floats
    """All of it added up or, with words alone, the share of words in common: higher is better."""
    matches: Mask | None
    """Which atoms match at all; None says that all do, since each has a vector to compare, or could have."""
    opinions: Mapping[int, float]
    """What a reranker thinks of some of them."""


@dataclass(frozen=True)
class Scores:
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
    lexical = index.word_scores(terms) if terms else np.zeros(index.atoms, np.float32)
    dense = None
    if query.vector is not None and query.model == index.model:
        dense = index.similarity(query.vector)
    if query.overlap_only:
        standing = index.overlap(terms)
        return Evidence(dense, lexical, standing, standing > 0, opinions)
    standing = _sum(index, query, lexical, dense)
    if opinions:
        # Against their mean, so that those which were read stand on the whole where they stood before.
        thoughts = np.array(list(opinions.values()))
        standing[list(opinions)] += RERANK_WEIGHT * (thoughts - thoughts.mean())
    return Evidence(dense, lexical, standing, None if query.by_meaning else lexical > 0, opinions)


def unasked(index: SpaceIndex) -> Evidence:
    """Where nothing is asked, everything is as much about it as can be: what is left are age and importance."""
    return Evidence(None, np.zeros(index.atoms, np.float32), np.full(index.atoms, np.inf), None, _NO_OPINIONS)


def score(index: SpaceIndex, query: Query, evidence: Evidence, places: Places, now: int) -> Scores:
    """The scores of some atoms, exactly."""
    standing = evidence.standing[places]
    similarity = standing if query.overlap_only else _logistic(standing)
    if evidence.matches is not None:
        similarity = np.where(evidence.matches[places], similarity, 0.0)
    decay = decay_weights(index.kind.values[places], index.fresh_at.values[places], now)
    importance = LEAST_IMPORTANT + IMPORTANCE_STEP * (index.importance.values[places].astype(np.float64) - 1)
    bonus = np.ones(len(places))
    for positions in query.mentioned.values():
        bonus[np.isin(places, positions)] += ENTITY_BONUS
    np.minimum(bonus, MOST_BONUS, out=bonus)
    final = np.minimum(similarity * decay * importance * bonus, 1.0)
    return Scores(places, similarity, decay, importance, bonus, final)


def best(index: SpaceIndex, query: Query, evidence: Evidence, matching: Mask, limit: int, now: int) -> Scores:
    """The highest scores, best first; of equals the one that is valid from later on, then the one of the lower id."""
    scores = score(index, query, evidence, _hopeful(query, evidence, matching, limit), now)
    if len(scores.places) > limit:
        scores = scores.taken(_not_below(scores.final, limit))
    if len(scores.places) > limit:
        # The last of them are equal: of these, the ones valid from later on.
        above = scores.final > scores.final.min()
        latest = np.where(above, FOREVER, index.valid_from.values[scores.places])
        scores = scores.taken(_not_below(latest, limit))
    places = scores.places
    # Whatever is as good as the last that fits is among these places, so that also there the id decides.
    order = np.lexsort((index.ids.values[places], -index.valid_from.values[places], -scores.final))
    return scores.taken(order[:limit])


def _not_below(values: NDArray[Any], limit: int) -> Places:
    """Where the values are at least as high as the last of the highest; equal ones are all there."""
    last = np.partition(values, len(values) - limit)[len(values) - limit]
    return np.flatnonzero(values >= last)


_GROUPED = 64
_SURELY = 1e-6


def _hopeful(query: Query, evidence: Evidence, matching: Mask, limit: int) -> Places:
    """The places that can be among the best, whatever their age, importance and entities.

    These weigh an atom down to a known share at the most. So who stands so far below the last of the best that even
    the full weight does not lift it over that one's least weight need not be looked at.
    """
    standing = np.where(matching, evidence.standing, -np.inf)
    groups = len(standing) // _GROUPED
    if groups > limit:
        # So many groups have a member that stands at least this high.
        standing_of_groups = standing[: groups * _GROUPED].reshape(_GROUPED, groups).max(axis=0)
        last = float(np.partition(standing_of_groups, groups - limit)[groups - limit])
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
    # Far away it must not overflow; there it is 0 or 1 anyway.
    ratio = np.exp(np.clip((total - MIDDLE) / SPREAD, -700.0, 700.0))
    similarity: Floats = ratio / (1 + ratio)
    return similarity


def _sum(index: SpaceIndex, query: Query, lexical: NDArray[np.float32], dense: NDArray[np.float32] | None) -> Floats:
    """All that speaks for an atom, added up."""
    total = lexical.astype(np.float64)
    total *= WORDS_WEIGHT
    if dense is not None:
        total += _standardised(index, dense.astype(np.float64), query.usual)
    total += index.derived("stated", lambda: STATEMENT_WEIGHT * np.log1p(index.statements.values.astype(np.float64)))
    speakers = query.question.speakers
    if speakers is not None:
        # Who nothing is known of is neither for nor against; whoever else was not asked about is against.
        worth = np.array([speakers.get(who, 0.0) for who in index.speaker_codes] + [0.5])
        total += (SPEAKER_WEIGHT * worth)[index.speaker.values]
    if query.question.dates:
        total += DATE_WEIGHT * _nearness(index.valid_from.values, query.question.dates)
    return total


def _standardised(index: SpaceIndex, values: Floats, usual: tuple[float, float] | None) -> Floats:
    """How far each value is from the mean of the space, in standard deviations. What is not known is at the mean."""
    compared = index.compared
    known = values if compared is None else values[compared]
    mean, deviation = _moments(known, usual)
    values -= mean
    values /= deviation
    if compared is not None:
        np.nan_to_num(values, copy=False)
    return values


def _moments(known: Floats, usual: tuple[float, float] | None) -> tuple[float, float]:
    if not len(known):
        return usual or (0.0, 1.0)
    mean, variance = float(known.mean()), float(known.var())
    if usual is not None:
        share = len(known) / (len(known) + USUAL_ATOMS)
        mean = share * mean + (1 - share) * usual[0]
        variance = share * variance + (1 - share) * usual[1] ** 2
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
