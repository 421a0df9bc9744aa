"""Answers that are true of one instant, from spaces that other transactions change at any time.

An answer needs three things that are read at different times: the index in memory, the atoms that were not cached, and
the vector and the mentions of the question. These are the invariants:

- An answer belongs to exactly one revision of the space, which was current at some instant after the request began.
- The query, the choice and the atoms of an answer agree about the revision. A query carries the revision that it was
  understood by, and is understood again when the index has moved on. An atom that has changed since the choice is not
  returned by the read, and the choice is then made again.
- The index is locked while it is refreshed from the database and while atoms are chosen, but never while the embedder
  or the reranker is waited for, nor while missing atoms are fetched. `_read_in_one_transaction` is the exception: after
  `_LOOKS` choices that were overtaken by writers, it does everything in one read transaction while it holds the index.
- No transaction contains a call of a provider. Inside of one, a question keeps the vector that it has.
- With `known_at`, atoms are not taken from the cache and end where they ended as far as was known then.

Where the database is far, a quiet space is answered while the database confirms the revision: `try_speculative`. The
answer is discarded if anything has changed, and no other is tried until a look has found the space unchanged.
"""

from __future__ import annotations

from longmind.models.atom import Atom
from longmind.models.recall import Hit
from longmind.recall.index.refresh import refresh, refresh_cuts, run_unless_changed
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.query_builder import QueryBuilder, read_mentions
from longmind.recall.ranking.atoms import ANY_REVISION, AtomQuery
from longmind.recall.request import RecallRequest
from longmind.recall.results import Chooser, Selection, select, to_hits
from longmind.recall.space_indexes import SpaceIndexes
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import atoms

_LOOKS = 5
"""The number of choices that writers may overtake before the answer is read in one transaction."""


class SnapshotReader:
    """Reads answers from spaces, each as of one instant. Threads may share it."""

    def __init__(self, database: Database, indexes: SpaceIndexes, queries: QueryBuilder) -> None:
        self._database = database
        self._indexes = indexes
        self._queries = queries

    def try_speculative(
        self, scope: Scope, space_id: str, request: RecallRequest, query: AtomQuery, chooser: Chooser, *, explain: bool
    ) -> tuple[Selection, list[Hit]] | None:
        """Answer from memory while the database says whether the space has changed; return None if it has.

        It saves a round trip. It returns None too if another thread has refreshed the index since the query was
        understood, or if an atom that has to be fetched has changed.
        """

        def answer(index: SpaceIndex) -> tuple[Selection | None, list[Hit] | None]:
            if query.revision != index.revision:
                # Another thread has refreshed the index, and the query may mean something else now.
                return None, None
            selection = select(index, query, request.filters_at(query.about), chooser, explain)
            return selection, None if selection.find_missing() else to_hits(selection)

        known_at = request.filters.known_at
        with self._indexes.open(scope, space_id, known_at, fresh=False) as index:
            answered = self._database.read(scope, run_unless_changed, space_id, index, answer)
            index.quiet = answered is not None
        selection, hits = answered or (None, None)
        if selection is not None and hits is None:
            self._fetch(scope, space_id, selection, known_at)
            hits = None if selection.find_missing() else to_hits(selection)
        return None if selection is None or hits is None else (selection, hits)

    def read_consistent(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        chooser: Chooser,
        query: AtomQuery,
        *,
        explain: bool = False,
    ) -> Selection:
        """Choose atoms of a space as of one instant after this call began, and return them complete."""
        known_at, fresh = request.filters.known_at, True
        for _ in range(_LOOKS):
            selection = None
            with self._indexes.open(scope, space_id, known_at, fresh=fresh) as index:
                if query.revision in (ANY_REVISION, index.revision):
                    selection = select(index, query, request.filters_at(query.about), chooser, explain)
            if selection is None:
                before, query = query, self._queries.build(scope, space_id, request, query)
                # A new vector and the mentions take time to get, so the index may have moved on once more.
                fresh = query.vector is not before.vector or bool(query.mentioned) or query.about is not None
                continue
            self._fetch(scope, space_id, selection, known_at)
            if not selection.find_missing():
                return selection
            # Some atoms have changed since they were chosen, so a refreshed index may choose others.
            fresh = True
        return self._read_in_one_transaction(scope, space_id, request, chooser, query, explain)

    def _read_in_one_transaction(
        self, scope: Scope, space_id: str, request: RecallRequest, chooser: Chooser, query: AtomQuery, explain: bool
    ) -> Selection:
        """Refresh, understand, choose and fetch in one read transaction.

        Writers go on; other recalls of the space in this process wait.
        """
        known_at = request.filters.known_at
        selections: list[Selection] = []

        def work(run: Transaction, index: SpaceIndex) -> bool:
            news = (refresh if known_at is None else refresh_cuts)(run, space_id, index)
            current = query
            # A query that depends on nothing in the space is current as it is.
            if query.revision != ANY_REVISION:
                state = index.describe_for(request.query or "", known_at)
                mentions = read_mentions(run, space_id, state.named, request.entity)
                current = self._queries.rebuild(state, request, mentions, query)
            selection = select(index, current, request.filters_at(current.about), chooser, explain)
            selection.add_atoms(_read_missing(run, space_id, selection, known_at))
            selections.append(selection)
            return news

        def read_all(index: SpaceIndex) -> bool:
            return self._database.read_snapshot(scope, work, index)

        with self._indexes.cache.current(scope, space_id, SpaceIndex, read_all):
            return selections[-1]

    def _fetch(self, scope: Scope, space_id: str, selection: Selection, known_at: int | None) -> None:
        """Fetch the missing atoms of a selection, as far as they are unchanged, and cache them."""
        if not selection.find_missing():
            return
        fetched = self._database.read(scope, _read_missing, space_id, selection, known_at)
        if known_at is None:
            with self._indexes.cache.lend_cached(scope, space_id) as index:
                if index is not None:
                    index.cache_atoms(fetched, selection.revision)
        selection.add_atoms(fetched)


def _read_missing(run: Transaction, space_id: str, selection: Selection, known_at: int | None) -> dict[int, Atom]:
    """Read the missing atoms of a selection, without those that have changed since its revision."""
    if known_at is None:
        return atoms.read_at(run, space_id, selection.find_missing(), unchanged_since=selection.revision)
    return atoms.read_as_known(run, space_id, selection.ends, known_at, unchanged_since=selection.revision)
