"""Copy of a whole database into another, of either engine, while the source is in use.

- The source is read in one snapshot; the target is written in batches, and belongs to the copy alone.
- The rows of each table are read from both in the order of their keys, and differences are put right in the target. So
  a copy that was killed continues when it is started again: rows that are there already and equal are passed over.
- The target carries a mark with a hash of the source's address until it is complete. A target that is not empty is
  refused unless it has the mark of the same source. The mark is a row among the erasures, which are copied last: the
  source does not have it, so it goes with the last differences.
- After each table both are compared, by the count and the hash of its rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from longmind.errors import Conflict, StoreError
from longmind.store.database import Database, Row, Transaction
from longmind.store.queries import EngineName, NamedQuery, make_query
from longmind.store.whole_tables.user_rows import TableColumns, list_parameters, list_quoted, quote, read_columns
from longmind.store.whole_tables.user_tables import COPIED_TABLES

_AT_ONCE = 500
MARK = "copy:"

CopyProgress = Callable[[str, int, int], None]
"""Called with the name of a table, the number of its rows that are done, and the number of all."""


@dataclass(frozen=True)
class CopiedTable:
    """The result for a table, which is the same in both databases now."""

    rows: int
    sha256: str
    written: int
    """Rows that were inserted, changed or deleted in the target."""


class RowDigest:
    """The count and the hash of rows that were read, in the order of their keys."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.sha256()

    def watch(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows, and count and hash each as it goes by."""
        for row in rows:
            self.rows += 1
            self._hash.update(repr(row).encode("utf-8", "surrogatepass"))
            yield row

    @property
    def sha256(self) -> str:
        """The hash of the rows so far."""
        return self._hash.hexdigest()


def copy_database(source: Database, target: Database, address: str, progress: CopyProgress) -> dict[str, CopiedTable]:
    """Make the target equal to the source, and return the result for each table.

    address: the address of the source; a hash of it marks the target until it is complete.
    """
    sources, targets = learn_tables(source), learn_tables(target)
    _mark_target(target, [table.name for table in targets], MARK + hashlib.sha256(address.encode()).hexdigest()[:32])
    copied = source.read_snapshot(None, _copy_tables, target, sources, targets, progress)
    target.advance_ledger_sequence()
    return copied


def learn_tables(database: Database) -> list[TableColumns]:
    """Return the tables of a copy with their columns, and give the database the statements on them."""
    found = database.read(None, lambda run: [read_columns(run, place) for place in COPIED_TABLES])
    # Sorted by name, since migrations add columns in another order on either engine.
    tables = [replace(table, kinds=dict(sorted(table.kinds.items()))) for table in found]
    for table in tables:
        database.add_queries(_make_queries(table, database.engine))
    return tables


def _mark_target(target: Database, tables: list[str], mark: str) -> None:
    marks = [row[0] for row in target.read(None, lambda run: run.all("copy_begun"))]
    if marks and marks != [mark]:
        raise Conflict(
            "The target holds an unfinished copy of another database.",
            hint="Finish that copy, or copy into a new database.",
        )
    if not marks:
        filled = target.read(None, list_filled, tables)
        if filled:
            raise Conflict(
                f"The target database is not empty: {filled[0]} has rows.",
                hint="Copy into a new database. Only a copy that was interrupted can go on in the same one.",
            )
        target.write(None, lambda run: run.send("begin_copy", mark=mark))


def list_filled(run: Transaction, tables: list[str]) -> list[str]:
    """Return the tables that have rows."""
    return [name for name in tables if run.one(f"copy_any_{name}")]


def _copy_tables(
    run: Transaction, target: Database, sources: list[TableColumns], targets: list[TableColumns], progress: CopyProgress
) -> dict[str, CopiedTable]:
    # The erasures come last, and with them the mark of the copy goes.
    return {
        table.name: _copy_table(run, target, table, target_table, progress)
        for table, target_table in zip(sources, targets, strict=True)
    }


def _copy_table(
    run: Transaction, target: Database, table: TableColumns, target_table: TableColumns, progress: CopyProgress
) -> CopiedTable:
    counted = run.one(f"copy_count_{table.name}")
    total = int(counted[0]) if counted else 0
    digest = RowDigest()

    def read_source() -> Iterator[Row]:
        rows = (table.normalise(row) for row in run.each(f"copy_all_{table.name}"))
        for row in digest.watch(rows):
            yield row
            if digest.rows % _AT_ONCE == 0:
                progress(table.name, digest.rows, total)

    def write_differences(target_run: Transaction) -> int:
        known = (target_table.normalise(row) for row in target_run.each(f"copy_all_{target_table.name}"))
        steps = _find_differences(
            read_source(), known, [target_table.columns.index(column) for column in target_table.key]
        )
        written = 0
        while batch := list(islice(steps, _AT_ONCE)):
            target.write(None, _apply, target_table, batch)
            written += len(batch)
        return written

    written = target.read_snapshot(None, write_differences)
    progress(table.name, digest.rows, total)
    found = target.read_snapshot(None, digest_table, target_table)
    if (found.rows, found.sha256) != (digest.rows, digest.sha256):
        raise StoreError(
            f"The copy of {table.name} has {found.rows:,} rows and differs from the source with {digest.rows:,}.",
            hint="Stop other writers to the target, and copy again.",
        )
    return CopiedTable(digest.rows, digest.sha256, written)


RowStep = tuple[Row | None, Row | None]
"""A row to delete and a row to insert: one of them, or both where a row has changed."""


def _find_differences(source: Iterator[Row], target: Iterator[Row], key: list[int]) -> Iterator[RowStep]:
    """Yield the steps that make the rows of the target those of the source. Both come in the order of their keys."""
    new, old = next(source, None), next(target, None)
    while new is not None or old is not None:
        left = None if new is None else _to_sort_key(new, key)
        right = None if old is None else _to_sort_key(old, key)
        if right is None or (left is not None and left < right):
            yield None, new
            new = next(source, None)
        elif left is None or right < left:
            yield old, None
            old = next(target, None)
        else:
            if new != old:
                yield old, new
            new, old = next(source, None), next(target, None)


def _to_sort_key(row: Row, key: list[int]) -> tuple[Any, ...]:
    # Both engines order text by its bytes.
    return tuple(value.encode() if isinstance(value, str) else value for value in (row[place] for place in key))


def _apply(run: Transaction, table: TableColumns, steps: list[RowStep]) -> None:
    for old_row, _ in steps:
        if old_row is not None:
            key = {f"k{number}": old_row[table.columns.index(column)] for number, column in enumerate(table.key)}
            run.send(f"copy_drop_{table.name}", **key)
    for _, new_row in steps:
        if new_row is not None:
            run.send(f"copy_put_{table.name}", **table.bind(table.columns, new_row))


def digest_table(run: Transaction, table: TableColumns) -> RowDigest:
    """Return the count and the hash of all rows of a table."""
    digest = RowDigest()
    for _ in digest.watch(table.normalise(row) for row in run.each(f"copy_all_{table.name}")):
        pass
    return digest


def _make_queries(table: TableColumns, engine: EngineName) -> dict[str, NamedQuery]:
    name, columns = table.name, table.columns
    given = "OVERRIDING SYSTEM VALUE " if engine == "postgres" and table.place.generated_column else ""
    key = " AND ".join(f"{quote(column)} = :k{number}" for number, column in enumerate(table.key))
    order = ", ".join(map(quote, table.key))
    texts = {
        f"copy_any_{name}": f"SELECT 1 FROM {name} LIMIT 1",
        f"copy_count_{name}": f"SELECT COUNT(*) FROM {name}",
        f"copy_all_{name}": f"SELECT {list_quoted(columns)} FROM {name} ORDER BY {order}",
        f"copy_put_{name}": f"INSERT INTO {name} ({list_quoted(columns)}) {given}VALUES ({list_parameters(columns)})",
        f"copy_drop_{name}": f"DELETE FROM {name} WHERE {key}",
        f"copy_clear_{name}": f"DELETE FROM {name}",
    }
    return {each: make_query(each, text, engine) for each, text in texts.items()}
