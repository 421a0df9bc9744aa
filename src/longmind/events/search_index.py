"""Finds events by what they say, with the index and the embedder that find atoms."""

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
from longmind.recall.ranking.events import EventQuery, rank_events, select_newest
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.erasure_fence import fenced
from longmind.store.tables import events as store
from longmind.store.tables import ledger
from longmind.store.tables.events import Window

_AT_ONCE = 64
_PATIENCE_SECONDS = 2.0
"""How long a search makes vectors that are missing; the rest is left to a job."""
_SETTLING_SECONDS = 0.2
_MOST_EMBEDDED = 8_000
"""Characters of a text that an embedder is given."""
_log = logging.getLogger("longmind.events")


class EventRetriever:
    """One for all timelines of an engine. Threads may share it."""

    def __init__(self, database: Database, indexes: IndexCache, embedding: CheckedEmbedder | None) -> None:
        self._database = database
        self._indexes = indexes
        self._embedding = embedding
        self._requests = EmbeddingRequests(database)

    def find(
        self,
        scope: Scope,
        window: Window,
        kinds: Sequence[str] | None,
        query: str,
        mode: SearchMode,
        limit: int,
        now: Micros,
    ) -> list[tuple[Event, float]]:
        """The events that the query is about, best first, each with its score; structural ones newest first."""
        asked = None if mode == "structural" else self._ask(query, mode, now)
        model = None
        if asked is not None and asked.vector is not None:
            model = self._fill(scope, window.timeline_id, now)
        with self._current(scope, window.timeline_id, fresh=model is None) as index:
            passed = index.mask_events(window, kinds)
            if asked is None:
                ranked = select_newest(index, passed, limit)
            else:
                if model is None:
                    asked = asked._replace(vector=None)
                elif index.model != model:
                    # Other threads have pushed it out of the cache meanwhile.
                    self._learn(index, scope, window.timeline_id, model)
                ranked = rank_events(index, passed, asked, limit, hybrid=mode == "hybrid")
            positions = index.position.values[ranked.places].tolist()
        found = self._database.read(scope, store.at_positions, scope, window.timeline_id, positions)
        scores = zip(positions, ranked.scores.tolist(), strict=True)
        return [(found[position], score) for position, score in scores if position in found]

    def embed(self, scope: Scope, timeline_id: str) -> int:
        """Give every event of a timeline its vector; gives how many were made."""
        return 0 if self._embedding is None else self._embed(self._embedding, scope, timeline_id, None)[0]

    def _ask(self, query: str, mode: SearchMode, now: Micros) -> EventQuery:
        terms = understand_question(query, (), now, by_words=self._embedding is None or mode == "lexical").terms
        # Of signs alone an embedder makes something too, but it has no meaning.
        if self._embedding is None or mode == "lexical" or not words_of(query):
            return EventQuery(terms)
        try:
            return EventQuery(terms, self._embedding.query(query), self._embedding.usual)
        except EmbedderFailed as error:
            _log.warning("events are searched by their words alone: %s", error)
            return EventQuery(terms)

    def _current(self, scope: Scope, timeline_id: str, *, fresh: bool = True) -> AbstractContextManager[TimelineIndex]:
        def look(index: TimelineIndex) -> bool:
            last, history = self._database.read(None, ledger.last_position), index.history
            # What is there now is complete once every transaction has ended that is writing now.
            sure = last == index.settled or self._database.wait_for_writers(_SETTLING_SECONDS)
            changed = self._database.read(scope, refresh, timeline_id, index, last)
            # Of another history it is not known what was settled there.
            if sure and index.history == history:
                index.settle(last)
            return changed

        return self._indexes.current(scope, timeline_id, TimelineIndex, look, fresh=fresh)

    def _fill(self, scope: Scope, timeline_id: str, now: Micros) -> str | None:
        """Have vectors for as many events as can be waited for, and tell whose they are."""
        stamp = None
        if self._embedding is None:
            return stamp
        try:
            stamp = self._embedding.stamp
            _, left_in = self._embed(self._embedding, scope, timeline_id, time.monotonic() + _PATIENCE_SECONDS)
            if left_in is not None:
                request = EmbeddingRequest(embed_kind(self._embedding.model), {"timelineId": timeline_id}, stamp)
                # A timeline may be named after the user, so that no request is left of who was erased meanwhile.
                with fenced(self._database, scope, left_in):
                    self._requests.make(scope, request, left_in, now)
        except (EmbedderFailed, StoreError, UserErased) as error:
            _log.warning("some events have no vector yet and are found by their words alone: %s", error)
        return stamp

    def _embed(
        self, embedding: CheckedEmbedder, scope: Scope, timeline_id: str, deadline: float | None
    ) -> tuple[int, int | None]:
        """Make vectors, of the newest events first; gives how many, and in which epoch events were left without."""
        made, stamp = 0, embedding.stamp
        while True:
            epoch, lacking = self._lacking(scope, timeline_id, stamp)
            if not len(lacking):
                break
            if deadline is not None and made and time.monotonic() > deadline:
                return made, epoch
            vectors = self._vectors_of(embedding, scope, timeline_id, lacking[-_AT_ONCE:])
            if vectors is not None:
                self._keep(scope, timeline_id, stamp, vectors, epoch)
                made += len(vectors.positions)
        if made:
            self._database.write(scope, event_vectors.drop_others, timeline_id, stamp)
        return made, None

    def _lacking(self, scope: Scope, timeline_id: str, stamp: str) -> tuple[int, NDArray[np.int64]]:
        """The events that have no vector of this embedder, also none that another process has made."""
        with self._current(scope, timeline_id) as index:
            if index.model == stamp and not len(index.find_without_vectors()):
                return index.epoch, index.find_without_vectors()
            self._learn(index, scope, timeline_id, stamp)
            epoch, lacking = index.epoch, index.find_without_vectors()
        self._indexes.weigh(scope, timeline_id)
        return epoch, lacking

    def _learn(self, index: TimelineIndex, scope: Scope, timeline_id: str, stamp: str) -> None:
        """Take in the vectors of this embedder that are kept, and let go of those of another one."""
        if index.model != stamp:
            index.drop_vectors()
            index.model = stamp
        for each in self._database.read(scope, event_vectors.load, timeline_id, stamp, index.find_without_vectors()):
            index.add_event_vectors(each)

    def _vectors_of(
        self, embedding: CheckedEmbedder, scope: Scope, timeline_id: str, positions: NDArray[np.int64]
    ) -> EventVectors | None:
        found = self._database.read(scope, store.at_positions, scope, timeline_id, positions.tolist())
        there = np.array([position for position in positions.tolist() if position in found], np.int64)
        if len(there) < len(positions):
            # Erased meanwhile.
            with self._indexes.if_kept(scope, timeline_id) as index:
                if index is not None:
                    index.drop(np.setdiff1d(positions, there))
        if not len(there):
            return None
        texts = [(found[position].text or "")[:_MOST_EMBEDDED] for position in there.tolist()]
        return EventVectors(there, VectorsSegment.from_vectors(embedding.texts(texts)))

    def _keep(self, scope: Scope, timeline_id: str, stamp: str, made: EventVectors, epoch: int) -> None:
        try:
            self._database.write(scope, event_vectors.put, timeline_id, stamp, made, epoch)
        finally:
            # Also where they cannot be written, as in a file that is open for reading alone.
            with self._indexes.if_kept(scope, timeline_id) as index:
                if index is not None and (index.model, index.epoch) == (stamp, epoch):
                    index.add_event_vectors(made)

    def forget(self, scope: Scope) -> None:
        """Keep nothing more in memory of a user, who was erased."""
        self._indexes.forget(scope)
