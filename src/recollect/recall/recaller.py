"""The one retriever: indexes what is written, and finds it again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreError
from recollect.models.entity import folded_name
from recollect.models.recall import Explanation, Hit, Recall, RecallMode, WhyNot
from recollect.providers.embedder import Embedding
from recollect.recall.asking import Question, understand
from recollect.recall.cache import SpaceCache
from recollect.recall.filters import Filters, passing
from recollect.recall.ranking import Query, Scores, best, score
from recollect.recall.reindexing import reindex_kind
from recollect.recall.segments import IndexedText, VectorsSegment, WordsSegment
from recollect.recall.space_index import SpaceIndex
from recollect.recall.writing import Indexed
from recollect.scope import Scope
from recollect.store import atoms, entities, jobs
from recollect.store.atoms import CheckedAtom
from recollect.store.database import Database
from recollect.store.jobs import NewJob

_REINDEX_ATTEMPTS = 10
_HOUR = 3600 * 1_000_000
_LONGEST_NAME = 6
"""Words of the longest entity name that is looked for in a query."""

Chosen = tuple[NDArray[np.intp], NDArray[np.bool_], Scores]
"""The places that were chosen, all that match at all, and the scores."""


class Recaller:
    def __init__(
        self, database: Database, embedding: Embedding | None, cache_megabytes: float, *, overlap_only: bool = False
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._overlap_only = overlap_only
        self._wished: set[tuple[str, str]] = set()
        self._wished_in = 0
        self._cache = SpaceCache(database, cache_megabytes)

    def index(self, checked: Sequence[CheckedAtom]) -> Indexed:
        """Prepare what the search index keeps of atoms. It may take long, so it happens outside of a transaction."""
        words = WordsSegment.of([IndexedText(atom.text, atom.search_context) for atom in checked])
        if self._embedding is None:
            return Indexed(words, None, None)
        vectors = VectorsSegment.of(self._embedding.texts([atom.text for atom in checked]))
        return Indexed(words, vectors, self._embedding.model)

    def by_topic(
        self, scope: Scope, space_id: str, query: str, filters: Filters, limit: int, *, explain: bool = False
    ) -> Recall:
        """What is known about a topic, best first."""
        began = time.perf_counter()
        asked = self._ask(scope, space_id, query, filters)

        def choose(index: SpaceIndex, allowed: NDArray[np.bool_]) -> Chosen:
            scores = score(index, asked, filters.now)
            matching = allowed & (scores.final > 0)
            return best(scores.final, matching, index.valid_from.values, index.ids.values, limit), matching, scores

        return self._answer(scope, space_id, "BY_TOPIC", filters, choose, began, explain=explain)

    def by_time(
        self, scope: Scope, space_id: str, mode: RecallMode, filters: Filters, limit: int, query: str | None = None
    ) -> Recall:
        """What passes the filters, in the order of time: newest first by entity, oldest first on a timeline.

        With a query, a timeline is of what is about it: the best hits of the topic, put into their order.
        """
        began = time.perf_counter()
        asked = self._ask(scope, space_id, query, filters) if query is not None else None

        def choose(index: SpaceIndex, allowed: NDArray[np.bool_]) -> Chosen:
            scores = score(index, asked or _NOTHING_ASKED, filters.now)
            valid_from = index.valid_from.values
            matching = allowed if asked is None else allowed & (scores.final > 0)
            found = (
                np.flatnonzero(allowed)
                if asked is None
                else best(scores.final, matching, valid_from, index.ids.values, limit)
            )
            order = np.lexsort((found, valid_from[found]))
            chosen = found[order][:limit] if mode == "TIMELINE" else found[order][::-1][:limit]
            return chosen, matching, scores

        return self._answer(scope, space_id, mode, filters, choose, began, explain=False)

    def why_not(self, scope: Scope, space_id: str, atom_id: str, query: str, filters: Filters, limit: int) -> WhyNot:
        """Which filters keep an atom from being found, or at which place among the hits it is."""
        position = self._database.read(scope, atoms.position, atom_id)
        asked = self._ask(scope, space_id, query, filters)
        with self._cache.current(scope, space_id) as index:
            masks = passing(index, filters)
            reasons = [f"the filter {name} leaves it out" for name, mask in masks.items() if not mask[position]]
            allowed = np.logical_and.reduce(list(masks.values()))
            scores = score(index, asked, filters.now)
            ranked = best(scores.final, allowed, index.valid_from.values, index.ids.values, index.atoms).tolist()
            explanation = _explanation(scores, allowed, position)
        rank = ranked.index(position) + 1 if position in ranked else None
        if rank is None and not reasons:
            reasons.append("it has no word of the query, and there is no vector to compare")
        if rank is not None and rank > limit:
            reasons.append(f"it is at place {rank}, and the limit is {limit}")
        found = rank is not None and rank <= limit
        return WhyNot(atom_id=atom_id, found=found, rank=rank, reasons=reasons, explanation=explanation)

    def _ask(self, scope: Scope, space_id: str, query: str, filters: Filters) -> Query:
        with self._cache.current(scope, space_id) as index:
            speakers = index.speakers()
            model, filled, lacking = index.model, index.atoms > 0, index.lacks_vectors
        at = filters.valid_at or filters.known_at or filters.now
        question = understand(query, speakers, at)
        vector = None
        if self._embedding is not None and filled:
            if model != self._embedding.model or lacking:
                self._have_reindexed(scope, space_id, self._embedding.model, filters.now)
            if model == self._embedding.model and query.strip():
                vector = self._embedding.query(question.to_embed)
        names = _possible_names(query)
        mentioned = self._database.read(scope, entities.mentioned_in, space_id, names) if names else {}
        usual = self._embedding.usual if self._embedding is not None else None
        return Query(question, vector, model, usual, self._overlap_only, mentioned)

    def _have_reindexed(self, scope: Scope, space_id: str, model: str, now: int) -> None:
        """Queue the making of vectors for a space that has another embedder's, or not all; once an hour at the most."""
        wish, hour = (space_id, model), now // _HOUR
        if hour != self._wished_in:
            self._wished, self._wished_in = set(), hour
        if wish in self._wished:
            return
        self._wished.add(wish)
        job = NewJob(
            kind=reindex_kind(model),
            payload=json.dumps({"spaceId": space_id}),
            due_at=now,
            max_attempts=_REINDEX_ATTEMPTS,
            unique_key=f"{space_id}:{model}:{hour}",
        )
        try:
            self._database.write(scope, jobs.enqueue, scope, job, now)
        except StoreError:
            # Recall goes on without it, and the next one tries again.
            self._wished.discard(wish)

    def _answer(
        self,
        scope: Scope,
        space_id: str,
        mode: RecallMode,
        filters: Filters,
        choose: Callable[[SpaceIndex, NDArray[np.bool_]], Chosen],
        began: float,
        *,
        explain: bool,
    ) -> Recall:
        with self._cache.current(scope, space_id) as index:
            allowed = np.logical_and.reduce(list(passing(index, filters).values()))
            chosen, matching, scores = choose(index, allowed)
            candidates = int(np.count_nonzero(matching))
            positions = [int(position) for position in chosen]
            factors = [_factors(scores, position) for position in positions]
            explanations = [_explanation(scores, allowed, position) if explain else None for position in positions]
        found = self._database.read(scope, atoms.at_positions, space_id, positions) if positions else {}
        hits = [
            Hit.trusted(
                {
                    "atom": found[position],
                    "score": final,
                    "decay_weight": decay,
                    "entity_match_bonus": bonus,
                    "explanation": explanation,
                }
            )
            for position, (final, decay, bonus), explanation in zip(positions, factors, explanations, strict=True)
            if position in found
        ]
        latency = (time.perf_counter() - began) * 1000
        return Recall.trusted({"mode": mode, "total_candidates": candidates, "latency_ms": latency, "hits": hits})


