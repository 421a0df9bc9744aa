"""The one retriever: indexes what is written, and finds it again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.errors import NotFound
from longmind.models.atom import Atom
from longmind.models.recall import Explanation, Recall, RecallMode, WhyNot
from longmind.providers.embedder import CheckedEmbedder, Vectors
from longmind.providers.reranker import CheckedReranker
from longmind.recall.embedding_jobs import reindex_kind
from longmind.recall.embedding_requests import EmbeddingRequest, EmbeddingRequests
from longmind.recall.exclusion_reasons import list_reasons
from longmind.recall.index.batch import IndexBatch
from longmind.recall.index.cache import IndexCache
from longmind.recall.index.segments import IndexedText, VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex, SpaceState
from longmind.recall.index.storage import IndexEntries
from longmind.recall.question import Question, understand_question
from longmind.recall.ranking.atoms import (
    ANY_REVISION,
    Query,
    mask_related,
    match_everything,
    measure_matches,
    rank_atoms,
    score_atoms,
    select_best,
)
from longmind.recall.ranking.filter_masks import Mask, mask_allowed
from longmind.recall.request import Filters, RecallRequest
from longmind.recall.results import Choice, Chooser, explain_score, to_hits, to_recall
from longmind.recall.snapshot import Mentions, SnapshotReader, read_mentions
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import atoms
from longmind.store.tables.atoms import PreparedAtom
from longmind.store.tables.spaces import is_same_epoch

RERANKED = 20
"""How many of the best hits a reranker reads."""
WORDS_BEFORE = 30


class RerankScores(NamedTuple):
    """What a reranker thinks of hits, by their position at a revision."""

    thoughts: Mapping[int, float] = {}
    revision: int = ANY_REVISION

    def select_for(self, index: SpaceIndex) -> Mapping[int, float]:
        """Those that are of what is in the space now: what was brought in anew after an erasure is something else."""
        if not self.thoughts or not is_same_epoch(self.revision, index.revision):
            return {}
        return {place: thought for place, thought in self.thoughts.items() if place < index.atoms}


_NO_RERANKING = RerankScores()


class AtomRetriever:
    def __init__(
        self,
        database: Database,
        embedding: CheckedEmbedder | None,
        indexes: IndexCache,
        *,
        overlap_only: bool = False,
        reranking: CheckedReranker | None = None,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._overlap_only = overlap_only
        self._reranking = reranking
        self._embedding_requests = EmbeddingRequests(database)
        self._settling = SnapshotReader(database, indexes, self)
        self.indexes = indexes

    def index(self, checked: Sequence[PreparedAtom]) -> IndexEntries:
        """Prepare what the search index keeps of atoms. It may take long, so it happens outside of a transaction."""
        return self.begin_indexing(checked).finish()

    def begin_indexing(self, checked: Sequence[PreparedAtom]) -> IndexBatch:
        """The same for who writes them: where a server takes a while for that, only the embedding is done already."""
        embedded = self._embed([atom.text for atom in checked])
        indexing = IndexBatch(checked, embedded, None if embedded is None else self._stamp)
        if not self._database.is_remote:
            # All who want to write to a file wait for the one who does.
            indexing.finish()
        return indexing

    def index_texts(self, texts: Sequence[IndexedText]) -> IndexEntries:
        own = [each.text for each in texts]
        words, embedded = WordsSegment.from_texts(own, [each.around for each in texts]), self._embed(own)
        if embedded is None:
            return IndexEntries(words, None, None)
        return IndexEntries(words, VectorsSegment.from_vectors(embedded), self._stamp)

    def _embed(self, texts: Sequence[str]) -> Vectors | None:
        return None if self._embedding is None or not texts else self._embedding.texts(texts)

    @property
    def _stamp(self) -> str | None:
        return None if self._embedding is None else self._embedding.stamp

    def understand_query(self, query: str, now: int) -> Query:
        """A question to texts of which this engine's index is in memory alone."""
        embedding = self._embedding
        question = understand_question(query, (), now, by_words=embedding is None)
        if embedding is None:
            return Query(question, None, None, None, False, self._overlap_only, {})
        return Query(question, embedding.query(question.to_embed), embedding.stamp, embedding.usual, True, False, {})

    def space(self, scope: Scope, space_id: str) -> AbstractContextManager[SpaceIndex]:
        """The index of a space with everything that was committed before this call; one caller at a time has it."""
        return self._settling.open_index(scope, space_id)

    def find_by_topic(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        limit: int,
        *,
        explain: bool = False,
        related_only: bool = False,
    ) -> Recall:
        """What is known about a topic, best first; all there is, however far away, or only what is related to it."""
        began, filters = time.perf_counter(), request.filters
        # A reranker is asked about what there is now, and an answer is chosen by what there is afterwards.
        asked = self.understand(scope, space_id, request, fresh=self._reranking is not None)
        opinions = self._read_again(scope, space_id, asked, request)

        def choosing(asked: Query) -> Chooser:
            plain = asked.by_meaning and not (asked.overlap_only or opinions.thoughts or explain or related_only)

            def choose(index: SpaceIndex, passing: Mask) -> Choice:
                if plain:
                    return *rank_atoms(index, asked, passing, limit, filters.as_of), None
                evidence = measure_matches(index, asked, opinions.select_for(index))
                matching = passing if evidence.matches is None else passing & evidence.matches
                if related_only:
                    matching = matching & mask_related(index, asked, evidence)
                return select_best(index, asked, evidence, matching, limit, filters.as_of), _count(matching), evidence

            return choose

        if self._reranking is None and self._settling.is_quiet(scope, space_id):
            foreseen = self._settling.try_speculative(scope, space_id, request, asked, choosing(asked), explain=explain)
            if foreseen is not None:
                return to_recall(*foreseen, "BY_TOPIC", began)
        draft = self._settling.read_consistent(scope, space_id, request, choosing, asked, explain=explain)
        return to_recall(draft, to_hits(draft), "BY_TOPIC", began)

    def _read_again(self, scope: Scope, space_id: str, asked: Query, request: RecallRequest) -> RerankScores:
        """What the reranker thinks of the best hits. It takes long, so nobody else waits for it."""
        query = request.query
        if self._reranking is None or query is None or not query.strip():
            return _NO_RERANKING
        filters = request.filters_at(asked.about)
        with self._settling.open_index(scope, space_id, filters.known_at, fresh=False) as index:
            revision = index.revision
            evidence = measure_matches(index, asked)
            passed = mask_allowed(index, filters)
            matching = passed if evidence.matches is None else passed & evidence.matches
            places = select_best(index, asked, evidence, matching, RERANKED, filters.as_of).places
        texts = self._database.read(scope, atoms.read_texts_at, space_id, places) if places else {}
        thoughts = self._reranking.score(query, [_in_context(*texts[place]) for place in texts]) if texts else []
        return RerankScores(dict(zip(texts, thoughts, strict=True)), revision)

    def find_by_time(self, scope: Scope, space_id: str, mode: RecallMode, request: RecallRequest, limit: int) -> Recall:
        """What passes the filters, in the order of time: newest first by entity, oldest first on a timeline.

        With a query, a timeline is of what is about it: the best hits of the topic, put into their order.
        """
        began, filters = time.perf_counter(), request.filters

        def choosing(asked: Query) -> Chooser:
            def choose(index: SpaceIndex, passing: Mask) -> Choice:
                def in_order(places: NDArray[np.intp]) -> NDArray[np.intp]:
                    order = np.lexsort((places, index.valid_from.values[places]))
                    return (order if mode == "TIMELINE" else order[::-1])[:limit]

                if request.query is None:
                    places = passing.nonzero()[0]
                    return _unasked(index, filters, places[in_order(places)], len(places))
                evidence = measure_matches(index, asked)
                matching = passing if evidence.matches is None else passing & evidence.matches
                scores = select_best(index, asked, evidence, matching, limit, filters.as_of)
                return scores.select(in_order(np.array(scores.places, np.intp)).tolist()), _count(matching), evidence

            return choose

        asked = self.understand(scope, space_id, request)
        draft = self._settling.read_consistent(scope, space_id, request, choosing, asked)
        return to_recall(draft, to_hits(draft), mode, began)

    def list_by_importance(self, scope: Scope, space_id: str, filters: Filters, limit: int) -> dict[int, Atom]:
        """What passes the filters whatever is asked, by its position: the most important first, then the newest."""

        def choose(index: SpaceIndex, passing: Mask) -> Choice:
            places = passing.nonzero()[0]
            order = np.lexsort(
                (
                    index.ids.values[places],
                    -index.valid_from.values[places],
                    -index.importance.values[places].astype(np.int16),
                )
            )
            return _unasked(index, filters, places[order[:limit]], len(places))

        draft = self._settling.read_consistent(
            scope, space_id, RecallRequest(filters), lambda _: choose, _nothing(filters)
        )
        return {place: atom for place, atom in zip(draft.scores.places, draft.atoms, strict=True) if atom is not None}

    def list_newest(self, scope: Scope, space_id: str, filters: Filters, limit: int) -> Recall:
        """What passes the filters, the one that was recorded last first."""
        began = time.perf_counter()

        def choose(index: SpaceIndex, passing: Mask) -> Choice:
            places = passing.nonzero()[0]
            order = np.lexsort((places, index.created_at.values[places]))[::-1][:limit]
            return _unasked(index, filters, places[order], len(places))

        draft = self._settling.read_consistent(
            scope, space_id, RecallRequest(filters), lambda _: choose, _nothing(filters)
        )
        return to_recall(draft, to_hits(draft), "TIMELINE", began)

    def explain_absence(self, scope: Scope, atom: Atom, request: RecallRequest, limit: int) -> WhyNot:
        """What keeps an atom from being found, or at which place among the hits it is."""
        space_id = atom.memory_space_id
        with self.space(scope, space_id) as index:
            read_at = index.revision
        position = self._database.read(scope, atoms.find_position, atom.id)
        asked = self.understand(scope, space_id, request, fresh=self._reranking is not None)
        opinions = self._read_again(scope, space_id, asked, request)
        found: list[tuple[list[str], int | None, Explanation]] = []

        def choosing(asked: Query) -> Chooser:
            filters = request.filters_at(asked.about)

            def choose(index: SpaceIndex, passed: Mask) -> Choice:
                if not is_same_epoch(read_at, index.revision):
                    # It was erased meanwhile, and what has been brought in since may have its place.
                    raise NotFound("atom", atom.id)
                evidence = measure_matches(index, asked, opinions.select_for(index))
                matching = passed if evidence.matches is None else passed & evidence.matches
                order = select_best(index, asked, evidence, matching, index.atoms, filters.as_of).places
                own = score_atoms(index, asked, evidence, np.array([position]), filters.as_of)
                rank = order.index(position) + 1 if position in order else None
                described = explain_score(own, evidence, passed, 0)
                found.append((list_reasons(index, filters, atom, position), rank, described))
                return own.select(()), len(order), evidence

            return choose

        self._settling.read_consistent(scope, space_id, request, choosing, asked)
        reasons, rank, described = found[-1]
        if rank is None and not reasons:
            reasons.append("it has no word of the query, and there is no vector to compare")
        if rank is not None and rank > limit:
            reasons.append(f"it is at place {rank}, and the limit is {limit}")
        is_found = rank is not None and rank <= limit
        return WhyNot(atom_id=atom.id, found=is_found, rank=rank, reasons=reasons, explanation=described)

    def understand(
        self, scope: Scope, space_id: str, request: RecallRequest, before: Query | None = None, *, fresh: bool = False
    ) -> Query:
        """A question as it is understood by what is in memory of a space; one asked before is not embedded again.

        Who goes by it before another look asks for a fresh one.
        """
        filters, query, embedding = request.filters, request.query, self._embedding
        if query is None and request.entity is None:
            return _nothing(filters)
        with self._settling.open_index(scope, space_id, fresh=fresh) as index:
            state = index.describe_for(query or "", filters.known_at)
        if (
            embedding is not None
            and query is not None
            and state.filled
            and (state.model != embedding.stamp or state.lacks_vectors)
        ):
            # It has another embedder's vectors, or not all: they are made in the background.
            changes = state.model is not None and state.model != embedding.stamp
            work = EmbeddingRequest(reindex_kind(embedding.model), {"spaceId": space_id}, embedding.stamp, changes)
            self._embedding_requests.make(scope, work, state.revision, filters.now)
        mentions = _NO_MENTIONS
        if state.named or request.entity is not None:
            mentions = self._database.read(scope, read_mentions, space_id, state.named, request.entity)
        return self._query(state, request, mentions, before, embed=True)

    def understand_at_once(self, state: SpaceState, request: RecallRequest, mentions: Mentions, before: Query) -> Query:
        """The same at once: with the vector that there is already, if there is one."""
        return self._query(state, request, mentions, before, embed=False)

    def _query(
        self, state: SpaceState, request: RecallRequest, mentions: Mentions, before: Query | None, *, embed: bool
    ) -> Query:
        query, filters = request.query or "", request.filters
        question = understand_question(query, state.speakers, filters.as_of, by_words=self._embedding is None)
        embedding, vector, usual, by_meaning = self._embedding, None, None, False
        if embedding is not None:
            usual = embedding.usual
            by_meaning = state.filled and bool(query.strip())
            if by_meaning and state.model == embedding.stamp:
                if before is not None and (before.question.to_embed == question.to_embed or not embed):
                    vector = before.vector
                if vector is None and embed:
                    vector = embedding.query(question.to_embed)
        return Query(
            question,
            vector,
            state.model,
            usual,
            by_meaning,
            self._overlap_only,
            mentions.named,
            filters.known_at,
            state.revision,
            mentions.about,
            filters.valid_at,
        )


_NO_MENTIONS = Mentions({}, None)


def _in_context(text: str, around: Sequence[str]) -> str:
    """A text after the end of what was said before it, without which an answer often cannot be to_recall for one."""
    before = " ".join(around[0].split()[-WORDS_BEFORE:]) if around else ""
    return f"{before} {text}" if before else text


def _count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))


def _unasked(index: SpaceIndex, filters: Filters, places: NDArray[np.intp], candidates: int) -> Choice:
    """Atoms that were chosen by something else than a question."""
    evidence = match_everything(index)
    return score_atoms(index, _nothing(filters), evidence, places, filters.as_of), candidates, evidence


def _nothing(filters: Filters) -> Query:
    """What is asked where there is no query."""
    return Query(Question("", (), None, ()), None, None, None, False, False, {}, filters.known_at)
