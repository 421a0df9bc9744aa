"""The ways to choose atoms of a space: by topic, by time, by importance, by age of record, and all for one atom's rank.

A chooser gets an index, the query as it is understood by that index, and the mask of the atoms that pass the filters.
It may be called several times for one request, each time with a newer index, and only the last answer counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.errors import NotFound
from longmind.models.atom import Atom
from longmind.models.recall import Explanation
from longmind.recall.exclusion_reasons import list_reasons
from longmind.recall.index.atom_columns import NOBODY
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.query_builder import build_empty_query
from longmind.recall.ranking.atoms import (
    ANY_REVISION,
    AtomQuery,
    MatchScores,
    Scores,
    match_everything,
    measure_matches,
    rank_atoms,
    score_atoms,
    select_best,
)
from longmind.recall.ranking.filter_masks import Mask
from longmind.recall.request import Filters, TopicOptions
from longmind.recall.results import Choice, explain_score
from longmind.store.tables.spaces import is_same_epoch


class RerankScores(NamedTuple):
    """The scores that a reranker gave to hits, by their positions at a revision of the space."""

    by_position: Mapping[int, float] = {}
    revision: int = ANY_REVISION

    def select_for(self, index: SpaceIndex) -> Mapping[int, float]:
        """Return the scores that still hold: after an erasure and an import, a position means another atom."""
        if not self.by_position or not is_same_epoch(self.revision, index.revision):
            return {}
        return {place: score for place, score in self.by_position.items() if place < index.atoms}


NO_RERANKING = RerankScores()


@dataclass(frozen=True)
class TopicChooser:
    """Chooses the atoms that are about a query, best first."""

    options: TopicOptions
    as_of: int
    reranked: RerankScores

    def __call__(self, index: SpaceIndex, query: AtomQuery, passing: Mask) -> Choice:
        needs_matches = query.overlap_only or self.reranked.by_position or self.options.explain
        if query.by_meaning and not needs_matches:
            # The usual case: one call of the kernels, without match scores for every atom in between.
            scores, candidates = rank_atoms(index, query, passing, self.options.limit, self.as_of)
            return _drop_below(scores, self.options.min_score), candidates, None
        matches = measure_matches(index, query, self.reranked.select_for(index))
        matching = matches.restrict(passing)
        scores = select_best(index, query, matches, matching, self.options.limit, self.as_of)
        return _drop_below(scores, self.options.min_score), int(np.count_nonzero(matching)), matches


@dataclass(frozen=True)
class TimeChooser:
    """Chooses atoms in the order of their time: all that pass or, with a query, the best of those that match it."""

    limit: int
    filters: Filters
    newest_first: bool
    has_query: bool
    min_score: float = 0.0

    def __call__(self, index: SpaceIndex, query: AtomQuery, passing: Mask) -> Choice:
        if not self.has_query:
            places = passing.nonzero()[0]
            return _choose_unasked(index, self.filters, places[self._order(index, places)], len(places))
        matches = measure_matches(index, query)
        matching = matches.restrict(passing)
        scores = select_best(index, query, matches, matching, self.limit, self.filters.as_of)
        scores = _drop_below(scores, self.min_score)
        order = self._order(index, np.array(scores.places, np.intp))
        return scores.select(order.tolist()), int(np.count_nonzero(matching)), matches

    def _order(self, index: SpaceIndex, places: NDArray[np.intp]) -> NDArray[np.intp]:
        order = np.lexsort((places, index.valid_from.values[places]))
        return (order[::-1] if self.newest_first else order)[: self.limit]


@dataclass(frozen=True)
class ImportanceChooser:
    """Chooses the most important atoms, and of equally important ones the newest."""

    limit: int
    filters: Filters
    speaker: str | None = None
    """The only speaker whose atoms are chosen; None for all."""

    def __call__(self, index: SpaceIndex, query: AtomQuery, passing: Mask) -> Choice:
        if self.speaker is not None:
            passing = passing & (index.speaker.values == index.speaker_codes.get(self.speaker, NOBODY - 1))
        places = passing.nonzero()[0]
        importance = index.importance.values[places].astype(np.int16)
        order = np.lexsort((index.ids.values[places], -index.valid_from.values[places], -importance))
        return _choose_unasked(index, self.filters, places[order[: self.limit]], len(places))


@dataclass(frozen=True)
class RecordChooser:
    """Chooses the atoms that were recorded last, newest first."""

    limit: int
    filters: Filters

    def __call__(self, index: SpaceIndex, query: AtomQuery, passing: Mask) -> Choice:
        places = passing.nonzero()[0]
        order = np.lexsort((places, index.created_at.values[places]))[::-1][: self.limit]
        return _choose_unasked(index, self.filters, places[order], len(places))


class AtomRank(NamedTuple):
    """The rank of one atom among all hits, and the filters that exclude it."""

    reasons: list[str]
    rank: int | None
    """A number from 1; None where the atom is no hit."""
    explanation: Explanation


class RankFinder:
    """Chooses nothing, and notes the rank of one atom among all hits of the same request."""

    def __init__(self, atom: Atom, position: int, read_at: int, filters: Filters, reranked: RerankScores) -> None:
        self._atom = atom
        self._position = position
        self._read_at = read_at
        """The revision of the space at which the position was read."""
        self._filters = filters
        self._reranked = reranked
        self.found: AtomRank | None = None

    def __call__(self, index: SpaceIndex, query: AtomQuery, passing: Mask) -> Choice:
        if not is_same_epoch(self._read_at, index.revision):
            # Erased since, and what was imported after that may have its position.
            raise NotFound("atom", self._atom.id)
        as_of, position = self._filters.as_of, self._position
        matches = measure_matches(index, query, self._reranked.select_for(index))
        order = select_best(index, query, matches, matches.restrict(passing), index.atoms, as_of).places
        own = score_atoms(index, query, matches, np.array([position]), as_of)
        rank = order.index(position) + 1 if position in order else None
        # An entity that all hits have to mention is a filter too, known only by the query.
        filters = self._filters if query.about is None else self._filters._replace(positions=query.about)
        reasons = list_reasons(index, filters, self._atom, position)
        self.found = AtomRank(reasons, rank, explain_score(own, matches, passing, 0))
        return own.select(()), len(order), matches


def _drop_below(scores: Scores, least: float) -> Scores:
    """Return the scores from `least` on."""
    if not least or not scores.final or min(scores.final) >= least:
        return scores
    return scores.select([at for at, score in enumerate(scores.final) if score >= least])


def _choose_unasked(index: SpaceIndex, filters: Filters, places: NDArray[np.intp], candidates: int) -> Choice:
    """Return the scores of atoms that were chosen without a query, by their age and importance alone."""
    matches: MatchScores = match_everything(index)
    return score_atoms(index, build_empty_query(filters), matches, places, filters.as_of), candidates, matches