_NOTHING_ASKED = Query(Question("", (), None, ()), None, None, None, False, {})


def _factors(scores: Scores, position: int) -> tuple[float, float, float]:
    return float(scores.final[position]), float(scores.decay[position]), float(scores.bonus[position])


def _explanation(scores: Scores, allowed: NDArray[np.bool_], position: int) -> Explanation:
    dense = None if scores.dense is None or np.isnan(scores.dense[position]) else float(scores.dense[position])
    return Explanation(
        similarity=float(scores.similarity[position]),
        dense=dense,
        lexical=float(scores.lexical[position]),
        dense_rank=None if dense is None or scores.dense is None else _rank(scores.dense, allowed, position),
        lexical_rank=_rank(scores.lexical, allowed, position) if scores.lexical[position] > 0 else None,
        decay_weight=float(scores.decay[position]),
        importance_weight=float(scores.importance[position]),
        entity_match_bonus=float(scores.bonus[position]),
    )


def _rank(values: NDArray[np.float64], allowed: NDArray[np.bool_], position: int) -> int:
    return int(np.count_nonzero(allowed & (values > values[position]))) + 1


def _possible_names(query: str) -> list[str]:
    """Every run of a few words of a query, folded like names are, without what clings to a name."""
    words = [word.strip(".,;:!?()[]\"'\u2019\u201c\u201d") for word in folded_name(query).split()]
    words = [word.removesuffix("'s").removesuffix("\u2019s") for word in words]
    return [
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(start + _LONGEST_NAME, len(words)) + 1)
    ][:500]
