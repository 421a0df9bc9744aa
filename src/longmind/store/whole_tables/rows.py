"""Whole rows of users, out of the tables and into them: statements on all the columns that a table has."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from longmind.scope import Scope
from longmind.store.database import Database, PendingRow, Row, Transaction
from longmind.store.queries import EngineName, Query, make_query
from longmind.store.whole_tables.user_tables import USER_TABLES, UserTable


@dataclass(frozen=True)
class TableColumns:
    """A place, and the columns that its rows have in this database."""

    place: UserTable
    kinds: Mapping[str, str]
    """Its columns, in their order, each with the type that the engine calls it."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    @cached_property
    def truths(self) -> frozenset[str]:
        """Columns that are true or false where the engine has such a type; elsewhere they are 1 or 0."""
        return frozenset(name for name, kind in self.kinds.items() if kind == "boolean")

    @property
    def name(self) -> str:
        return self.place.table

    @property
    def key(self) -> tuple[str, ...]:
        return (self.place.partition, *self.place.key)

    def plain(self, row: Row) -> Row:
        """A row in the same words on both engines."""
        return tuple(int(value) if value is True or value is False else value for value in row)

    def bound(self, columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
        """A row as the parameters of a statement on some columns."""
        return {
            f"c{place}": bool(value) if column in self.truths and value is not None else value
            for place, (column, value) in enumerate(zip(columns, row, strict=True))
        }


class UserTableColumns:
    """The places of a database; made once, since it asks for the columns of each."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._found: dict[str, TableColumns] | None = None

    @property
    def all(self) -> Mapping[str, TableColumns]:
        with self._lock:
            if self._found is None:
                found = self._database.read(None, lambda run: [read_columns(run, place) for place in USER_TABLES])
                for table in found:
                    self._database.add_queries(_make_queries(table, self._database.engine))
                self._found = {table.name: table for table in found}
            return self._found


def read_columns(run: Transaction, place: UserTable) -> TableColumns:
    return TableColumns(place, dict(run.all("table_columns", table=place.table)))


def read_rows(run: Transaction, table: TableColumns, scope: Scope) -> Iterator[Row]:
    """The rows of a user, however many they are. Only inside of `read_snapshot`."""
    for row in run.each(f"rows_of_{table.name}", user_id=scope.user_id):
        yield table.plain(row)


def count_rows(run: Transaction, table: TableColumns, scope: Scope) -> int:
    row = run.one(f"count_of_{table.name}", user_id=scope.user_id)
    return int(row[0]) if row else 0


def erase_rows(run: Transaction, table: TableColumns, scope: Scope) -> int:
    """Remove the rows of a user; gives how many they were."""
    rows = count_rows(run, table, scope)
    if rows:
        run.send(f"erase_{table.name}", user_id=scope.user_id)
    return rows


def import_row(run: Transaction, table: TableColumns, row: Sequence[Any]) -> PendingRow:
    """Insert a row of the columns `taken`; a row comes back unless its place is taken already."""
    return run.send(f"take_{table.name}", **table.bound(list_imported_columns(table), row))


def find_row(run: Transaction, table: TableColumns, row: Sequence[Any]) -> Row | None:
    """Return the row that has the place of a row of the columns `taken`."""
    values = dict(zip(list_imported_columns(table), row, strict=True))
    key = {f"k{number}": values[column] for number, column in enumerate(table.place.key)}
    return run.one(f"find_{table.name}", **key)


def read_files(run: Transaction) -> dict[str, int]:
    """Return the number of the file that each table is in; nothing where all tables share one file."""
    return dict(run.all("table_files"))


def list_imported_columns(table: TableColumns) -> tuple[str, ...]:
    """The columns that a row is brought in with."""
    return tuple(column for column in table.columns if column != table.place.numbered_anew)


def _make_queries(table: TableColumns, engine: EngineName) -> dict[str, Query]:
    place, name, columns = table.place, table.name, list_imported_columns(table)
    order = ", ".join(map(quote, place.order or table.key))
    texts = {
        f"rows_of_{name}": f"SELECT {list_quoted(table.columns)} FROM {name} WHERE {place.whose} ORDER BY {order}",
        f"count_of_{name}": f"SELECT COUNT(*) FROM {name} WHERE {place.whose}",
        f"erase_{name}": f"DELETE FROM {name} WHERE {place.whose}",
        f"take_{name}": f"INSERT INTO {name} ({list_quoted(columns)}) VALUES ({list_parameters(columns)}) "
        "ON CONFLICT DO NOTHING RETURNING 1",
        f"find_{name}": f"SELECT {list_quoted(columns)} FROM {name} WHERE {place.partition} = :{place.partition} AND "
        + " AND ".join(f"{quote(column)} = :k{number}" for number, column in enumerate(place.key)),
    }
    return {each: make_query(each, text, engine) for each, text in texts.items()}


def quote(column: str) -> str:
    return f'"{column}"'


def list_quoted(columns: Sequence[str]) -> str:
    return ", ".join(map(quote, columns))


def list_parameters(columns: Sequence[str]) -> str:
    return ", ".join(f":c{number}" for number in range(len(columns)))
