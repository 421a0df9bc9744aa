"""The ledger: one append-only table of everything that happens, of all users, in one order of positions.

A row is a message (it has a sequence), a recorded event (it has a timeline), or a change of memory (it has neither).
Each is announced to subscribers as a Change once its transaction is committed, and followers read the same changes back
by position. On PostgreSQL positions are taken before the commit, so they may appear out of order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from pydantic.alias_generators import to_camel

from longmind.clock import Micros, to_iso
from longmind.ids import new_id
from longmind.models.change import Change
from longmind.scope import Scope
from longmind.store.database import PendingRow, Row, Transaction
from longmind.validation.text import decode_json

CHAT = "chat.turn"
"""The kind of every row that is a message."""

_COLUMNS = (
    "timeline_id", "stage", "tags", "data", "conversation_id", "sequence", "turn_id", "attempt", "visibility",
    "content", "stop_reason", "model", "provider", "usage", "tool_use_id", "tool_name", "is_error", "trace_id",
    "idempotency_key", "fingerprint",
)  # fmt: skip
_encode = json.JSONEncoder(ensure_ascii=False).encode
_camel = cache(to_camel)
_NOTHING: Mapping[str, None] = dict.fromkeys(_COLUMNS)


class Announcement:
    """A row that was written. Called after the commit, it returns the change for subscribers."""

    __slots__ = ("_position", "_row")

    def __init__(self, row: Callable[[], Mapping[str, Any]], position: Callable[[], int]) -> None:
        # The row is built only for a subscriber, and mostly there is none.
        self._row = row
        self._position = position

    @property
    def row(self) -> Mapping[str, Any]:
        """The columns that the row was written with."""
        return self._row()

    @property
    def position(self) -> int:
        """The position that the row was given."""
        return self._position()

    def __call__(self) -> Change:
        return _make_change({**_NOTHING, **self.row, "position": self.position})


def record(run: Transaction, scope: Scope, *, event_id: str, kind: str, at: Micros, **columns: Any) -> None:
    """Append a row with the context of a scope, and announce it once it is committed.

    columns: further columns by name; those that are left out are NULL.
    """
    row = {
        **_NOTHING,
        "tenant_id": scope.tenant_id,
        "app_id": scope.app_id,
        "user_id": scope.user_id,
        "agent_id": scope.agent_id,
        "client_id": scope.client_id,
        "session_id": scope.session_id,
        "run_id": scope.run_id,
        "graph_id": scope.graph_id,
        "node_id": scope.node_id,
        "event_id": event_id,
        "kind": kind,
        "ts": at,
        **columns,
    }
    announce(run, row, run.send("insert_event", **row))


def announce(run: Transaction, row: Mapping[str, Any], position: PendingRow) -> None:
    """Announce a row that was sent, once it is committed."""
    run.emit(Announcement(lambda: row, partial(_to_position, position)))


def _to_position(position: PendingRow) -> int:
    row = position()
    return int(row[0]) if row else 0


def record_change(
    run: Transaction, scope: Scope, kind: str, at: Micros, *, conversation_id: str | None = None, **data: Any
) -> None:
    """Append a change of a conversation or of memory. It has no timeline, so that no read of events shows it.

    data: fields of the change by their names in snake_case, stored in camelCase.
    """
    record(
        run,
        scope,
        event_id=new_id("evt", at),
        kind=kind,
        at=at,
        conversation_id=conversation_id,
        data=_encode({_camel(name): value for name, value in data.items()}),
    )


def read_grant_changes(run: Transaction) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the ids of the user's changes that say who may read a space, and what each says."""
    for event_id, data in run.all("grant_changes"):
        yield event_id, json.loads(data)


def put_change(run: Transaction, event_id: str, data: Mapping[str, Any]) -> None:
    """Let a recorded change say something else, as an erasure must where the change names the erased user."""
    run.send("put_change_data", event_id=event_id, data=_encode(data))


def read_changes(run: Transaction, after: int, limit: int) -> list[Row]:
    """Return the rows of all scopes after a position, for `to_change`."""
    return run.all("changes_after", after=after, limit=limit)


def find_last_position(run: Transaction) -> int:
    """Return the newest position of the ledger; 0 when it is empty."""
    row = run.one("last_position")
    return int(row[0]) if row else 0


def to_change(row: Row) -> Change:
    """Return a row of `read_changes` as the change that followers get."""
    names = (
        "position", "kind", "tenant_id", "app_id", "user_id", "conversation_id", "event_id", "ts", "stage", "sequence",
        "turn_id", "visibility", "data", "timeline_id",
    )  # fmt: skip
    return _make_change(dict(zip(names, row, strict=True)))


def _make_change(row: Mapping[str, Any]) -> Change:
    # A message has a sequence, an event a timeline, and a change of memory neither.
    if row["sequence"] is not None:
        kind: Any = "message.appended"
        data = {
            "messageId": row["event_id"],
            "role": row["stage"],
            "sequence": row["sequence"],
            "turnId": row["turn_id"],
            "visibility": row["visibility"],
        }
    elif row["timeline_id"] is not None:
        # An event may be of any kind, also of one that a change has. What it holds is not part of the change.
        kind = "event.recorded"
        data = {"kind": row["kind"], "stage": row["stage"], "timelineId": row["timeline_id"]}
    else:
        kind = row["kind"]
        data = decode_json(row["data"] or "{}", dict)
    return Change(
        cursor=row["position"],
        kind=kind,
        tenant_id=row["tenant_id"],
        app_id=row["app_id"],
        user_id=row["user_id"],
        conversation_id=row["conversation_id"],
        event_id=row["event_id"],
        at=to_iso(row["ts"]),
        data=data,
    )
