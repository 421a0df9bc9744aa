"""Answers as of one instant, of spaces that others change meanwhile.

What a question needs of a space is in memory and in the database, and takes its time to be read. So whatever was read
is taken for true only where a look at the space, after it, finds the revision at which it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from longmind.models.atom import Atom
from longmind.models.recall import Hit
from longmind.recall.index.cache import IndexCache
from longmind.recall.index.refresh import SpaceKeepsChanging, refresh, refresh_cuts, unless_changed
from longmind.recall.index.space_index import SpaceIndex, SpaceState
from longmind.recall.ranking.atoms import ANY_REVISION, Query
from longmind.recall.request import RecallRequest
from longmind.recall.results import Chooser, Selection, select, to_hits
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import atoms, entities

_LOOKS = 5
"""How often a space is looked at that changes each time before the answer is complete."""


class Mentions(NamedTuple):
    """Where the entities are mentioned that a question is about."""

    named: Mapping[str, tuple[int, ...]]
    about: tuple[int, ...] | None


class RequestReader(Protocol):
    """Understands questions."""

    def understand(self, scope: Scope, space_id: str, request: RecallRequest, before: Query | None = None) -> Query:
        """A question as it is understood by what is in memory of a space; one asked before is not embedded again."""

    def understand_at_once(self, state: SpaceState, request: RecallRequest, mentions: Mentions, before: Query) -> Query:
        """The same at once: with the vector that there is already, if there is one."""


class SnapshotReader:
    def __init__(self, database: Database, indexes: IndexCache, asking: RequestReader) -> None:
        self._database = database
        self._indexes = indexes
        self._asking = asking

    def open_index(
        self, scope: Scope, space_id: str, known_at: int | None = None, *, fresh: bool = True
    ) -> AbstractContextManager[SpaceIndex]:
        """The index of a space with everything that was committed before this call; one caller at a time has it."""

        def look(index: SpaceIndex) -> bool:
            try:
                news = self._database.read(scope, refresh, space_id, index)
            except SpaceKeepsChanging:
                news = self._database.read_snapshot(scope, refresh, space_id, index) or True
            index.quiet = not news
            return news

        if known_at is None:
            return self._indexes.current(scope, space_id, SpaceIndex, look, fresh=fresh)

        def look_back(index: SpaceIndex) -> bool:
            news = (fresh or not index.loaded) and look(index)
            return (index.lacks_cuts and self._database.read_snapshot(scope, refresh_cuts, space_id, index)) or news

        return self._indexes.current(scope, space_id, SpaceIndex, look_back)

    def is_quiet(self, scope: Scope, space_id: str) -> bool:
        """Whether an answer may well hold that is made before the database has said that nothing has changed."""
        index = self._indexes.peek(scope, space_id) if self._database.is_remote else None
        return index is not None and index.quiet

    def try_speculative(
        self, scope: Scope, space_id: str, request: RecallRequest, asked: Query, choose: Chooser, *, explain: bool
    ) -> tuple[Selection, list[Hit]] | None:
        """The answer of a space in which nothing has changed, made while the database says whether that is so.

        There is none if something has changed, and it is not tried again before a look has found nothing new.
        """

        def answer(index: SpaceIndex) -> tuple[Selection | None, list[Hit] | None]:
            if asked.revision != index.revision:
                # Somebody else has looked since, and it was understood by what was known before.
                return None, None
            draft = select(index, request.filters_at(asked.about), choose, explain)
            return draft, None if draft.find_missing() else to_hits(draft)

        known_at = request.filters.known_at
        with self.open_index(scope, space_id, known_at, fresh=False) as index:
            held = self._database.read(scope, unless_changed, space_id, index, answer)
            index.quiet = held is not None
        draft, hits = held or (None, None)
        if draft is not None and hits is None:
            self._fetch(scope, space_id, draft, known_at)
            hits = None if draft.find_missing() else to_hits(draft)
        return None if draft is None or hits is None else (draft, hits)

    def read_consistent(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        choosing: Callable[[Query], Chooser],
        asked: Query,
        *,
        explain: bool = False,
    ) -> Selection:
        """What is chosen in a space as it was at an instant after the question was asked, with its atoms as of then."""
        known_at, fresh = request.filters.known_at, True
        for _ in range(_LOOKS):
            with self.open_index(scope, space_id, known_at, fresh=fresh) as index:
                draft = None
                if asked.revision in (ANY_REVISION, index.revision):
                    draft = select(index, request.filters_at(asked.about), choosing(asked), explain)
            if draft is None:
                before, asked = asked, self._asking.understand(scope, space_id, request, asked)
                # What takes time is of an instant of its own.
                fresh = asked.vector is not before.vector or bool(asked.mentioned) or asked.about is not None
                continue
            self._fetch(scope, space_id, draft, known_at)
            if not draft.find_missing():
                return draft
            # Some have changed since they were chosen, and what has come instead of them may not have been seen.
            fresh = True
        return self._read_in_one_transaction(scope, space_id, request, choosing, asked, explain)

    def _read_in_one_transaction(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        choosing: Callable[[Query], Chooser],
        asked: Query,
        explain: bool,
    ) -> Selection:
        """The same of a space in which others write all the time. They can go on, but who else recalls there waits."""
        known_at = request.filters.known_at
        drafts: list[Selection] = []

        def work(run: Transaction, index: SpaceIndex) -> bool:
            news = (refresh if known_at is None else refresh_cuts)(run, space_id, index)
            understood = asked
            if asked.revision != ANY_REVISION:
                state = index.describe_for(request.query or "", known_at)
                mentions = read_mentions(run, space_id, state.named, request.entity)
                understood = self._asking.understand_at_once(state, request, mentions, asked)
            draft = select(index, request.filters_at(understood.about), choosing(understood), explain)
            draft.add_atoms(_read(run, space_id, draft, known_at))
            drafts.append(draft)
            return news

        def look(index: SpaceIndex) -> bool:
            return self._database.read_snapshot(scope, work, index)

        with self._indexes.current(scope, space_id, SpaceIndex, look):
            return drafts[-1]

    def _fetch(self, scope: Scope, space_id: str, draft: Selection, known_at: int | None) -> None:
        """Complete a draft with the atoms that were not at hand, as far as they are still as they were."""
        if not draft.find_missing():
            return
        fetched = self._database.read(scope, _read, space_id, draft, known_at)
        if known_at is None:
            with self._indexes.if_kept(scope, space_id) as index:
                if index is not None:
                    index.cache_atoms(fetched, draft.revision)
        draft.add_atoms(fetched)


def read_mentions(run: Transaction, space_id: str, named: list[str], entity: str | None) -> Mentions:
    about = None if entity is None else entities.list_positions_by_name(run, space_id, entity)
    return Mentions(entities.map_positions(run, space_id, named), about)


def _read(run: Transaction, space_id: str, draft: Selection, known_at: int | None) -> dict[int, Atom]:
    """The atoms that a draft lacks, without those that have changed since it was made.

    As they were known at an instant, they end where they did then.
    """
    if known_at is None:
        return atoms.read_at(run, space_id, draft.find_missing(), unchanged_since=draft.revision)
    return atoms.read_as_known(run, space_id, draft.ends, known_at, unchanged_since=draft.revision)
