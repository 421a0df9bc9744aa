"""Brings what was exported into a database, all of it or nothing.

Rows keep their ids and become the target's in every column that says whose they are. The audit stays where it was
written. Jobs that were being worked on wait here; segments of the search index come along.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from longmind.admin.import_rows import check_index, check_row
from longmind.admin.import_sources import Records
from longmind.errors import Conflict, InvalidInput
from longmind.scope import Scope, rename_timeline
from longmind.store.database import Transaction
from longmind.store.tables import erasures
from longmind.store.tables.spaces import REVISIONS_OF_AN_EPOCH
from longmind.store.whole_tables import rows as moving
from longmind.store.whole_tables.rows import TableColumns

_AT_ONCE = 500
_REVISIONS = {"spaces": ("revision", "names_revision"), "atom_removals": ("revision",), "fact_segments": ("revision",)}


@dataclass(frozen=True)
class _Move:
    """From whom to whom, and how often the target was erased."""

    source: Scope
    target: Scope
    epoch: int

    def user(self, name: Any) -> Any:
        return self.target.user_id if name == self.source.user_id else name


def bring_in(run: Transaction, records: Records, tables: Sequence[TableColumns], target: Scope) -> dict[str, int]:
    """Put rows into a scope that has none yet; gives how many were new. The same export again changes nothing."""
    move = _Move(records.scope, target, erasures.read_epoch(run))
    told = [table for table in tables if table.place.imported and records.columns(table.name)]
    try:
        check_index(records)
        return {table.name: _bring(run, table, records, move) for table in told}
    except InvalidInput:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidInput("The export has rows that have not the shape of any.") from error


def _bring(run: Transaction, table: TableColumns, records: Records, move: _Move) -> int:
    columns = _matched(table, records.columns(table.name))
    rows = (_moved(table, dict(zip(columns, row, strict=True)), move) for row in records.rows(table.name))
    new = 0
    for batch in _batches(rows):
        asked = [moving.import_row(run, table, row) for row in batch]
        for row, answer in zip(batch, asked, strict=True):
            if answer() is not None:
                new += 1
            else:
                _refuse_another(run, table, row)
    return new


def _matched(table: TableColumns, columns: list[str]) -> list[str]:
    unknown = set(columns) - set(table.columns)
    if unknown:
        raise InvalidInput(
            f"The export has {sorted(unknown)} in {table.name}, which this Longmind does not know.",
            hint="Import it with the version that exported it, or a newer one.",
        )
    return columns


def _moved(table: TableColumns, row: dict[str, Any], move: _Move) -> list[Any]:
    """A row as it stands in the target, in the order of the columns there."""
    target = move.target
    mine = {"scope_id": target.id, "app_key": target.app_key, "tenant_id": target.tenant_id, "app_id": target.app_id}
    row |= {name: value for name, value in mine.items() if name in row}
    for name in ("user_id", "owner_id", "speaker"):
        if name in row:
            row[name] = move.user(row[name])
    match table.name:
        case "bindings":
            row["conversation_scope"] = _renamed(row["conversation_scope"], move)
            row["spaces"] = _renamed(row["spaces"], move)
        case "events" if row["timeline_id"] is not None:
            row["timeline_id"] = rename_timeline(row["timeline_id"], move.source, target)
        case "jobs":
            row["epoch"] = move.epoch
            if row["status"] == "running":
                row |= {"status": "queued", "worker": None, "due_at": row["created_at"]}
        case "atoms" if row["revision"]:
            row["revision"] += move.epoch * REVISIONS_OF_AN_EPOCH
    for name in _REVISIONS.get(table.name, ()):
        row[name] += move.epoch * REVISIONS_OF_AN_EPOCH
    check_row(table, row)
    return [row.get(column) for column in moving.list_imported_columns(table)]


def _renamed(text: str, move: _Move) -> str:
    """JSON that names a user, with the target in the place of the source."""
    told = json.loads(text)
    for each in told if isinstance(told, list) else [told]:
        each |= {name: move.user(each[name]) for name in ("user_id", "userId", "owner") if name in each}
    return json.dumps(told, ensure_ascii=False)


def _refuse_another(run: Transaction, table: TableColumns, row: list[Any]) -> None:
    """A row whose place is taken must be the one that is there, or this is not the same export again."""
    there = moving.find_row(run, table, row)
    if there is None or table.plain(there) != table.plain(tuple(row)):
        raise Conflict(
            f"There is other data in {table.name} already, under the same ids.",
            hint="Import into a user who has nothing yet: erase what is there, or give another user_id.",
        )


def _batches(rows: Iterator[list[Any]]) -> Iterator[list[list[Any]]]:
    while batch := list(islice(rows, _AT_ONCE)):
        yield batch
