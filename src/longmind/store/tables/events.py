"""Recorded events: rows of the ledger that have a timeline and are no messages.

They are read timeline by timeline, newest first, and messages are read along with them as chat events. Each kind of
read goes through an index that has the rows in order, so that a page costs what it returns on a timeline of any length.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from operator import itemgetter
from typing import Any

from longmind.clock import Micros, to_iso
from longmind.models.content import extract_stored_words
from longmind.models.event import CHAT_TURN, Event
from longmind.scope import Scope, bucket_of
from longmind.store.database import Row, Transaction
from longmind.store.tables import ledger, passages
from longmind.validation.text import decode_json

_BEYOND_ALL_TIMES = 2**62
_WHEN = itemgetter(1, 0)
RECORDED_COLUMNS = (
    "event_id", "graph_id", "node_id", "ts", "kind", "stage", "text", "tags", "data", "metrics", "topic", "severity",
    "signal", "inputs", "outputs", "embedding", "pii_flags", "state_key", "version",
)  # fmt: skip
"""The columns that each row has values of its own for, in this order."""
EVENT_COLUMNS = (
    "position", "ts", "event_id", "kind", "timeline_id", "stage", "text", "tags", "data", "metrics", "topic",
    "severity", "signal", "inputs", "outputs", "session_id", "run_id", "client_id", "agent_id", "graph_id", "node_id",
    "embedding", "pii_flags", "version", "conversation_id", "turn_id", "sequence", "content",
)  # fmt: skip
"""The order of a row that is read; the fragment event_columns has the same."""
_ROLES = ("first_role", "second_role", "third_role", "fourth_role")


@dataclass(frozen=True)
class EventWindow:
    """The part of a timeline to read. A field that is left as it is lets every row through."""

    timeline_id: str
    since: Micros = -_BEYOND_ALL_TIMES
    until: Micros = _BEYOND_ALL_TIMES
    session_id: str | None = None
    run_id: str | None = None
    all_tags: Sequence[str] = ()
    any_tags: Sequence[str] = ()
    min_signal: float = 0.0
    kept: int | None = None
    """The number of newest rows that are looked at, before any other filter; None stands for all."""

    @property
    def narrows(self) -> bool:
        """True if a filter may leave rows out."""
        return bool(self.session_id or self.run_id or self.all_tags or self.any_tags or self.min_signal)


def insert(run: Transaction, shared: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Append rows of RECORDED_COLUMNS that were validated and encoded, and announce each once all are committed.

    shared: the columns that are the same for all of them, which the context knows.
    """
    if len(rows) == 1:
        whole = _merge_columns(shared, rows[0])
        # A single row saves unpacking the arrays of the other statement.
        ledger.announce(run, whole, run.send("insert_recorded", **whole))
        return
    positions = run.number_each("insert_many_recorded", RECORDED_COLUMNS, rows, **shared)
    run.emit_each(
        ledger.Announcement(partial(_merge_columns, shared, row), partial(_take_nth, positions, number))
        for number, row in enumerate(rows)
    )


def list_newest(
    run: Transaction, scope: Scope, window: EventWindow, limit: int, offset: int = 0, kinds: Sequence[str] | None = None
) -> list[Event]:
    """Return the newest events in the order in which they happened, after skipping `offset` newer ones."""
    values = _to_values(run, window, filtered=kinds is not None)
    if kinds is None:
        rows = run.all("newest_events", **values, limit=limit, offset=offset)
    elif len(kinds) == 1:
        rows = _read_kind(run, kinds[0], values, limit, offset)
    else:
        # Each kind comes in order from its index, so that a rare one is not searched for among all others.
        each = [_read_kind(run, kind, values, limit + offset, 0) for kind in kinds]
        rows = list(islice(heapq.merge(*each, key=_WHEN, reverse=True), offset, offset + limit))
    return _to_events(rows, scope)


def list_newest_chat(
    run: Transaction, scope: Scope, window: EventWindow, limit: int, roles: Sequence[str] | None
) -> list[Event]:
    values = _to_values(run, window, filtered=True)
    return _to_events(run.all("newest_chat", **values, **_to_role_values(roles), limit=limit, offset=0), scope)


