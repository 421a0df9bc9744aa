"""Units of work on the newest rows of a timeline, for who keeps them: which they are, and those that are not kept yet.

A row is known by its id and its version. While both are the same, the row is: versions are all that has to be looked at
to know that what is kept is what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from longmind.store.database import Row, Transaction
from longmind.store.tables.events import EVENT_COLUMNS, EventWindow

_SIGNAL = EVENT_COLUMNS.index("signal")

EventVersion = tuple[str, object]
"""The id of an event, and what tells its row from another one of the same id."""


def list_versions(
    run: Transaction, window: EventWindow, limit: int, known: int
) -> tuple[list[EventVersion], dict[EventVersion, Row]]:
    """Which rows are the newest, newest first; where a look takes long, with those above a position that is known."""
    rows = run.all("hot_log_versions", timeline_id=window.timeline_id, since=window.since, limit=limit, known=known)
    return [row[:2] for row in rows], {row[:2]: _decode_row(row[2]) for row in rows if row[2] is not None}


def _decode_row(values: list[Any]) -> Row:
    # A whole number is written like an integer there.
    values[_SIGNAL] = float(values[_SIGNAL])
    return tuple(values)


def read_newest(run: Transaction, window: EventWindow, limit: int) -> dict[EventVersion, Row]:
    """The same with the rows themselves."""
    return _index_by_version(run.all("hot_log_rows", timeline_id=window.timeline_id, since=window.since, limit=limit))


def read_rows(run: Transaction, timeline_id: str, ids: Iterable[str]) -> dict[EventVersion, Row]:
    """Those of some events that are there, whatever versions they are of by now."""
    return _index_by_version(run.all("hot_log_rows_of", timeline_id=timeline_id, ids=json.dumps(list(ids))))


def _index_by_version(rows: list[Row]) -> dict[EventVersion, Row]:
    return {(row[3], row[0]): row[1:] for row in rows}
