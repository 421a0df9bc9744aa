"""Ranking of the atoms of a space against a query.

The likeness of the vectors and the BM25 score of the words are put on one scale and added, with what speakers, dates
and the amount of information contribute. A logistic curve turns the total into the probability that an atom is about
the question, and age, importance and entities multiply its odds. The total is computed for every atom; the factors only
for atoms that can still be among the best. `rank_atoms` does all of it in one call of the kernels; `measure_matches`
and `select_best` do it in two steps, for callers that need what lies between.
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
from longmind.recall.kernels.numpy_kernels import Scale
from longmind.recall.question import Interval, Question
from longmind.recall.ranking.decay import FLOOR, RATES
from longmind.recall.ranking.relevance import BY_SHARED_WORDS, FACTS, make_scale

AROUND_SHARE = 0.5
"""The share that a word counts if only the texts around hold it, where shared words are counted."""
RERANK_WEIGHT = 0.3
"""The weight of a reranker's score, a logarithm of odds, which is added and never replaces the rest."""

USUAL_ATOMS = 6
"""The number of atoms that the usual mean and deviation count as, since those of a small space say little."""
_DAY = 24 * 3600 * 1_000_000

ENTITY_BONUS = 0.5
MOST_BONUS = 2.0
LEAST_IMPORTANT = 0.76
IMPORTANCE_STEP = 0.06
_BY_IMPORTANCE = LEAST_IMPORTANT + IMPORTANCE_STEP * np.arange(-1, 5, dtype=np.float64)
_WEIGHTS = Weights(RATES, _BY_IMPORTANCE, FLOOR, 0.0, 1.0)
"""The middle and the spread depend on the question: see `make_scale`."""


ANY_REVISION = -1
"""The revision of a query that depends on nothing in a space."""


class AtomQuery(NamedTuple):
    """A request as it is understood by the index of a space."""

    question: Question
    vector: NDArray[np.float32] | None
    model: str | None
    """The model of the vector; a space can change its model while a question is embedded."""
    usual: tuple[float, float] | None
    """The usual mean and deviation of the likeness of unrelated texts with this embedder, if known."""
    by_meaning: bool
    """True if there is an embedder, so that every atom is more or less alike and matches, even while its vector is
    still being made."""
    overlap_only: bool
    """True if the host has chosen no embedder, so that similarity is the share of shared words."""
    mentioned: Mapping[str, tuple[int, ...]]
    """By entity that the query names, the positions of the atoms that mention it."""
    known_at: int | None = None
    """The instant whose knowledge counts; later atoms do not change how rare or usual anything was."""
    revision: int = ANY_REVISION
    """The revision of the space by which the query was understood."""
    about: tuple[int, ...] | None = None
    """The positions of the atoms that mention the entity of all hits, if there is one."""
    valid_at: int | None = None
    """The instant whose truth is asked for, from which ages are counted."""


class MatchScores(NamedTuple):
    """The match of each atom with a query, before age, importance and entities."""

    dense: Floats | None
    lexical: Floats
    standing: Floats
    """The total or, where words are only counted, the share of shared words; higher is better."""
    scale: Scale
    """The scale by which `standing` becomes a probability."""
    matches: Mask | None
    """Mask of the atoms that match at all; None for all, since each has a vector to compare, or could have."""
    reranked: Mapping[int, float]
    """The scores of a reranker, by position."""

    def restrict(self, passing: Mask) -> Mask:
        """Return the atoms that match, of those that pass the filters."""
        return passing if self.matches is None else passing & self.matches


class Scores(NamedTuple):
    """The factors of the scores of some atoms, in the order of `places`."""

    places: list[int]
    similarity: list[float]
    decay: list[float]
    importance: list[float]
    bonus: list[float]
    final: list[float]

    def select(self, order: Sequence[int]) -> Scores:
        """Return the scores at some places in the given order."""
        return Scores(*[[each[at] for at in order] for each in self])  # type: ignore[arg-type]  # each as it was


_NO_RERANKING: Mapping[int, float] = {}
_ANY_SCALE = Scale(0.0, 0.0, 1.0)