def list_newest_on_topic(
    run: Transaction, scope: Scope, window: EventWindow, limit: int, kind: str, topic: str
) -> list[Event]:
    values = _to_values(run, window, filtered=True)
    rows = run.all("newest_events_on_topic", **values, kind=kind, topic=topic, limit=limit, offset=0)
    return _to_events(rows, scope)


def list_newest_states(
    run: Transaction, scope: Scope, window: EventWindow, limit: int, kind: str, state_key: str
) -> list[Event]:
    values = _to_values(run, window, filtered=True)
    rows = run.all("newest_states", **values, kind=kind, state_key=state_key, limit=limit, offset=0)
    return _to_events(rows, scope)


def list_newest_summaries(run: Transaction, scope: Scope, window: EventWindow, limit: int) -> list[Event]:
    """Return the newest summaries of every kind, in the order in which they happened."""
    return _to_events(run.all("newest_summaries", **_to_values(run, window, filtered=True), limit=limit), scope)


def list_newest_sources(
    run: Transaction,
    scope: Scope,
    window: EventWindow,
    limit: int,
    kinds: Sequence[str] | None,
    left_out: Callable[[Event], bool],
) -> list[Event]:
    """Return the newest events but for those that are left out, which must be few among the others."""
    found: list[Event] = []
    offset = 0
    while True:
        # Excluded events are few, so that mostly one page is enough.
        page = list_newest(run, scope, window, limit, offset, kinds)
        found = [*(event for event in page if not left_out(event)), *found]
        if len(page) < limit or len(found) >= limit:
            return found[-limit:]
        offset += limit


def list_newest_unforgotten(
    run: Transaction, scope: Scope, window: EventWindow, limit: int, kinds: Sequence[str] | None
) -> list[Event]:
    """Return the newest events but for the messages that a forgotten fact has cited."""
    forgotten = passages.list_unquotable(run)
    return list_newest_sources(run, scope, window, limit, kinds, lambda event: event.event_id in forgotten)


def read_at(run: Transaction, scope: Scope, timeline_id: str, positions: Sequence[int]) -> dict[int, Event]:
    """Return the events at some positions of the ledger; one that is gone is left out."""
    rows = run.all("events_at", timeline_id=timeline_id, positions=json.dumps(list(positions)))
    return {row[0]: to_event(row, scope) for row in rows}


def read_search_state(run: Transaction) -> tuple[int, int]:
    """Return the epoch of the user, and the number of times that messages were forgotten."""
    epoch, forgotten = run.one("state_of_search") or (0, 0)
    return epoch, forgotten


def read_searched_among_many(run: Transaction, timeline_id: str, after: int, limit: int) -> list[Row]:
    """Return the columns that events are searched by, of a timeline's rows after a position of the ledger.

    It goes along the timeline, which is right where the ledger has grown by many rows of others since that position.
    """
    return run.all("timeline_rows_after", timeline_id=timeline_id, after=after, limit=limit)


def read_searched_among_few(run: Transaction, timeline_id: str, after: int, limit: int) -> list[Row]:
    """Return the rows of `read_searched_among_many` by going along the ledger, where it has grown little."""
    return run.all("timeline_rows_lately", timeline_id=timeline_id, after=after, limit=limit)


def list_replaced_answers(run: Transaction, conversation_id: str, turn_id: str, attempt: int) -> list[int]:
    """Return the positions of earlier answers to a turn, and of what led to them, than that of an attempt."""
    rows = run.all("replaced_answers", conversation_id=conversation_id, turn_id=turn_id, attempt=attempt)
    return [position for (position,) in rows]


def get(run: Transaction, scope: Scope, event_id: str) -> Event | None:
    """Return an event; None when the scope has no such one."""
    row = run.one("get_event", event_id=event_id)
    return to_event(row, scope) if row else None


def read_every_row(run: Transaction) -> Iterator[Row]:
    """Yield all columns of each row of a user that is no message. Only inside of `read_snapshot`."""
    return run.each("every_event")


