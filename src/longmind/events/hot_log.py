"""What is kept in memory of the newest events of a timeline, so that only what is new has to be fetched.

It is a cache of the ledger: at every look the database says which rows are the newest and of which version they are,
and nothing is shown that it did not name. Whoever else records, replaces an answer or erases is so seen at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from longmind.events.event_cache import KeptEvents
from longmind.models.event import Event
from longmind.recall.index.cache import IndexCache
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables import newest_events as store
from longmind.store.tables.events import Window, event_from_row

_LOG_BYTES = 3_000
"""What a log takes, with what its events have in common."""


_MOST_BYTES = 8 * 1024 * 1024
"""Where the newest events take more than this they are not kept: one timeline of huge ones must not fill the memory."""


class HotLog:
    """The hot log of one timeline, as far as it was shown lately. One caller at a time has it."""

    def __init__(self) -> None:
        self.loaded = False
        self._history: object = None
        self._kept = KeptEvents()
        self._most = 0

    @property
    def nbytes(self) -> int:
        return _LOG_BYTES + self._kept.nbytes

    def look(self, run: Transaction, scope: Scope, window: Window, limit: int, found: list[Event]) -> bool:
        """Find the newest events as they are now, oldest first; False when all of them were here."""
        if self._kept and self._history == run.history:
            versions, new = store.versions(run, window, limit, self._kept.until)
            versions.reverse()
            self._keep(new, scope)
            # Where nothing is left, nothing is to be kept: what was is let go of as it is read anew.
            shown = self._kept.at(versions) if versions else None
            if shown is not None:
                found += shown
                self._make_room(versions)
                return bool(new)
            lacking = self._kept.lacking(versions)
            # Where most are new, they are sooner read all at once.
            if 2 * len(lacking) < len(versions):
                rows = store.rows_of(run, window.timeline_id, [event_id for event_id, _ in lacking])
                # If one is gone since, or another by now, all have to be as of one later moment.
                if rows.keys() == set(lacking):
                    self._keep(rows, scope)
                    found += self._kept.at(versions) or ()
                    self._make_room(versions)
                    return True
        self._read_anew(run, scope, window, limit, found)
        return True

    def _keep(self, rows: Mapping[store.Version, Row], scope: Scope) -> None:
        for version, row in rows.items():
            self._kept.keep(version, row, event_from_row(row, scope))

    def _read_anew(self, run: Transaction, scope: Scope, window: Window, limit: int, found: list[Event]) -> None:
        rows = store.newest(run, window, limit)
        self._kept, self._most, self._history = KeptEvents(), 2 * len(rows), run.history
        for version, row in reversed(rows.items()):
            event = event_from_row(row, scope)
            found.append(event)
            if self.loaded:
                self._kept.keep(version, row, event)
        # Many a timeline is looked at once: nothing is kept before it is looked at again.
        self.loaded = True
        self._let_go_of_too_much()

    def _make_room(self, shown: list[store.Version]) -> None:
        """Let go of what newer events have pushed out, once that is as much as the most that was asked for."""
        self._most = max(self._most, 2 * len(shown))
        if len(self._kept) > self._most:
            self._kept.keep_only(shown)
        self._let_go_of_too_much()

    def _let_go_of_too_much(self) -> None:
        if self._kept.nbytes > _MOST_BYTES:
            self._kept = KeptEvents()


def newest(run: Transaction, logs: IndexCache, scope: Scope, window: Window, limit: int) -> list[Event]:
    """The newest events of the hot log, in the order in which they happened."""
    found: list[Event] = []
    name = f"hot log of {window.timeline_id}"
    with logs.current(scope, name, HotLog, lambda log: log.look(run, scope, window, limit, found)):
        return found
