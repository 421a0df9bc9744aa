"""Cache of the hot log: the newest events of a timeline, so that a read fetches only new rows.

The ledger stays the truth. Invariants:

- At every read the database names the newest rows and their versions (`store.tables.newest_events`), and only events of
  exactly these versions are returned. A record, a replaced answer or an erasure by any process therefore shows at once,
  and nothing has to be invalidated.
- A cache belongs to one history of the database (`Transaction.history`). After a failover or a restore versions may
  repeat, so another history empties it.
- Nothing is kept at the first read of a timeline: many timelines are read only once.
- A cache holds at most twice as many events as the largest read returned, and at most `_MAX_BYTES`.
- Callers own what they get. Every returned event is a new value, and no list or dict of it is shared.

`IndexCache` lends a HotLog to one caller at a time, so nothing here takes a lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from sys import getsizeof
from typing import Any, NamedTuple

from pydantic_core import from_json

from longmind.models.event import Event
from longmind.recall.index.cache import IndexCache
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables import newest_events as store
from longmind.store.tables.events import EVENT_COLUMNS, EventWindow, to_event
from longmind.store.tables.newest_events import EventVersion

_OWN_FIELDS = dict.fromkeys(("event_id", "ts", "text", "signal", "tags", "data"))
"""Fields that hardly two events have in common."""
_RARE_FIELDS = {name: EVENT_COLUMNS.index(name) for name in ("metrics", "inputs", "outputs", "embedding", "pii_flags")}
"""Fields that few events have and that a caller could change, with their places in a row."""
_POSITION = EVENT_COLUMNS.index("position")
_DATA = EVENT_COLUMNS.index("data")
_IMMUTABLE = (str, int, float, bool, type(None))
_MAX_SHARED = 64
"""Sets of shared fields that a new event is compared with; older sets live on in the events that have them."""

_select_large = itemgetter(
    *map(EVENT_COLUMNS.index, ("text", "data", "metrics", "inputs", "outputs", "embedding", "pii_flags", "content"))
)
_EVENT_BYTES = 1_000
"""Memory of an event besides its large columns."""
_LOG_BYTES = 3_000
"""Memory of a log besides its events."""
_MAX_BYTES = 8 * 1024 * 1024
"""Above this a timeline is not cached: one timeline of huge events must not fill the memory."""


class _CachedEvent(NamedTuple):
    """One event, reduced to its own fields; fields that many events share are stored once."""

    shared: dict[str, Any]
    event_id: str
    ts: str
    text: str | None
    signal: float
    tags: tuple[str, ...]
    data: dict[str, Any] | str | None
    """A dict if it is flat, and else its JSON, which is parsed again: copying a nested dict is slower."""
    rare: tuple[tuple[str, str], ...]
    """JSON of the rare fields that the event has."""
    size: int


class EventCache:
    """Events by the version of their row."""

    def __init__(self) -> None:
        self._events: dict[EventVersion, _CachedEvent] = {}
        self._shared: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.nbytes = 0
        self.until = 0
        """The highest position that was ever added."""

    def __len__(self) -> int:
        return len(self._events)

    def find_missing(self, versions: Iterable[EventVersion]) -> list[EventVersion]:
        """Return the versions that are not cached."""
        return [version for version in versions if version not in self._events]

    def build_events(self, versions: Iterable[EventVersion]) -> list[Event] | None:
        """Return new events for the versions, or None if one of them is not cached."""
        events, build = [], Event.from_trusted
        for cached in map(self._events.get, versions):
            if cached is None:
                return None
            shared, event_id, ts, text, signal, tags, data, rare, _ = cached
            fields = shared.copy()
            fields["event_id"] = event_id
            fields["ts"] = ts
            fields["text"] = text
            fields["signal"] = signal
            fields["tags"] = [*tags]
            fields["data"] = data.copy() if isinstance(data, dict) else data and from_json(data)
            for name, stored in rare:
                fields[name] = from_json(stored)
            events.append(build(fields))
        return events

    def add(self, version: EventVersion, row: Row, event: Event) -> None:
        """Cache an event under the version of the row that it was made from."""
        fields = event.__dict__
        shape = tuple([value for name, value in fields.items() if name not in _OWN_FIELDS and name not in _RARE_FIELDS])
        shared = self._shared.get(shape)
        if shared is None:
            if len(self._shared) == _MAX_SHARED:
                self._shared.clear()
            shared = self._shared[shape] = {**fields, **_OWN_FIELDS, **dict.fromkeys(_RARE_FIELDS)}
        size = _EVENT_BYTES + sum(map(getsizeof, _select_large(row)))
        self._events[version] = _CachedEvent(
            shared,
            event.event_id,
            event.ts,
            event.text,
            event.signal,
            tuple(event.tags or ()),
            event.data.copy() if event.data is not None and _is_flat(event.data) else row[_DATA],
            tuple([(name, row[place]) for name, place in _RARE_FIELDS.items() if row[place] is not None]),
            size,
        )
        self.nbytes += size
        self.until = max(self.until, row[_POSITION])

    def retain(self, versions: Sequence[EventVersion]) -> None:
        """Drop all events but these."""
        self._events = {version: self._events[version] for version in versions}
        self._shared.clear()
        self.nbytes = sum(cached.size for cached in self._events.values())


class HotLog:
    """The cached hot log of one timeline. One caller at a time uses it."""

    def __init__(self) -> None:
        self.loaded = False
        self._history: object = None
        self._cache = EventCache()
        self._capacity = 0

    @property
    def nbytes(self) -> int:
        """Estimated memory."""
        return _LOG_BYTES + self._cache.nbytes

    def read(self, run: Transaction, scope: Scope, window: EventWindow, limit: int, events: list[Event]) -> bool:
        """Add the newest events to `events`, oldest first; return False if nothing was fetched."""
        if self._cache and self._history == run.history:
            versions, new_rows = store.list_versions(run, window, limit, self._cache.until)
            versions.reverse()
            self._add(new_rows, scope)
            # An empty hot log is read again from scratch, which empties the cache.
            cached = self._cache.build_events(versions) if versions else None
            if cached is not None:
                events += cached
                self._make_room(versions)
                return bool(new_rows)
            missing = self._cache.find_missing(versions)
            # If most rows are missing, reading all of them at once is faster.
            if 2 * len(missing) < len(versions):
                rows = store.read_rows(run, window.timeline_id, [event_id for event_id, _ in missing])
                # A row that is gone or replaced by now means that the versions are outdated: read all of them again.
                if rows.keys() == set(missing):
                    self._add(rows, scope)
                    events += self._cache.build_events(versions) or ()
                    self._make_room(versions)
                    return True
        self._reload(run, scope, window, limit, events)
        return True

    def _add(self, rows: Mapping[EventVersion, Row], scope: Scope) -> None:
        for version, row in rows.items():
            self._cache.add(version, row, to_event(row, scope))

    def _reload(self, run: Transaction, scope: Scope, window: EventWindow, limit: int, events: list[Event]) -> None:
        rows = store.read_newest(run, window, limit)
        self._cache, self._capacity, self._history = EventCache(), 2 * len(rows), run.history
        for version, row in reversed(rows.items()):
            event = to_event(row, scope)
            events.append(event)
            if self.loaded:
                self._cache.add(version, row, event)
        self.loaded = True
        self._drop_if_too_large()

    def _make_room(self, versions: list[EventVersion]) -> None:
        """Drop events that newer ones pushed out of the hot log, once they are as many as the largest read."""
        self._capacity = max(self._capacity, 2 * len(versions))
        if len(self._cache) > self._capacity:
            self._cache.retain(versions)
        self._drop_if_too_large()

    def _drop_if_too_large(self) -> None:
        if self._cache.nbytes > _MAX_BYTES:
            self._cache = EventCache()


def read_newest(run: Transaction, scope: Scope, logs: IndexCache, window: EventWindow, limit: int) -> list[Event]:
    """Return the newest events of the hot log, oldest first."""
    events: list[Event] = []
    name = f"hot log of {window.timeline_id}"
    with logs.current(scope, name, HotLog, lambda log: log.read(run, scope, window, limit, events)):
        return events


def _is_flat(data: dict[str, Any]) -> bool:
    return all(isinstance(value, _IMMUTABLE) for value in data.values())
