"""From a query to the atoms of a space that answer it best.

What an atom means (its vector) and which words it holds (BM25) are put on one scale and added. The sum becomes a
similarity between 0 and 1, which is then weighed by age, importance and the entities that the query names. The sum is
made for every atom; the rest only for those that can still be among the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.recall import kernels as kernel
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.segments import damage_error
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.index.text_index import WORTH, to_contiguous
from longmind.recall.kernels import numpy_kernels
from longmind.recall.kernels.numpy_best import Columns, Floats, Mask, Places, Weights, compute_factors
from longmind.recall.kernels.numpy_totals import standardise
from longmind.recall.question import Interval, Question
from longmind.recall.ranking.decay import FLOOR, RATES

# Each of these is what a feature counts, in standard deviations of the vectors' similarity to a query.
WORDS_WEIGHT = 4.2
SPEAKER_WEIGHT = 2.2
DATE_WEIGHT = 2.0
STATEMENT_WEIGHT = 0.5
AROUND_SHARE = 0.5
"""What a word counts that stands around a text and not in it, where words in common are counted."""
RERANK_WEIGHT = 0.3
"""What a reranker's opinion counts, which is the logarithm of odds. It is added and never replaces the rest."""

_MOST_CERTAIN = 0.99
"""The highest share of words in common that an opinion can still change: against certainty no odds count."""
_LEAST_SHARE = 1e-9
_MOST_ODDS = 30.0
"""Beyond them, in logarithms, an opinion does not count more."""

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
_BY_IMPORTANCE = LEAST_IMPORTANT + IMPORTANCE_STEP * np.arange(-1, 5, dtype=np.float64)
_WEIGHTS = Weights(RATES, _BY_IMPORTANCE, FLOOR, MIDDLE, SPREAD)
_WEIGHTS_OF_OVERLAP = _WEIGHTS._replace(spread=0.0)


ANY_REVISION = -1
"""Of what depends on nothing that is known in a space."""


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
    revision: int = ANY_REVISION
    """Of the space, when the query was understood by what is known there."""
    about: tuple[int, ...] | None = None
    """The positions of the atoms that mention whom all hits have to be about, if anybody."""
    valid_at: int | None = None
    """The instant whose truth is asked, and as of which memories are as old as they were then."""


class MatchScores(NamedTuple):
    """What speaks for each atom, before age, importance and entities are weighed in."""

    dense: Floats | None
    lexical: Floats
    standing: Floats
    """All of it added up or, with words alone, the share of words in common: higher is better."""
    matches: Mask | None
    """Which atoms match at all; None says that all do, since each has a vector to compare, or could have."""
    reranked: Mapping[int, float]
    """The scores of a reranker, by position."""

    def restrict(self, passing: Mask) -> Mask:
        """Return the atoms that match, of those that pass the filters."""
        return passing if self.matches is None else passing & self.matches


class Scores(NamedTuple):
    """Every factor of the scores of some atoms, in the order of `places`."""

    places: list[int]
    similarity: list[float]
    decay: list[float]
    importance: list[float]
    bonus: list[float]
    final: list[float]

    def select(self, order: Sequence[int]) -> Scores:
        return Scores(*[[each[at] for at in order] for each in self])  # type: ignore[arg-type]  # each as it was


_NO_RERANKING: Mapping[int, float] = {}


def measure_matches(index: SpaceIndex, query: Query, reranked: Mapping[int, float] = _NO_RERANKING) -> MatchScores:
    """Look at every atom."""
    terms = query.question.terms
    known = index.mask_known(query.known_at)
    lexical = index.word_scores(terms, known) if terms else np.zeros(index.atoms)
    dense = roughly = None
    if query.vector is not None and query.model == index.model:
        dense, roughly = index.similarity(query.vector), index.rough_similarity(query.vector)
    if query.overlap_only:
        standing = index.overlap(terms, AROUND_SHARE)
        matches: Mask = standing > 0
        if reranked:
            read = list(reranked)
            standing[read] = _sway(standing[read], _weigh_reranking(reranked) / SPREAD)
        return MatchScores(dense, lexical, standing, matches, reranked)
    standing = _add_up(index, query, lexical, roughly, dense, known)
    if reranked:
        standing[list(reranked)] += _weigh_reranking(reranked)
    return MatchScores(dense, lexical, standing, None if query.by_meaning else lexical > 0, reranked)