def measure_matches(index: SpaceIndex, query: AtomQuery, reranked: Mapping[int, float] = _NO_RERANKING) -> MatchScores:
    """Return how well every atom of an index matches a query, with the scores of a reranker where there are some."""
    terms = query.question.terms
    known = index.mask_known(query.known_at)
    lexical = index.word_scores(terms, known) if terms else np.zeros(index.atoms)
    dense = roughly = None
    if query.vector is not None and query.model == index.model:
        dense, roughly = index.similarity(query.vector), index.rough_similarity(query.vector)
    scale = _make_scale(index, query, known, has_vectors=roughly is not None)
    if query.overlap_only:
        standing = index.overlap(terms, AROUND_SHARE, query.question.of_reader)
        matches: Mask = standing > 0
        if reranked:
            standing[list(reranked)] += _weigh_reranking(reranked) / BY_SHARED_WORDS.slope
        return MatchScores(dense, lexical, standing, scale, matches, reranked)
    standing = _add_up(index, query, lexical, roughly, dense, known)
    if reranked:
        standing[list(reranked)] += _weigh_reranking(reranked)
    return MatchScores(dense, lexical, standing, scale, None if query.by_meaning else lexical > 0, reranked)


def _weigh_reranking(reranked: Mapping[int, float]) -> Floats:
    """Return the weights of reranking scores, centred on their mean: as a group, the reranked atoms neither gain nor
    lose.
    """
    weights = np.array(list(reranked.values()))
    counted: Floats = RERANK_WEIGHT * (weights - weights.mean())
    return counted


def match_everything(index: SpaceIndex) -> MatchScores:
    """Return match scores for a request without a query: all atoms match fully, and age and importance decide."""
    return MatchScores(None, np.zeros(index.atoms), np.full(index.atoms, np.inf), _ANY_SCALE, None, _NO_RERANKING)


def score_atoms(index: SpaceIndex, query: AtomQuery, matches: MatchScores, places: Places, now: int) -> Scores:
    """Return the exact scores of some atoms."""
    found = compute_factors(
        places,
        matches.standing,
        _multiply_bonus(index, query),
        _columns(index),
        _set_scale(matches.scale),
        _find_confirmation_end(query),
        now,
    )
    if matches.matches is not None:
        is_match = matches.matches[places]
        found = found._replace(similarity=found.similarity * is_match, final=found.final * is_match)
    return Scores(places.tolist(), *[each.tolist() for each in found[:5]])


def select_best(
    index: SpaceIndex, query: AtomQuery, matches: MatchScores, matching: Mask, limit: int, now: int
) -> Scores:
    """Return the highest scores, best first; among equals the atom that is valid from later on, then the lower id."""
    found = kernel.loops.best(
        matches.standing,
        matching,
        _multiply_bonus(index, query),
        _columns(index),
        _set_scale(matches.scale),
        MOST_BONUS if query.mentioned else 1.0,
        _find_confirmation_end(query),
        now,
        limit,
    )
    return Scores(*found)


def rank_atoms(index: SpaceIndex, query: AtomQuery, matching: Mask, limit: int, now: int) -> tuple[Scores, int]:
    """Return the best of the matching atoms and the number of these, in one call of the kernels.

    It does what `measure_matches` and `select_best` do in two steps, but only for a query to which every atom is more
    or less alike, as most are: see `AtomQuery.by_meaning`.
    """
    question, vector, roughly = query.question, None, None
    # A query of another model cannot be compared, so words decide until the vectors are made again.
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
            _intersect_masks(index.compared, known),
            query.usual,
            _sum_context(index, question) if _has_context(question) else None,
            matching,
            _multiply_bonus(index, query),
            MOST_BONUS if query.mentioned else 1.0,
            _find_confirmation_end(query),
            now,
            limit,
            _make_scale(index, query, known, has_vectors=vector is not None and index.searched[1] is not None),
        )
    except ValueError as error:
        raise damage_error() from error
    return Scores(*found), candidates


