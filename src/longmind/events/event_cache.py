"""Events that were shown lately, by the versions of their rows: to make one again takes a third of reading it.

Most of an event is the same for many of a timeline, such as whose it is, and is kept once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from sys import getsizeof
from typing import Any, NamedTuple

from pydantic_core import from_json

from longmind.models.event import Event
from longmind.store.database import Row
from longmind.store.tables.events import EVENT_COLUMNS
from longmind.store.tables.newest_events import Version

_APART = dict.fromkeys(("event_id", "ts", "text", "signal", "tags", "data"))
"""What hardly two events have in common."""
_RARE = {name: EVENT_COLUMNS.index(name) for name in ("metrics", "inputs", "outputs", "embedding", "pii_flags")}
"""What few events have, and a caller could change; where it stands in a row."""
_POSITION = EVENT_COLUMNS.index("position")
_DATA = EVENT_COLUMNS.index("data")
_PLAIN = (str, int, float, bool, type(None))
_SHAPES = 64
"""Sets of values in common that are looked among; the older ones stay with the events that have them."""

_large = itemgetter(
    *map(EVENT_COLUMNS.index, ("text", "data", "metrics", "inputs", "outputs", "embedding", "pii_flags", "content"))
)
_EVENT_BYTES = 1_000
"""What an event takes besides what its row holds of these."""


class _Kept(NamedTuple):
    common: dict[str, Any]
    event_id: str
    ts: str
    text: str | None
    signal: float
    tags: tuple[str, ...]
    data: dict[str, Any] | str | None
    """Of one level as it is, or else as it is stored, and read again: nothing copies it sooner."""
    rare: tuple[tuple[str, str], ...]
    size: int


class KeptEvents:
    def __init__(self) -> None:
        self._events: dict[Version, _Kept] = {}
        self._common: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.nbytes = 0
        self.until = 0
        """The highest position that was ever kept."""

    def __len__(self) -> int:
        return len(self._events)

    def lacking(self, versions: Iterable[Version]) -> list[Version]:
        return [version for version in versions if version not in self._events]

    def at(self, versions: Iterable[Version]) -> list[Event] | None:
        """The events of rows, or None if one is not kept. Each is a new value, whose lists its owner may change."""
        found, made = [], Event.trusted
        for kept in map(self._events.get, versions):
            if kept is None:
                return None
            common, event_id, ts, text, signal, tags, data, rare, _ = kept
            fields = common.copy()
            fields["event_id"] = event_id
            fields["ts"] = ts
            fields["text"] = text
            fields["signal"] = signal
            fields["tags"] = [*tags]
            fields["data"] = data.copy() if isinstance(data, dict) else data and from_json(data)
            for name, stored in rare:
                fields[name] = from_json(stored)
            found.append(made(fields))
        return found

    def keep(self, version: Version, row: Row, event: Event) -> None:
        """Keep an event and the version of the row that it was made from."""
        fields = event.__dict__
        shape = tuple([value for name, value in fields.items() if name not in _APART and name not in _RARE])
        common = self._common.get(shape)
        if common is None:
            if len(self._common) == _SHAPES:
                self._common.clear()
            common = self._common[shape] = {**fields, **_APART, **dict.fromkeys(_RARE)}
        size = _EVENT_BYTES + sum(map(getsizeof, _large(row)))
        self._events[version] = _Kept(
            common,
            event.event_id,
            event.ts,
            event.text,
            event.signal,
            tuple(event.tags or ()),
            event.data.copy() if event.data is not None and _is_flat(event.data) else row[_DATA],
            tuple([(name, row[place]) for name, place in _RARE.items() if row[place] is not None]),
            size,
        )
        self.nbytes += size
        self.until = max(self.until, row[_POSITION])

    def keep_only(self, versions: Sequence[Version]) -> None:
        self._events = {version: self._events[version] for version in versions}
        self._common.clear()
        self.nbytes = sum(kept.size for kept in self._events.values())


def _is_flat(data: dict[str, Any]) -> bool:
    return all(isinstance(value, _PLAIN) for value in data.values())