def _weigh_reranking(reranked: Mapping[int, float]) -> Floats:
    """What reranked count, against their mean: those which were read stand on the whole where they stood before."""
    thoughts = np.array(list(reranked.values()))
    counted: Floats = RERANK_WEIGHT * (thoughts - thoughts.mean())
    return counted


def _sway(shares: Floats, by: Floats) -> Floats:
    """Shares of words in common after somebody has thought more or less of them, in logarithms of odds."""
    # One without a word in common, which it may have lost since it was read, does not match whatever is thought of it.
    shares = np.clip(shares, _LEAST_SHARE, _MOST_CERTAIN)
    odds = np.log(shares / (1 - shares)) + by
    swayed: Floats = 1 / (1 + np.exp(-np.clip(odds, -_MOST_ODDS, _MOST_ODDS)))
    return swayed


def mask_related(index: SpaceIndex, query: Query, evidence: MatchScores) -> Mask:
    """Which atoms have to do with a query: they share a word with it, or their meaning is much nearer than usual."""
    shares: Mask = evidence.lexical > 0
    if evidence.dense is None:
        return shares
    counted = _intersect(index.compared, index.mask_known(query.known_at))
    return shares | (standardise(counted, evidence.dense, query.usual, USUAL_ATOMS) >= NEAR)


def match_everything(index: SpaceIndex) -> MatchScores:
    """Where nothing is asked, everything is as much about it as can be: what is left are age and importance."""
    return MatchScores(None, np.zeros(index.atoms), np.full(index.atoms, np.inf), None, _NO_RERANKING)


def score_atoms(index: SpaceIndex, query: Query, evidence: MatchScores, places: Places, now: int) -> Scores:
    """The scores of some atoms, exactly."""
    found = compute_factors(
        places,
        evidence.standing,
        _multiply_bonus(index, query),
        _columns(index),
        _weights(query),
        _find_confirmation_end(query),
        now,
    )
    if evidence.matches is not None:
        matches = evidence.matches[places]
        found = found._replace(similarity=found.similarity * matches, final=found.final * matches)
    return Scores(places.tolist(), *[each.tolist() for each in found])


def select_best(index: SpaceIndex, query: Query, evidence: MatchScores, matching: Mask, limit: int, now: int) -> Scores:
    """The highest scores, best first; of equals the one that is valid from later on, then the one of the lower id."""
    found = kernel.loops.best(
        evidence.standing,
        matching,
        _multiply_bonus(index, query),
        _columns(index),
        _weights(query),
        MOST_BONUS if query.mentioned else 1.0,
        _find_confirmation_end(query),
        now,
        limit,
    )
    return Scores(*found)


def rank_atoms(index: SpaceIndex, query: Query, matching: Mask, limit: int, now: int) -> tuple[Scores, int]:
    """What `weigh` and `best` find among those that match, in one go, and how many match.

    It is for a question that everything is more or less alike to, as most are: see `Query.by_meaning`.
    """
    question, vector, roughly = query.question, None, None
    if query.vector is not None and query.model == index.model:
        vector = to_contiguous(query.vector)
        if not kernel.knows_processor:
            roughly = index.rough_similarity(vector)
    known = index.mask_known(query.known_at)
    among, atoms = index.count_for_words(known)
    try:
        found, candidates = kernel.loops.rank(
            index.derive("held", lambda: _hold_arrays(index)),
            question.terms,
            vector,
            roughly,
            among,
            atoms,
            _intersect(index.compared, known),
            query.usual,
            _sum_context(index, question) if question.speakers is not None or question.dates else None,
            matching,
            _multiply_bonus(index, query),
            MOST_BONUS if query.mentioned else 1.0,
            _find_confirmation_end(query),
            now,
            limit,
        )
    except ValueError as error:
        raise damage_error() from error
    return Scores(*found), candidates