def count_by_kind(run: Transaction, since: Micros) -> list[tuple[str, int]]:
    """Return the number of events of each kind since an instant, by kind."""
    return sorted((kind, count) for kind, count in run.all("usage_by_kind", since=since) if count)


def _read_kind(run: Transaction, kind: str, values: Mapping[str, Any], limit: int, offset: int) -> list[Row]:
    if kind == CHAT_TURN:
        return run.all("newest_chat", **values, **_to_role_values(None), limit=limit, offset=offset)
    return run.all("newest_events_of_kind", **values, kind=kind, limit=limit, offset=offset)


def _to_role_values(roles: Sequence[str] | None) -> dict[str, str | None]:
    """Return the parameters for a list of roles: there are four roles, so a statement has four places."""
    return dict(zip(_ROLES, [*(roles or ()), *[None] * len(_ROLES)], strict=False))


def _to_values(run: Transaction, window: EventWindow, *, filtered: bool) -> dict[str, Any]:
    since, first = window.since, 0
    # Without a filter the newest rows are within the hot log anyway: only a filter could reach below it.
    if window.kept is not None and (filtered or window.narrows):
        floor = run.one("hot_log_floor", timeline_id=window.timeline_id, since=since, kept=window.kept - 1)
        since, first = floor or (since, 0)
    return {
        "timeline_id": window.timeline_id,
        "since": since,
        "first": first,
        "until": window.until,
        "session_id": window.session_id,
        "run_id": window.run_id,
        "all_tags": json.dumps(list(window.all_tags)) if window.all_tags else None,
        "any_tags": json.dumps(list(window.any_tags)) if window.any_tags else None,
        "min_signal": window.min_signal,
    }


def _merge_columns(shared: Mapping[str, Any], row: Row) -> dict[str, Any]:
    return {**shared, **dict(zip(RECORDED_COLUMNS, row, strict=True))}


def _take_nth(positions: Callable[[], Sequence[int]], number: int) -> int:
    return positions()[number]


@lru_cache(maxsize=4096)
def _decode_tags(stored: str) -> tuple[str, ...]:
    # Most events share a few lists of tags, which are decoded once.
    return tuple(decode_json(stored, list))


def _to_events(rows: list[Row], scope: Scope) -> list[Event]:
    rows.reverse()
    return [to_event(row, scope) for row in rows]


def to_event(row: Row, scope: Scope) -> Event:
    (
        _position, ts, event_id, kind, timeline_id, stage, text, tags, data, metrics, topic, severity, signal, inputs,
        outputs, session_id, run_id, client_id, agent_id, graph_id, node_id, embedding, pii_flags, version,
        conversation_id, turn_id, sequence, content,
    ) = row  # fmt: skip
    if content is not None:
        text = extract_stored_words(content)
        said: Any = {
            "role": stage,
            "text": text,
            "conversation_id": conversation_id,
            "turn_id": turn_id,
            "sequence": sequence,
        }
    else:
        said = decode_json(data, dict) if data is not None else None
    return Event.from_trusted(
        {
            "event_id": event_id,
            "ts": to_iso(ts),
            "kind": kind,
            "run_id": run_id,
            "scope_id": bucket_of(timeline_id),
            "user_id": scope.user_id,
            "org_id": scope.tenant_id,
            "client_id": client_id,
            "session_id": session_id,
            "stage": stage,
            "text": text,
            "tags": [*_decode_tags(tags)] if tags is not None else [],
            "data": said,
            "metrics": decode_json(metrics, dict) if metrics is not None else None,
            "graph_id": graph_id,
            "node_id": node_id,
            "tool": topic,
            "topic": topic,
            "severity": severity,
            "signal": signal,
            "inputs": decode_json(inputs, list) if inputs is not None else None,
            "outputs": decode_json(outputs, list) if outputs is not None else None,
            "app_id": scope.app_id,
            "agent_id": agent_id,
            "embedding": decode_json(embedding, list) if embedding is not None else None,
            "pii_flags": decode_json(pii_flags, dict) if pii_flags is not None else None,
            "version": version,
        }
    )
