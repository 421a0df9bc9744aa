"""Access to the index of a space, brought up to the database first."""

from __future__ import annotations

from contextlib import AbstractContextManager

from longmind.recall.index.cache import IndexCache
from longmind.recall.index.refresh import SpaceKeepsChanging, refresh, refresh_cuts
from longmind.recall.index.space_index import SpaceIndex
from longmind.scope import Scope
from longmind.store.database import Database


class SpaceIndexes:
    """The indexes of spaces in one database. Threads may share it: each index is lent to one caller at a time."""

    def __init__(self, database: Database, cache: IndexCache) -> None:
        self._database = database
        self.cache = cache

    def open(
        self, scope: Scope, space_id: str, known_at: int | None = None, *, fresh: bool = True
    ) -> AbstractContextManager[SpaceIndex]:
        """Lend the index of a space, with everything that was committed before this call.

        known_at: an instant of the past; the index then also knows ends that were corrected several times.
        fresh: pass False to reuse an index that was refreshed a moment ago, without reading the database.
        """

        def refresh_index(index: SpaceIndex) -> bool:
            try:
                news = self._database.read(scope, refresh, space_id, index)
            except SpaceKeepsChanging:
                news = self._database.read_snapshot(scope, refresh, space_id, index) or True
            index.quiet = not news
            return news

        if known_at is None:
            return self.cache.current(scope, space_id, SpaceIndex, refresh_index, fresh=fresh)

        def refresh_with_cuts(index: SpaceIndex) -> bool:
            news = (fresh or not index.loaded) and refresh_index(index)
            return (index.lacks_cuts and self._database.read_snapshot(scope, refresh_cuts, space_id, index)) or news

        return self.cache.current(scope, space_id, SpaceIndex, refresh_with_cuts)

    def is_quiet(self, scope: Scope, space_id: str) -> bool:
        """Return whether the last look found no change, so that an answer may be computed while the next one waits.

        Always False for a local file, which answers sooner than a thread could be switched.
        """
        index = self.cache.peek(scope, space_id) if self._database.is_remote else None
        return index is not None and index.quiet