def _hold_arrays(index: SpaceIndex) -> numpy_kernels.SpaceArrays:
    runs, rows, finer, scales = index.searched
    return kernel.loops.hold(
        runs, WORTH, rows, finer, scales, _weigh_statements(index), WORDS_WEIGHT, USUAL_ATOMS, _columns(index), _WEIGHTS
    )


def _columns(index: SpaceIndex) -> Columns:
    return index.derive(
        "columns",
        lambda: Columns(
            index.kind.values,
            index.importance.values,
            index.fresh_at.values,
            index.valid_from.values,
            index.ids.values,
        ),
    )


def _weights(query: Query) -> Weights:
    return _WEIGHTS_OF_OVERLAP if query.overlap_only else _WEIGHTS


def _find_confirmation_end(query: Query) -> int:
    """Until when a confirmation counts, which makes a memory new: one that came later is not of then."""
    if query.known_at is None:
        return FOREVER if query.valid_at is None else query.valid_at
    return query.known_at if query.valid_at is None else min(query.known_at, query.valid_at)


def _multiply_bonus(index: SpaceIndex, query: Query) -> Floats | None:
    """What the entities that the query names make each atom worth; None where it names none."""
    if not query.mentioned:
        return None
    bonus = np.ones(index.atoms)
    for positions in query.mentioned.values():
        bonus[[position for position in positions if position < index.atoms]] += ENTITY_BONUS
    return np.minimum(bonus, MOST_BONUS, out=bonus)


def _add_up(
    index: SpaceIndex,
    query: Query,
    lexical: Floats,
    roughly: NDArray[np.float32] | None,
    dense: Floats | None,
    known: Mask | None,
) -> Floats:
    """All that speaks for an atom, added up."""
    total, counted = np.empty(index.atoms), _intersect(index.compared, known)
    rest = _sum_context(index, query.question)
    unsure = 0.0 if roughly is None or query.vector is None else index.bound_error(query.vector)
    kernel.loops.total(lexical, roughly, dense, unsure, counted, query.usual, USUAL_ATOMS, WORDS_WEIGHT, rest, total)
    return total


def _sum_context(index: SpaceIndex, question: Question) -> Floats:
    """What speaks for each atom besides its words and its meaning."""
    beside, speakers = _weigh_statements(index), question.speakers
    if speakers is not None:
        # Who nothing is known of is neither for nor against; whoever else was not asked about is against.
        worth = np.array([speakers.get(who, 0.0) for who in index.speaker_codes] + [0.5])
        beside = beside + (SPEAKER_WEIGHT * worth)[index.speaker.values]
    if question.dates:
        beside = beside + DATE_WEIGHT * _measure_nearness(index.valid_from.values, question.dates)
    return beside


def _weigh_statements(index: SpaceIndex) -> Floats:
    return index.derive("stated", lambda: STATEMENT_WEIGHT * np.log1p(index.statements.values.astype(np.float64)))


def _intersect(compared: Mask | None, known: Mask | None) -> Mask | None:
    """Which atoms say what is usual: those that have a vector to compare, of those that were known."""
    if compared is None or known is None:
        return known if compared is None else compared
    return compared & known


def _measure_nearness(valid_from: NDArray[np.int64], intervals: Sequence[Interval]) -> Floats:
    """How near each atom's day is to what was asked for: 1 within it, less with each day beside it."""
    days = valid_from // _DAY + _EPOCH
    nearest = np.zeros(len(days))
    for interval in intervals:
        beside = np.maximum(interval.first.toordinal() - days, days - interval.last.toordinal())
        np.maximum(nearest, np.exp(-np.maximum(beside, 0) / interval.slack), out=nearest)
    return nearest


_EPOCH = date(1970, 1, 1).toordinal()