def _hold_arrays(index: SpaceIndex) -> numpy_kernels.SpaceArrays:
    runs, rows, finer, scales = index.searched
    return kernel.loops.hold(
        runs, WORTH, rows, finer, scales, np.zeros(index.atoms), USUAL_ATOMS, _columns(index), _WEIGHTS
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


def _make_scale(index: SpaceIndex, query: AtomQuery, known: Mask | None, *, has_vectors: bool) -> Scale:
    by_meaning = FACTS.by_meaning if has_vectors else FACTS.by_words
    curve = BY_SHARED_WORDS if query.overlap_only else by_meaning
    return make_scale(query.question, FACTS.weigh(query.question), curve, index.count_for_words(known)[1])


def _set_scale(scale: Scale) -> Weights:
    return _WEIGHTS._replace(middle=scale.middle, spread=scale.spread)


def _find_confirmation_end(query: AtomQuery) -> int:
    """Return the instant up to which confirmations count; a later one was not known, or not true, as of then."""
    if query.known_at is None:
        return FOREVER if query.valid_at is None else query.valid_at
    return query.known_at if query.valid_at is None else min(query.known_at, query.valid_at)


def _multiply_bonus(index: SpaceIndex, query: AtomQuery) -> Floats | None:
    """Return the bonus of each atom for the entities that the query names; None if it names none."""
    if not query.mentioned:
        return None
    bonus = np.ones(index.atoms)
    for positions in query.mentioned.values():
        bonus[[position for position in positions if position < index.atoms]] += ENTITY_BONUS
    return np.minimum(bonus, MOST_BONUS, out=bonus)


def _add_up(
    index: SpaceIndex,
    query: AtomQuery,
    lexical: Floats,
    roughly: NDArray[np.float32] | None,
    dense: Floats | None,
    known: Mask | None,
) -> Floats:
    """Return the total of each atom."""
    total, counted = np.empty(index.atoms), _intersect_masks(index.compared, known)
    rest = _sum_context(index, query.question)
    unsure = 0.0 if roughly is None or query.vector is None else index.measure_largest_error(query.vector)
    words = FACTS.weigh(query.question).words
    kernel.loops.total(lexical, roughly, dense, unsure, counted, query.usual, USUAL_ATOMS, words, rest, total)
    return total


def _has_context(question: Question) -> bool:
    """Return whether anything but words and likeness is evidence for a question."""
    return question.speakers is not None or bool(question.dates) or bool(question.opposed)


def _sum_context(index: SpaceIndex, question: Question) -> Floats:
    """Return the part of the totals that depends neither on words nor on vectors: speakers, dates and opposites."""
    weights, speakers = FACTS.weigh(question), question.speakers
    context = np.zeros(index.atoms)
    if speakers is not None:
        # Unknown speakers are neutral; speakers other than those asked about count against an atom.
        worth = np.array([speakers.get(speaker, 0.0) for speaker in index.speaker_codes] + [0.5])
        context = context + (weights.speaker * worth)[index.speaker.values]
    if question.dates:
        context = context + weights.date * measure_nearness(index.valid_from.values, question.dates)
    if question.opposed:
        context = context + weights.opposite * index.mask_holding(question.opposed)
    return context


def _intersect_masks(compared: Mask | None, known: Mask | None) -> Mask | None:
    """Return the atoms that define the usual similarity: those in both masks, where None is a mask of all atoms."""
    if compared is None or known is None:
        return known if compared is None else compared
    return compared & known


def measure_nearness(valid_from: NDArray[np.int64], intervals: Sequence[Interval]) -> Floats:
    """Return how near the day of each atom is to the intervals: 1 inside of one, decaying with each day outside."""
    days = valid_from // _DAY + _EPOCH
    nearest = np.zeros(len(days))
    for interval in intervals:
        distance = np.maximum(interval.first.toordinal() - days, days - interval.last.toordinal())
        np.maximum(nearest, np.exp(-np.maximum(distance, 0) / interval.slack), out=nearest)
    return nearest


_EPOCH = date(1970, 1, 1).toordinal()
