"""Import of a user's rows into a database, all of them or none.

Rows keep their ids. In every column that names their user, tenant or app they become those of the target. The audit
stays where it was written, since it says what was done there. Jobs that a worker had are queued again, and segments of
the search index come along, so that nothing has to be indexed. Revisions move to the epoch of the target: a cache that
has known an erased memory does not take the imported one for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from longmind.admin.import_rows import check_index, check_row
from longmind.admin.import_sources import ImportedRecords
from longmind.errors import Conflict, InvalidInput
from longmind.scope import Scope, rename_timeline
from longmind.store.database import Transaction
from longmind.store.tables import bindings, erasures, passages
from longmind.store.tables.spaces import REVISIONS_OF_AN_EPOCH
from longmind.store.text_hash import hash_text
from longmind.store.whole_tables import user_rows as table_rows
from longmind.store.whole_tables.user_rows import TableColumns
from longmind.store.whole_tables.user_tables import TENANT_TABLES

_AT_ONCE = 500
_REVISIONS = {
    "spaces": ("revision", "names_revision"),
    "atom_removals": ("revision",),
    "decisions": ("revision",),
    "fact_segments": ("revision",),
}


@dataclass(frozen=True)
class _ScopeMove:
    """The scopes that rows are moved from and to, and the epoch of the target."""

    source: Scope
    target: Scope
    epoch: int

    def user(self, name: Any) -> Any:
        """Return the user id that stands for one of the export."""
        return self.target.user_id if name == self.source.user_id else name


def import_records(
    run: Transaction, records: ImportedRecords, tables: Sequence[TableColumns], target: Scope
) -> dict[str, int]:
    """Insert the rows of an export, and return how many of each table were new.

    Importing the same export again changes nothing. Raise Conflict if there is another row under the id of one, and
    InvalidInput for a row that no export of this database would have.
    """
    move = _ScopeMove(records.scope, target, erasures.read_epoch(run))
    present = [table for table in tables if table.place.imported and records.columns(table.name)]
    try:
        check_index(records)
        # Caches know nothing of imported messages, nor of those among them that must not be quoted.
        passages.begin_epoch(run)
        bindings.raise_revision(run)
        counts = {table.name: _import_table(run, table, records, move) for table in present}
        return counts | _import_tenant_blocks(run, tables, records, move)
    except InvalidInput:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidInput("The export has rows of unknown structure.", hint="Import the export unchanged.") from error


def _import_table(run: Transaction, table: TableColumns, records: ImportedRecords, move: _ScopeMove) -> int:
    """Insert the rows of one table, and return how many were new."""
    new = 0
    for batch in _split_batches(_read_moved(table, table.name, records, move)):
        # All of a batch is sent before the first answer is waited for.
        answers = [table_rows.import_row(run, table, row) for row in batch]
        for row, answer in zip(batch, answers, strict=True):
            if answer() is not None:
                new += 1
            else:
                _refuse_other_row(run, table, row)
    return new


def _import_tenant_blocks(
    run: Transaction, tables: Sequence[TableColumns], records: ImportedRecords, move: _ScopeMove
) -> dict[str, int]:
    """Insert the memory blocks that apps of the tenant share, and return how many rows were new.

    A block that the target has stays as it is, with its own revisions: other apps have gone on writing it.
    """
    if not records.columns("tenant_blocks") or next(records.rows("tenant_blocks"), None) is None:
        return {}
    owner = move.target.block_owner
    if owner is move.target:
        raise InvalidInput(
            "The export has memory blocks of the user in the whole tenant, and the target's app shares none.",
            hint="Name the app in the setting apps_sharing_blocks of the engine that imports.",
        )
    owner_move = replace(move, target=owner)
    table_by_name = {table.name: table for table in tables}
    imported: set[tuple[Any, ...]] = set()
    counts: dict[str, int] = {}
    with run.bind_scope(owner) as owner_run:
        # Blocks first: the revisions of those that were there already are passed over.
        for name, table_name in TENANT_TABLES.items():
            table = table_by_name[table_name]
            places = [table_rows.list_imported_columns(table).index(column) for column in ("agent_id", "block_type")]
            counts[name] = 0
            for row in _read_moved(table, name, records, owner_move):
                block = tuple(row[place] for place in places)
                if table_name != "blocks" and block not in imported:
                    continue
                if table_rows.import_row(owner_run, table, row)() is not None:
                    counts[name] += 1
                    imported.add(block)
    return counts


def _read_moved(table: TableColumns, name: str, records: ImportedRecords, move: _ScopeMove) -> Iterator[list[Any]]:
    """Yield the rows that an export has of a table under a name, as they stand in the target."""
    columns = _check_columns(table, records.columns(name))
    return (_move_row(table, dict(zip(columns, row, strict=True)), move) for row in records.rows(name))


def _check_columns(table: TableColumns, columns: list[str]) -> list[str]:
    """Return the columns that the export has of a table; raise InvalidInput for one that this version does not know."""
    unknown = set(columns) - set(table.columns)
    if unknown:
        raise InvalidInput(
            f"The export has unknown columns in {table.name}: {sorted(unknown)}.",
            hint="Import it with the version that exported it, or a newer one.",
        )
    return columns


def _move_row(table: TableColumns, row: dict[str, Any], move: _ScopeMove) -> list[Any]:
    """Return a row as it stands in the target, in the order of the columns there."""
    target = move.target
    mine = {"scope_id": target.id, "app_key": target.app_key, "tenant_id": target.tenant_id, "app_id": target.app_id}
    row |= {name: value for name, value in mine.items() if name in row}
    for name in ("user_id", "owner_id", "speaker"):
        if name in row:
            row[name] = move.user(row[name])
    match table.name:
        case "bindings":
            # JSON in a column may name users too.
            row["conversation_scope"] = _rename_user(row["conversation_scope"], move)
            row["spaces"] = _rename_user(row["spaces"], move)
        case "events" if row["timeline_id"] is not None:
            row["timeline_id"] = rename_timeline(row["timeline_id"], move.source, target)
        case "jobs":
            row["epoch"] = move.epoch
            # Its worker is elsewhere, and cannot finish it here.
            if row["status"] == "running":
                row |= {"status": "queued", "worker": None, "due_at": row["created_at"]}
        case "atoms":
            if row["revision"]:
                row["revision"] += move.epoch * REVISIONS_OF_AN_EPOCH
            row.setdefault("metadata", "{}")
    for name in _REVISIONS.get(table.name, ()):
        row[name] += move.epoch * REVISIONS_OF_AN_EPOCH
    check_row(table, row)
    if table.name == "atoms":
        # Exports of older versions have no hashes, and a wrong one would be of no use.
        row["text_hash"] = hash_text(row["text"])
    return [row.get(column) for column in table_rows.list_imported_columns(table)]


def _rename_user(text: str, move: _ScopeMove) -> str:
    """Return JSON that names users, with the target in the place of the source."""
    value = json.loads(text)
    for each in value if isinstance(value, list) else [value]:
        each |= {name: move.user(each[name]) for name in ("user_id", "userId", "owner") if name in each}
    return json.dumps(value, ensure_ascii=False)


def _refuse_other_row(run: Transaction, table: TableColumns, row: list[Any]) -> None:
    """Raise Conflict unless the row under the same key is the same: then this is the same export again."""
    existing = table_rows.find_row(run, table, row)
    if existing is None or table.normalise(existing) != table.normalise(tuple(row)):
        raise Conflict(
            f"{table.name} already holds other data under the same ids.",
            hint="Erase the user first, or pass the user_id of a user without data.",
        )


def _split_batches(rows: Iterator[list[Any]]) -> Iterator[list[list[Any]]]:
    """Yield the rows as many at a time as are sent before an answer is waited for."""
    while batch := list(islice(rows, _AT_ONCE)):
        yield batch
