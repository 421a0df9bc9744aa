"""Rows of the ledger as the JSONL mirror writes them, from commits as they happen and from the table for a rebuild.

Both must give the same lines. Changes of memory have no timeline, and so no file. A hidden message is left out, since
the line would not say that it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from longmind.clock import Micros
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables.events import EVENT_COLUMNS, to_event
from longmind.store.tables.ledger import Announcement

_MIRRORED = ("tenant_id", "app_id", "user_id", *EVENT_COLUMNS)
_HIDDEN = "hidden"
# The table's own defaults, which a row that was just sent does not have.
_DEFAULTS = {"severity": 2, "signal": 0.0, "version": 2}


@dataclass(frozen=True)
class MirrorRow:
    """A row that belongs in a file of the mirror."""

    user: str
    """The key of the scope."""
    timeline_id: str
    at: Micros
    position: int
    event: dict[str, Any]
    """The event as a dict, with its position."""


def select_mirrored(announced: Iterable[Callable[[], object]]) -> list[MirrorRow]:
    """Return the rows that belong in files of those that a transaction has committed."""
    found = []
    for each in announced:
        if isinstance(each, Announcement):
            row = each.row
            if row.get("timeline_id") is not None and row.get("visibility") != _HIDDEN:
                # A row that was just sent lacks the columns that the table itself fills.
                whole = {**_DEFAULTS, **row, "position": each.position}
                found.append(_to_mirror_row(tuple([whole.get(name) for name in _MIRRORED])))
    return found


def _to_mirror_row(row: Row) -> MirrorRow:
    tenant_id, app_id, user_id, *columns = row
    position, at, _event_id, _kind, timeline_id, *_ = columns
    scope = _make_scope(tenant_id, app_id, user_id)
    event = to_event(tuple(columns), scope).as_row()
    return MirrorRow(scope.id, timeline_id, at, position, {**event, "position": position})


@lru_cache(maxsize=1024)
def _make_scope(tenant_id: str, app_id: str, user_id: str) -> Scope:
    return Scope(tenant_id, app_id, user_id)


def find_newest_place(run: Transaction) -> int:
    """Return the newest position that was ever taken, whether its row is there, gone, or not committed yet."""
    row = run.one("newest_place")
    return int(row[0]) if row else 0


def count_rows_of_users(
    run: Transaction, tenant_id: str | None, app_id: str | None, user_id: str | None
) -> dict[str, int]:
    """Return the ids of the scopes that have rows to mirror, each with their number. A filter may be None."""
    return dict(run.all("mirrored_users", tenant_id=tenant_id, app_id=app_id, user_id=user_id))


def list_timelines(run: Transaction, user: str) -> list[str]:
    """Return the timelines of a scope that have rows to mirror."""
    return [row[0] for row in run.all("mirrored_timelines", user=user)]


def read_rows(
    run: Transaction, user: str, timeline_id: str, after: tuple[Micros, int], through: int, limit: int
) -> list[MirrorRow]:
    """Return the next rows of a timeline after an instant and a position at it, up to the position `through`."""
    at, position = after
    found = run.all(
        "mirrored_rows",
        user=user,
        timeline_id=timeline_id,
        after_time=at,
        after_position=position,
        through=through,
        limit=limit,
    )
    return [_to_mirror_row(row) for row in found]
