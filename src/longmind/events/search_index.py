"""Retrieval of events by what they say, over an in-memory index of one timeline.

The index and the embedder are the kinds that find atoms. Vectors are made on demand: a search makes those that are
missing for a short time and leaves the rest to a job. Invariants:

- An index is refreshed to the last commit before each search, so a search finds every event recorded before it.
- Vectors belong to one embedder (its stamp) and to one epoch of the user. An erasure raises the epoch, and a vector
  that was made of events of an earlier epoch is neither stored nor kept in memory.
- A failing embedder or a full store never fails a search: it ranks by words, and says so in the log.
- Embedding runs outside the lock of the index, which is held to refresh, change and rank it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from longmind.clock import Micros
from longmind.errors import EmbedderFailed, StoreError, UserErased
from longmind.language.words import words_of
from longmind.models.event import Event
from longmind.models.event_search import SearchMode
from longmind.providers.embedder import CheckedEmbedder
from longmind.recall import event_vectors
from longmind.recall.embedding_jobs import embed_kind
from longmind.recall.embedding_requests import EmbeddingRequest, EmbeddingRequests
from longmind.recall.event_vectors import EventVectors
from longmind.recall.index.cache import IndexCache
from longmind.recall.index.segments import VectorsSegment
from longmind.recall.index.timeline_index import TimelineIndex, refresh
from longmind.recall.question import understand_question
from longmind.recall.ranking.events import EventQuery, RankOrder, rank_events, select_newest
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.erasure_fence import fence_erasures
from longmind.store.tables import events as store
from longmind.store.tables import ledger
from longmind.store.tables.events import EventWindow

_BATCH_SIZE = 64
"""Events that are embedded at a time."""
_PATIENCE_SECONDS = 2.0
"""Seconds for which a search makes missing vectors; a job makes the rest."""
_WRITERS_SECONDS = 0.2
"""Seconds that a refresh waits for open transactions, to know that the index is complete up to a position."""
_EMBEDDED_CHARACTERS = 8_000
"""Characters of a text that an embedder is given."""
_ORDERS: dict[SearchMode, RankOrder] = {
    "auto": "relevance",
    "semantic": "semantic",
    "lexical": "lexical",
    "hybrid": "hybrid",
}
_log = logging.getLogger("longmind.events")


class EventRetriever:
    """Finds events on the timelines of all users of an engine. Threads may share it."""

    def __init__(self, database: Database, indexes: IndexCache, embedding: CheckedEmbedder | None) -> None:
        self._database = database
        self._indexes = indexes
        self._embedding = embedding
        self._requests = EmbeddingRequests(database)

    def find(
        self,
        scope: Scope,
        window: EventWindow,
        kinds: Sequence[str] | None,
        query: str,
        mode: SearchMode,
        limit: int,
        now: Micros,
        min_score: float = 0.0,
    ) -> list[tuple[Event, float]]:
        """Return the events that the query is about with their scores, best first; structural ones newest first.

        The mode `auto` ranks by the scores. min_score: the least score; without a query no event has one.

        An event that is erased between ranking and reading is left out, so fewer than `limit` may come back.
        """
        event_query = None if mode == "structural" else self._build_query(query, mode, now)
        model = None
        if event_query is not None and event_query.vector is not None:
            model = self._fill_vectors(scope, window.timeline_id, now)
        with self._current(scope, window.timeline_id, fresh=model is None) as index:
            passed = index.mask_events(window, kinds)
            if event_query is None:
                ranked = select_newest(index, passed, limit)
            else:
                if model is None:
                    event_query = event_query._replace(vector=None)
                elif index.model != model:
                    # Other threads pushed the index out of the cache in the meantime.
                    self._load_vectors(index, scope, window.timeline_id, model)
                order = _ORDERS[mode]
                ranked = rank_events(index, passed, event_query, limit, order, min_score)
            positions = index.position.values[ranked.places].tolist()
        found = self._database.read(scope, store.read_at, scope, window.timeline_id, positions)
        scores = zip(positions, ranked.scores.tolist(), strict=True)
        return [(found[position], score) for position, score in scores if position in found]

    def embed(self, scope: Scope, timeline_id: str) -> int:
        """Make the missing vectors of a timeline, and return how many were made."""
        return 0 if self._embedding is None else self._embed(self._embedding, scope, timeline_id, None)[0]

    def forget(self, scope: Scope) -> None:
        """Drop everything of an erased user from memory."""
        self._indexes.forget(scope)

    def _build_query(self, query: str, mode: SearchMode, now: Micros) -> EventQuery:
        question = understand_question(query, (), now, by_words=self._embedding is None or mode == "lexical")
        # An embedder returns a vector even for a query of signs alone, but it has no meaning.
        if self._embedding is None or mode == "lexical" or not words_of(query):
            return EventQuery(question)
        try:
            return EventQuery(question, self._embedding.query(query), self._embedding.usual)
        except EmbedderFailed as error:
            _log.warning("the search for events uses words alone: %s", error)
            return EventQuery(question)

    def _current(self, scope: Scope, timeline_id: str, *, fresh: bool = True) -> AbstractContextManager[TimelineIndex]:
        """Lend the index of a timeline, refreshed to the last commit if `fresh`."""

        def refresh_index(index: TimelineIndex) -> bool:
            last, history = self._database.read(None, ledger.find_last_position), index.history
            # Once every transaction that is open now has ended, no row up to `last` can still appear.
            is_complete = last == index.settled or self._database.wait_for_writers(_WRITERS_SECONDS)
            changed = self._database.read(scope, refresh, timeline_id, index, last)
            # After a failover the history differs, and nothing is known about open transactions there.
            if is_complete and index.history == history:
                index.settle(last)
            return changed

        return self._indexes.current(scope, timeline_id, TimelineIndex, refresh_index, fresh=fresh)

    def _fill_vectors(self, scope: Scope, timeline_id: str, now: Micros) -> str | None:
        """Make missing vectors for a short time, and return the stamp of their embedder; None if there is none."""
        stamp = None
        if self._embedding is None:
            return stamp
        try:
            stamp = self._embedding.stamp
            _, epoch_left = self._embed(self._embedding, scope, timeline_id, time.monotonic() + _PATIENCE_SECONDS)
            if epoch_left is not None:
                request = EmbeddingRequest(embed_kind(self._embedding.model), {"timelineId": timeline_id}, stamp)
                # Fenced: the request holds a timeline id, which may name an erased user.
                with fence_erasures(self._database, scope, epoch_left):
                    self._requests.make(scope, request, epoch_left, now)
        except (EmbedderFailed, StoreError, UserErased) as error:
            _log.warning("some events have no vectors yet and are found by words alone: %s", error)
        return stamp

    def _embed(
        self, embedding: CheckedEmbedder, scope: Scope, timeline_id: str, deadline: float | None
    ) -> tuple[int, int | None]:
        """Make vectors, of the newest events first, until all are made or the deadline has passed.

        Returns how many were made, and the epoch in which events were left without one, or None. At least one batch is
        made whatever the deadline, so that repeated searches always get further.
        """
        count, stamp = 0, embedding.stamp
        while True:
            epoch, missing = self._find_missing(scope, timeline_id, stamp)
            if not len(missing):
                break
            if deadline is not None and count and time.monotonic() > deadline:
                return count, epoch
            vectors = self._make_vectors(embedding, scope, timeline_id, missing[-_BATCH_SIZE:])
            if vectors is not None:
                self._save_vectors(scope, timeline_id, stamp, vectors, epoch)
                count += len(vectors.positions)
        if count:
            self._database.write(scope, event_vectors.drop_others, timeline_id, stamp)
        return count, None

    def _find_missing(self, scope: Scope, timeline_id: str, stamp: str) -> tuple[int, NDArray[np.int64]]:
        """Return the epoch, and the positions of events without a vector, stored ones by other processes included."""
        with self._current(scope, timeline_id) as index:
            if index.model == stamp and not len(index.find_without_vectors()):
                return index.epoch, index.find_without_vectors()
            self._load_vectors(index, scope, timeline_id, stamp)
            epoch, missing = index.epoch, index.find_without_vectors()
        self._indexes.weigh(scope, timeline_id)
        return epoch, missing

    def _load_vectors(self, index: TimelineIndex, scope: Scope, timeline_id: str, stamp: str) -> None:
        """Add the stored vectors of an embedder to an index, and drop those of another one."""
        if index.model != stamp:
            index.drop_vectors()
            index.model = stamp
        for each in self._database.read(scope, event_vectors.load, timeline_id, stamp, index.find_without_vectors()):
            index.add_event_vectors(each)

    def _make_vectors(
        self, embedding: CheckedEmbedder, scope: Scope, timeline_id: str, positions: NDArray[np.int64]
    ) -> EventVectors | None:
        """Embed the events at some positions; None if all of them are gone."""
        found = self._database.read(scope, store.read_at, scope, timeline_id, positions.tolist())
        present = np.array([position for position in positions.tolist() if position in found], np.int64)
        if len(present) < len(positions):
            # The others were erased after the index was refreshed.
            with self._indexes.lend_cached(scope, timeline_id) as index:
                if index is not None:
                    index.drop(np.setdiff1d(positions, present))
        if not len(present):
            return None
        texts = [(found[position].text or "")[:_EMBEDDED_CHARACTERS] for position in present.tolist()]
        return EventVectors(present, VectorsSegment.from_vectors(embedding.texts(texts)))

    def _save_vectors(self, scope: Scope, timeline_id: str, stamp: str, vectors: EventVectors, epoch: int) -> None:
        try:
            self._database.write(scope, event_vectors.put, timeline_id, stamp, vectors, epoch)
        finally:
            # Kept in memory also where they cannot be stored, as in a file that is open for reading alone.
            with self._indexes.lend_cached(scope, timeline_id) as index:
                if index is not None and (index.model, index.epoch) == (stamp, epoch):
                    index.add_event_vectors(vectors)
