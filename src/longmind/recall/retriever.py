"""The retriever of atoms: indexes what is written, and finds it again.

A recall takes these steps: `QueryBuilder` understands the request, `RerankScores` come from a reranker if there is one,
a chooser picks the atoms, `SnapshotReader` makes sure that all of it is true of one instant, and `results` turns the
selection into an answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from longmind.models.atom import Atom
from longmind.models.recall import Hit, Recall, RecallMode, WhyNot
from longmind.providers.embedder import CheckedEmbedder, Vectors
from longmind.providers.reranker import CheckedReranker
from longmind.recall.hit_choosers import (
    NO_RERANKING,
    ImportanceChooser,
    RankFinder,
    RecordChooser,
    RerankScores,
    TimeChooser,
    TopicChooser,
)
from longmind.recall.index.cache import IndexCache
from longmind.recall.index.index_batch import IndexBatch
from longmind.recall.index.segments import IndexedText, VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.index.storage import IndexEntries
from longmind.recall.passage_finder import NOTHING_FOUND, AskedOfAtoms, PassageFinder
from longmind.recall.passage_indexes import PassageIndexes
from longmind.recall.query_builder import QueryBuilder, build_empty_query
from longmind.recall.ranking.atoms import AtomQuery, measure_matches, select_best
from longmind.recall.ranking.filter_masks import mask_allowed
from longmind.recall.repetition import SaidOnce, say_once
from longmind.recall.request import Filters, RecallRequest, TopicOptions
from longmind.recall.reranked_results import rerank_found
from longmind.recall.results import Chooser, Selection, to_hits, to_recall
from longmind.recall.search_plan import cut_search, plan_search
from longmind.recall.snapshot import SnapshotReader
from longmind.recall.space_indexes import SpaceIndexes
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import atoms
from longmind.store.tables.atom_rows import PreparedAtom

RERANKED = 20
"""The number of best hits that a reranker reads."""
WORDS_BEFORE = 30
"""The number of words of the preceding text that a reranker reads with a hit."""


class AtomRetriever:
    """Finds atoms by topic and by time, for all users of an engine. Threads may share it.

    No method may be called inside a transaction, since each reads the database and may call the embedder.
    """

    def __init__(
        self,
        database: Database,
        embedding: CheckedEmbedder | None,
        indexes: IndexCache,
        *,
        overlap_only: bool = False,
        reranking: CheckedReranker | None = None,
        passages: PassageIndexes | None = None,
        careful_reranking: CheckedReranker | None = None,
        notice: str | None = None,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._reranking = reranking
        self._space_indexes = SpaceIndexes(database, indexes)
        self._queries = QueryBuilder(database, self._space_indexes, embedding, overlap_only=overlap_only)
        self._snapshots = SnapshotReader(database, self._space_indexes, self._queries)
        self._careful_reranking = reranking or careful_reranking
        self._notice = notice
        self._passages = None if passages is None else PassageFinder(passages, embedding)
        self.indexes = indexes

    # --- indexing ---

    def index(self, checked: Sequence[PreparedAtom]) -> IndexEntries:
        """Return the index entries of atoms that are about to be added.

        It may call the embedder, so call it outside of a transaction.
        """
        return self.begin_indexing(checked).finish()

    def begin_indexing(self, checked: Sequence[PreparedAtom]) -> IndexBatch:
        """Embed atoms that are about to be added, and return the batch in which the rest of the indexing can be done.

        Where the database is far, the rest can be done while the server inserts the atoms. A local file has one writer
        that all others wait for, so there it is done before the transaction, and here.
        """
        embedded = self._embed([atom.text for atom in checked])
        batch = IndexBatch(checked, embedded, None if embedded is None else self._stamp)
        if not self._database.is_remote:
            batch.finish()
        return batch

    def begin_indexing_groups(self, groups: Sequence[Sequence[PreparedAtom]]) -> list[IndexBatch]:
        """Embed the atoms of several groups at once, and return a batch for each group."""
        embedded = self._embed([atom.text for group in groups for atom in group])
        batches, start = [], 0
        for group in groups:
            own = None if embedded is None else embedded[start : start + len(group)]
            batches.append(IndexBatch(group, own, None if own is None else self._stamp))
            start += len(group)
        return batches

    def index_texts(self, texts: Sequence[IndexedText]) -> IndexEntries:
        """Return the index entries of texts that are no atoms, such as candidates of an extraction."""
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

    # --- finding ---

    def understand_query(self, query: str, now: int) -> AtomQuery:
        """Return a query for texts that are indexed in memory alone, such as the lines of blocks."""
        return self._queries.build_for_texts(query, now)

    def space(self, scope: Scope, space_id: str) -> AbstractContextManager[SpaceIndex]:
        """Lend the index of a space, with everything that was committed before this call."""
        return self._space_indexes.open(scope, space_id)

    def find_by_topic(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        options: TopicOptions,
    ) -> Recall:
        """Return what is known about a topic, best first."""
        began, wanted = time.perf_counter(), plan_search(request.query or "", options)
        # The reranker reads the hits of the current index; the answer is chosen later, from a refreshed one.
        reads_now = self._reranking is not None and options.effort == "normal"
        query = self._queries.build(scope, space_id, request, fresh=reads_now)
        reranked = self._rerank(scope, space_id, query, request) if reads_now else NO_RERANKING
        chooser, explain = TopicChooser(wanted, request.filters.as_of, reranked), options.explain
        answer = None
        if not reads_now and self._space_indexes.is_quiet(scope, space_id):
            answer = self._snapshots.try_speculative(scope, space_id, request, query, chooser, explain=explain)
        if answer is None:
            selection = self._snapshots.read_consistent(scope, space_id, request, chooser, query, explain=explain)
            answer = selection, to_hits(selection)
        selection, hits = answer
        said = self._add_passages(scope, space_id, request, wanted, query, hits)
        if wanted is not options:
            said = cut_search(said, options, wanted)
        return to_recall(selection, said.hits, "BY_TOPIC", began, said.passages, self._notice)

    def _add_passages(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        options: TopicOptions,
        query: AtomQuery,
        hits: list[Hit],
    ) -> SaidOnce:
        """Return hits that were chosen a moment ago with the passages that add something to them."""
        found = NOTHING_FOUND
        if self._passages is not None and options.passages:
            # The look at the space has also read the state of the messages.
            index = self.indexes.peek(scope, space_id)
            seen = None if index is None else index.passages
            asked = AskedOfAtoms(query.question, query.vector)
            most = options.limit + len(hits)
            found = self._passages.find(scope, space_id, request, options, seen, asked, most)
        passages = found.passages
        if options.effort == "high" and self._careful_reranking is not None:
            hits, passages = rerank_found(request.query or "", hits, passages, found.around, self._careful_reranking)
        return say_once(hits, passages, options.limit) if passages else SaidOnce(hits, [])

    def _rerank(self, scope: Scope, space_id: str, query: AtomQuery, request: RecallRequest) -> RerankScores:
        """Return the scores of a reranker for the best hits. The index is not locked while the reranker reads them."""
        text = request.query
        if self._reranking is None or text is None or not text.strip():
            return NO_RERANKING
        filters = request.filters_at(query.about)
        with self._space_indexes.open(scope, space_id, filters.known_at, fresh=False) as index:
            revision = index.revision
            matches = measure_matches(index, query)
            matching = matches.restrict(mask_allowed(index, filters))
            places = select_best(index, query, matches, matching, RERANKED, filters.as_of).places
        texts = self._database.read(scope, atoms.read_texts_at, space_id, places) if places else {}
        scores = self._reranking.score(text, [_put_into_context(*texts[place]) for place in texts]) if texts else []
        return RerankScores(dict(zip(texts, scores, strict=True)), revision)

    def find_by_time(
        self,
        scope: Scope,
        space_id: str,
        mode: RecallMode,
        request: RecallRequest,
        limit: int,
        min_score: float = 0.0,
    ) -> Recall:
        """Return atoms in the order of time: newest first by entity, oldest first on a timeline.

        With a query they are the best hits of the topic, put into this order.
        """
        began = time.perf_counter()
        chooser = TimeChooser(limit, request.filters, mode != "TIMELINE", request.query is not None, min_score)
        query = self._queries.build(scope, space_id, request)
        selection = self._snapshots.read_consistent(scope, space_id, request, chooser, query)
        return to_recall(selection, to_hits(selection), mode, began)

    def list_by_importance(
        self,
        scope: Scope,
        space_id: str,
        filters: Filters,
        limit: int,
        *,
        speaker: str | None = None,
        entity: str | None = None,
    ) -> dict[int, Atom]:
        """Return the atoms that pass the filters by their positions, the most important first, then the newest.

        speaker: only what this speaker said. entity: only what mentions this entity, by its id.
        """
        chooser, request = ImportanceChooser(limit, filters, speaker), RecallRequest(filters, entity=entity)
        query = build_empty_query(filters) if entity is None else self._queries.build(scope, space_id, request)
        selection = self._snapshots.read_consistent(scope, space_id, request, chooser, query)
        positions = selection.scores.places
        return {place: atom for place, atom in zip(positions, selection.atoms, strict=True) if atom is not None}

    def list_newest(self, scope: Scope, space_id: str, filters: Filters, limit: int) -> Recall:
        """Return the atoms that pass the filters, the one that was recorded last first."""
        began = time.perf_counter()
        selection = self._list(scope, space_id, filters, RecordChooser(limit, filters))
        return to_recall(selection, to_hits(selection), "TIMELINE", began)

    def _list(self, scope: Scope, space_id: str, filters: Filters, chooser: Chooser) -> Selection:
        query = build_empty_query(filters)
        return self._snapshots.read_consistent(scope, space_id, RecallRequest(filters), chooser, query)

    def explain_absence(self, scope: Scope, atom: Atom, request: RecallRequest, limit: int) -> WhyNot:
        """Return why an atom is not among the hits of a request, or its rank among them.

        Raises `NotFound` if the data of the user is erased while it runs.
        """
        space_id = atom.memory_space_id
        with self.space(scope, space_id) as index:
            read_at = index.revision
        position = self._database.read(scope, atoms.find_position, atom.id)
        query = self._queries.build(scope, space_id, request, fresh=self._reranking is not None)
        reranked = self._rerank(scope, space_id, query, request)
        finder = RankFinder(atom, position, read_at, request.filters, reranked)
        self._snapshots.read_consistent(scope, space_id, request, finder, query)
        assert finder.found is not None  # a snapshot was read, which called it
        reasons, rank, explanation = finder.found
        if rank is None and not reasons:
            reasons.append("it has no word of the query, and there is no vector to compare")
        if rank is not None and rank > limit:
            reasons.append(f"its rank is {rank}, and the limit is {limit}")
        is_found = rank is not None and rank <= limit
        return WhyNot(atom_id=atom.id, found=is_found, rank=rank, reasons=reasons, explanation=explanation)


def _put_into_context(text: str, around: Sequence[str]) -> str:
    """Return a text after the end of the one before it, without which an answer often cannot be recognised."""
    before = " ".join(around[0].split()[-WORDS_BEFORE:]) if around else ""
    return f"{before} {text}" if before else text
