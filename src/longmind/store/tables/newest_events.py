"""The newest rows of a timeline, read so that a cache of them learns what has changed.

A row is known by its id and its version, and has not changed as long as both are the same. So a cache that reads the
versions alone knows that what it holds is what the database has, and fetches only rows that it lacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from longmind.store.database import Row, Transaction
from longmind.store.tables.events import EVENT_COLUMNS, EventWindow

_SIGNAL = EVENT_COLUMNS.index("signal")

EventVersion = tuple[str, object]
"""The id of an event, and a value that differs for every other row of that id."""


def list_versions(
    run: Transaction, window: EventWindow, limit: int, known: int
) -> tuple[list[EventVersion], dict[EventVersion, Row]]:
    """Return the versions of the newest rows, newest first, and some of the rows.

    known: where a read takes long, rows above this position come along.
    """
    # Columns: id, version, and the row as JSON or NULL.
    rows = run.all("hot_log_versions", timeline_id=window.timeline_id, since=window.since, limit=limit, known=known)
    return [row[:2] for row in rows], {row[:2]: _decode_row(row[2]) for row in rows if row[2] is not None}


def _decode_row(values: list[Any]) -> Row:
    # JSON has a whole number without a fraction.
    values[_SIGNAL] = float(values[_SIGNAL])
    return tuple(values)


def read_newest(run: Transaction, window: EventWindow, limit: int) -> dict[EventVersion, Row]:
    """Return the newest rows by their versions."""
    return _index_by_version(run.all("hot_log_rows", timeline_id=window.timeline_id, since=window.since, limit=limit))


def read_rows(run: Transaction, timeline_id: str, ids: Iterable[str]) -> dict[EventVersion, Row]:
    """Return the rows of some events by the versions that they have by now; one that is gone is left out."""
    return _index_by_version(run.all("hot_log_rows_of", timeline_id=timeline_id, ids=json.dumps(list(ids))))


def _index_by_version(rows: list[Row]) -> dict[EventVersion, Row]:
    return {(row[3], row[0]): row[1:] for row in rows}
