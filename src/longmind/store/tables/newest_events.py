"""Units of work on the newest rows of a timeline, for who keeps them: which they are, and those that are not kept yet.

A row is known by its id and its version. While both are the same, the row is: versions are all that has to be looked at
to know that what is kept is what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from longmind.store.database import Row, Transaction
from longmind.store.tables.events import EVENT_COLUMNS, Window

_SIGNAL = EVENT_COLUMNS.index("signal")

Version = tuple[str, object]
"""The id of an event, and what tells its row from another one of the same id."""


def versions(run: Transaction, window: Window, limit: int, known: int) -> tuple[list[Version], dict[Version, Row]]:
    """Which rows are the newest, newest first; where a look takes long, with those above a position that is known."""
    rows = run.all("hot_log_versions", timeline_id=window.timeline_id, since=window.since, limit=limit, known=known)
    return [row[:2] for row in rows], {row[:2]: _from_json(row[2]) for row in rows if row[2] is not None}


def _from_json(values: list[Any]) -> Row:
    # A whole number is written like an integer there.
    values[_SIGNAL] = float(values[_SIGNAL])
    return tuple(values)


def newest(run: Transaction, window: Window, limit: int) -> dict[Version, Row]:
    """The same with the rows themselves."""
    return _by_version(run.all("hot_log_rows", timeline_id=window.timeline_id, since=window.since, limit=limit))


def rows_of(run: Transaction, timeline_id: str, ids: Iterable[str]) -> dict[Version, Row]:
    """Those of some events that are there, whatever versions they are of by now."""
    return _by_version(run.all("hot_log_rows_of", timeline_id=timeline_id, ids=json.dumps(list(ids))))


def _by_version(rows: list[Row]) -> dict[Version, Row]:
    return {(row[3], row[0]): row[1:] for row in rows}
