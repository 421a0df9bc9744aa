"""Passages: what was said in the conversations of a user, found by words at once and by meaning soon after.

There is one index for all messages of a user. Which of them belong to a space is decided by the bindings at the time of
a recall. Invariants:

- An index is brought up to the last commit before it is lent, so that a message is found by its words once its append
  has returned. One look at the state of the database shows whether anything has changed: see `PassageState`.
- On PostgreSQL a message can appear after one with a higher position. Positions count as settled once every transaction
  that was writing then has ended; those above are read again with each look.
- Words and vectors are stored by a job, in segments. Vectors belong to one embedder, and those of two are never mixed.
- A failing embedder or a full store fails the job, and never a recall.
- Embedding runs outside the lock of the index.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NamedTuple

from longmind.clock import Micros
from longmind.errors import EmbedderFailed, StoreError
from longmind.models.content import extract_stored_text
from longmind.models.message import Role
from longmind.providers.embedder import CheckedEmbedder
from longmind.recall.embedding_jobs import passages_kind
from longmind.recall.index import passage_storage
from longmind.recall.index.cache import IndexCache
from longmind.recall.index.passage_entries import PassageEntries
from longmind.recall.index.passage_index import PassageIndex, PieceSpan
from longmind.recall.index.passage_refresh import refresh
from longmind.recall.index.passage_storage import NO_MODEL
from longmind.recall.index.segments import VectorsSegment
from longmind.scope import ReaderScope, Scope
from longmind.store.database import Database, Row
from longmind.store.tables import bindings, erasures, jobs, passages
from longmind.store.tables.passages import PassageState
from longmind.store.triggers import passage_requests

PASSAGES = "passages"
"""The name of the index in the cache: a user has one."""
_BATCH_SIZE = 64
"""Messages that are embedded at a time."""
_WORDS_AT_ONCE = 4096
"""Messages of which the words alone are stored at a time."""
_WRITERS_SECONDS = 0.2
"""Seconds that a job waits for open transactions, to know that the index is complete up to a position. A recall does
not wait, since every long transaction of anybody would hold it up."""
_ASKED_AGAIN = 60 * 1_000_000
"""The minimum delay before the queue is looked at again for a user whose messages lack vectors."""
_WORTH_STORING = 1000
"""Messages without a stored segment from which on it is worth storing their words alone."""
_REMEMBERED = 10_000
_log = logging.getLogger("longmind.recall")


class Quote(NamedTuple):
    """A piece of a message, word for word."""

    position: int
    begins: int
    ends: int
    message_id: str
    conversation_id: str
    sequence: int
    role: Role
    said_at: Micros
    text: str


class PassageIndexes:
    """The indexes of the messages of all users of an engine. Threads may share it."""

    def __init__(
        self, database: Database, cache: IndexCache, embedding: CheckedEmbedder | None, job_attempts: int
    ) -> None:
        self._database = database
        self._cache = cache
        self._embedding = embedding
        self._job_attempts = job_attempts
        self._kind = passages_kind(None if embedding is None else embedding.model)
        self._settled: tuple[object, int] = (None, 0)
        """A position up to which no message of anybody can still appear, in a history of the database."""
        self._settled_lock = threading.Lock()
        self._asked: dict[str, tuple[int, Micros]] = {}
        """The bindings that a job was asked for under, and when it may be asked for again, by user."""

    # --- finding ---

    def open(
        self, scope: Scope, *, seen: PassageState | None = None, fresh: bool = True
    ) -> AbstractContextManager[PassageIndex]:
        """Lend the index of a user's messages, with everything that was committed before this call.

        seen: a state that was read since this call's request began; if it is that of the index, nothing is read.
        fresh: pass False to reuse an index that was refreshed a moment ago, without reading the database.
        """
        return self._open(scope, seen, fresh, 0.0)

    def _open(
        self, scope: Scope, seen: PassageState | None, fresh: bool, patience: float
    ) -> AbstractContextManager[PassageIndex]:
        def refresh_index(index: PassageIndex) -> bool:
            if seen is not None and index.is_current(seen):
                return False
            state = self._database.read(scope, passages.read_state) if seen is None else seen
            if index.is_current(state):
                return False
            settled = self._find_settled(state, patience)
            changed = self._database.read(scope, refresh, scope.user_id, index, state, self._find_stamp())
            # After a failover the history differs, and nothing is known about open transactions there.
            if index.seen == state:
                index.settle(min(settled, state.newest))
            return changed

        return self._cache.current(scope, PASSAGES, PassageIndex, refresh_index, fresh=fresh)

    def _find_settled(self, state: PassageState, patience: float) -> int:
        """Return a position up to which all messages can be read."""
        history, settled = self._settled
        if history == state.history and settled >= state.newest:
            return settled
        if self._database.wait_for_writers(patience):
            with self._settled_lock:
                # Another thread may have found a later position in the time that this one waited.
                history, settled = self._settled
                self._settled = state.history, max(settled if history == state.history else 0, state.newest)
        history, settled = self._settled
        return settled if history == state.history else 0

    def find_namespaces(self, scope: Scope, index: PassageIndex, space_id: str) -> frozenset[str]:
        """Return the namespaces whose messages a space has, `*` for all; for `PassageIndex.mask_namespaces`.

        index: the index of the owner of the space, which the caller has open.
        """
        known = index.namespaces_of_space.get(space_id)
        if known is None:
            found = self._database.read(scope, bindings.list_covered_for, scope, space_id, index.bindings)
            known = index.namespaces_of_space[space_id] = frozenset(found)
        return known

    def read_quotes(self, scope: Scope, spans: Sequence[PieceSpan]) -> list[Quote]:
        """Return pieces word for word, in the given order; one that may not be quoted by now is left out."""
        found = self._database.read(scope, passages.read_quotes, {span.position for span in spans}) if spans else {}
        texts = {position: extract_stored_text(row[5]) for position, row in found.items()}
        return [_to_quote(span, found[span.position], texts[span.position]) for span in spans if span.position in found]

    def request_vectors(self, scope: Scope, index: PassageIndex, now: Micros) -> None:
        """Have a job make the vectors that an index lacks, unless it was asked for a short while ago.

        Each append asks for its own. This is for messages from before there were passages, and for another embedder.
        """
        if not self._lacks_entries(index) or isinstance(scope, ReaderScope) or index.seen is None:
            return
        # A new binding may cover messages that need vectors now.
        bindings_seen, until = self._asked.get(scope.id, (-1, 0))
        if index.seen.bindings == bindings_seen and now < until:
            return
        if len(self._asked) >= _REMEMBERED:
            self._asked.clear()
        self._asked[scope.id] = index.seen.bindings, now + _ASKED_AGAIN
        try:
            job = self._database.read(scope, jobs.find_by_key, self._kind, passage_requests.UNIQUE_KEY)
            if job is not None and job.status in ("queued", "running", "failed"):
                # The usual case, which needs no write and so waits for no writer.
                return
            self._database.write(scope, passage_requests.request, scope, self._kind, now, self._job_attempts)
        except StoreError as error:
            # Recall works without it, and a later one tries again.
            _log.warning("some messages have no vectors yet and are found by words alone: %s", error)

    def _lacks_entries(self, index: PassageIndex) -> bool:
        if self._embedding is not None:
            return index.lacks_vectors
        return index.unstored >= _WORTH_STORING

    def _find_stamp(self) -> str | None:
        try:
            return None if self._embedding is None else self._embedding.stamp
        except EmbedderFailed as error:
            _log.warning("messages are found by words alone: %s", error)
            return None

    # --- the job ---

    def embed(self, scope: Scope) -> tuple[int, bool]:
        """Store the entries of all messages that lack them; return how many pieces, and whether none can be missing.

        The newest come first. Raises `EmbedderFailed` if the embedder fails; what was made before is kept.
        """
        made, stamp, before = 0, NO_MODEL if self._embedding is None else self._embedding.stamp, None
        # An append that found this job waiting may not be committed yet.
        is_settled = self._database.wait_for_writers(_WRITERS_SECONDS)
        while True:
            epoch = self._database.read(scope, erasures.read_epoch)
            with self._open(scope, None, True, _WRITERS_SECONDS) as index:
                chosen = self._choose(index)
                is_complete = is_settled and index.seen is not None and index.settled >= index.seen.newest
            # Pieces of another size, of an earlier version, keep their words until they are loaded again.
            if not chosen or chosen == before:
                break
            made += self._store(scope, stamp, self._make_entries(scope, chosen), epoch)
            before = chosen
        if made and self._embedding is not None:
            # Only now: until this model has all messages, the words of the others spare reading texts again.
            self._database.write(scope, passage_storage.drop_others, stamp)
        return made, is_complete

    def _choose(self, index: PassageIndex) -> list[int]:
        """Return the positions of messages to store next."""
        positions, silent = index.find_unstored(embedded=self._embedding is not None)
        most = _WORDS_AT_ONCE if self._embedding is None else _BATCH_SIZE
        if not len(positions) and len(silent) < _WORTH_STORING:
            return []
        return sorted({*positions[-most:].tolist(), *sorted(silent)[-_WORDS_AT_ONCE:]})

    def _make_entries(self, scope: Scope, positions: Sequence[int]) -> PassageEntries:
        contents = dict(self._database.read(scope, passages.read_contents, positions))
        # A message that is gone is erased, and nothing is stored after that.
        texts = [extract_stored_text(contents[position]) if position in contents else "" for position in positions]
        entries = PassageEntries.from_texts(positions, texts)
        if self._embedding is None or not entries.pieces:
            return entries
        return replace(entries, vectors=VectorsSegment.from_vectors(self._embedding.texts(entries.cut(texts))))

    def _store(self, scope: Scope, stamp: str, entries: PassageEntries, epoch: int) -> int:
        self._database.write(scope, passage_storage.put, stamp, entries, epoch)
        with self._cache.lend_cached(scope, PASSAGES) as index:
            if index is not None and (self._embedding is None or index.model == stamp):
                index.add_entries(entries)
        return entries.pieces

    def forget(self, scope: Scope) -> None:
        """Drop everything of an erased user from memory."""
        self._cache.forget(scope)


def _to_quote(span: PieceSpan, row: Row, text: str) -> Quote:
    message_id, conversation_id, sequence, role, said_at, _ = row
    quoted = text[span.begins : span.ends]
    return Quote(*span, message_id, conversation_id, sequence, role, said_at, quoted)
