"""From a query to a score for every atom of a space.

What an atom means (its vector) and which words it holds (BM25) are put on one scale and added. The sum becomes a
similarity between 0 and 1, which is then weighed by age, importance and the entities that the query names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from recollect.recall.asking import Question
from recollect.recall.dates import Interval
from recollect.recall.decay import decay_weights
from recollect.recall.space_index import SpaceIndex

Floats = NDArray[np.float64]

# Each of these is what a feature counts, in standard deviations of the vectors' similarity to a query.
WORDS_WEIGHT = 4.2
SPEAKER_WEIGHT = 2.2
DATE_WEIGHT = 2.0
STATEMENT_WEIGHT = 0.5

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


@dataclass(frozen=True)
class Query:
    question: Question
    vector: NDArray[np.float32] | None
    model: str | None
    """Whose vector it is. A space may change its model while a question is being embedded."""
    usual: tuple[float, float] | None
    """The mean and the deviation that similarities usually have with this embedder, where they are known."""
    overlap_only: bool
    """Whether the host has chosen to have no embedder: similarity is then the share of words in common."""
    mentioned: Mapping[str, tuple[int, ...]]
    """The entities that the query names, each with the positions of the atoms that speak of it."""


@dataclass(frozen=True)
class Scores:
    """Every factor of every atom's score, by position."""

    dense: Floats | None
    lexical: Floats
    similarity: Floats
    decay: Floats
    importance: Floats
    bonus: Floats
    final: Floats


def score(index: SpaceIndex, query: Query, now: int) -> Scores:
    terms = query.question.terms
    lexical = index.word_scores(terms).astype(np.float64) if terms else np.zeros(index.atoms)
    dense = None
    if query.vector is not None and query.model == index.model:
        dense = index.similarity(query.vector)
    similarity = index.overlap(terms) if query.overlap_only else _similarity(index, query, lexical, dense)
    decay = decay_weights(index.kind.values, index.fresh_at.values, now)
    importance = 0.76 + 0.06 * (index.importance.values.astype(np.float64) - 1)
    bonus = np.ones(index.atoms)
    for positions in query.mentioned.values():
        bonus[index.at(positions)] += ENTITY_BONUS
    np.minimum(bonus, MOST_BONUS, out=bonus)
    final = np.clip(similarity * decay * importance * bonus, 0.0, 1.0)
    return Scores(
        None if dense is None else dense.astype(np.float64), lexical, similarity, decay, importance, bonus, final
    )


def _similarity(index: SpaceIndex, query: Query, lexical: Floats, dense: NDArray[np.float32] | None) -> Floats:
    """All that speaks for an atom, added up and brought between 0 and 1."""
    total = WORDS_WEIGHT * lexical
    if dense is not None:
        total += _standardised(dense.astype(np.float64), index.present.values, query.usual)
    total += STATEMENT_WEIGHT * np.log1p(index.statements.values.astype(np.float64))
    speakers = query.question.speakers
    if speakers is not None:
        # Who nothing is known of is neither for nor against; whoever else was not asked about is against.
        worth = np.array([speakers.get(who, 0.0) for who in index.speaker_codes] + [0.5])
        total += SPEAKER_WEIGHT * worth[index.speaker.values]
    if query.question.dates:
        total += DATE_WEIGHT * _nearness(index.valid_from.values, query.question.dates)
    # The place of a deleted atom may be any number of deviations away: it is never shown, but must not overflow.
    ratio = np.exp(np.minimum((total - MIDDLE) / SPREAD, 700.0))
    similarity = ratio / (1 + ratio)
    return similarity if dense is not None else np.where(lexical > 0, similarity, 0.0)


def _standardised(values: Floats, present: NDArray[np.bool_], usual: tuple[float, float] | None) -> Floats:
    """How far each value is from the mean of the space, in standard deviations. What is not known is at the mean."""
    known = values[present & ~np.isnan(values)]
    mean, deviation = _moments(known, usual)
    return np.nan_to_num((values - mean) / deviation, copy=False)


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


_GROUPED = 64


def best(
    scores: Floats, allowed: NDArray[np.bool_], valid_from: NDArray[np.int64], ids: NDArray[np.bytes_], limit: int
) -> NDArray[np.intp]:
    """The positions of the highest scores above zero, best first.

    Of equals the one that is valid from later on comes first, and then the one of the lower id.
    """
    eligible = np.where(allowed, scores, 0.0)
    bound, groups = 0.0, len(scores) // _GROUPED
    if groups > limit:
        # So many groups have a member of at least this score: nothing below it is among the best.
        highest = eligible[: groups * _GROUPED].reshape(_GROUPED, groups).max(axis=0)
        bound = np.partition(highest, groups - limit)[groups - limit]
    found = np.flatnonzero((eligible > 0) & (eligible >= bound))
    if len(found) > limit:
        values = scores[found]
        least = np.partition(values, len(values) - limit)[len(values) - limit]
        found = found[values >= least]
    # Everything as good as the last that fits is still here, so that also there the id decides.
    order = np.lexsort((ids[found], -valid_from[found], -scores[found]))
    return found[order][:limit]
