"""Whole rows of users, read from the tables, inserted and erased.

The statements name all columns that a table has in this database, so they are built once the columns were read, and are
the only SQL besides the copy that stands in no `.sql` file. Names of tables and columns come from the schema alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from longmind.scope import Scope
from longmind.store.database import Database, PendingRow, Row, Transaction
from longmind.store.queries import EngineName, NamedQuery, make_query
from longmind.store.whole_tables.user_tables import USER_TABLES, UserTable


@dataclass(frozen=True)
class TableColumns:
    """A table of users with the columns that it has in this database."""

    place: UserTable
    kinds: Mapping[str, str]
    """Its columns in their order, each with the engine's name of its type."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(self.kinds)

    @cached_property
    def truths(self) -> frozenset[str]:
        """Columns of type boolean. SQLite has none: there they are 1 or 0."""
        return frozenset(name for name, kind in self.kinds.items() if kind == "boolean")

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.place.table

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of its primary key."""
        return (self.place.partition, *self.place.key)

    def normalise(self, row: Row) -> Row:
        """Return a row with the same values on both engines: 1 and 0 for true and false."""
        return tuple(int(value) if value is True or value is False else value for value in row)

    def bind(self, columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
        """Return a row as the parameters of a statement on some columns."""
        return {
            f"c{place}": bool(value) if column in self.truths and value is not None else value
            for place, (column, value) in enumerate(zip(columns, row, strict=True))
        }


class UserTableColumns:
    """The tables of users of a database. Their columns are read when they are first needed; threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._found: dict[str, TableColumns] | None = None

    @property
    def all(self) -> Mapping[str, TableColumns]:
        """The tables by their names, in the order in which an erasure takes them."""
        with self._lock:
            # Read once: migrations run before this is used.
            if self._found is None:
                found = self._database.read(None, lambda run: [read_columns(run, place) for place in USER_TABLES])
                for table in found:
                    self._database.add_queries(_make_queries(table, self._database.engine))
                self._found = {table.name: table for table in found}
            return self._found


def read_columns(run: Transaction, place: UserTable) -> TableColumns:
    """Return a table with the columns that it has in this database."""
    return TableColumns(place, dict(run.all("table_columns", table=place.table)))


def read_rows(run: Transaction, table: TableColumns, scope: Scope) -> Iterator[Row]:
    """Yield the rows of a user one after another. Only inside of `read_snapshot`."""
    for row in run.each(f"rows_of_{table.name}", user_id=scope.user_id):
        yield table.normalise(row)


def count_rows(run: Transaction, table: TableColumns, scope: Scope) -> int:
    """Return how many rows of a table belong to a user."""
    row = run.one(f"count_of_{table.name}", user_id=scope.user_id)
    return int(row[0]) if row else 0


def erase_rows(run: Transaction, table: TableColumns, scope: Scope) -> int:
    """Erase the rows of a user, and return how many there were."""
    rows = count_rows(run, table, scope)
    if rows:
        run.send(f"erase_{table.name}", user_id=scope.user_id)
    return rows


def import_row(run: Transaction, table: TableColumns, row: Sequence[Any]) -> PendingRow:
    """Insert a row of the imported columns; a row comes back unless its key is taken already."""
    return run.send(f"take_{table.name}", **table.bind(list_imported_columns(table), row))


def find_row(run: Transaction, table: TableColumns, row: Sequence[Any]) -> Row | None:
    """Return the stored row that has the same key as an imported row; None if there is none."""
    values = dict(zip(list_imported_columns(table), row, strict=True))
    key = {f"k{number}": values[column] for number, column in enumerate(table.place.key)}
    return run.one(f"find_{table.name}", **key)


def read_files(run: Transaction) -> dict[str, int]:
    """Return the number of the file that each table is in; nothing where all tables share one file."""
    return dict(run.all("table_files"))


def list_imported_columns(table: TableColumns) -> tuple[str, ...]:
    """Return the columns that an imported row has: all but one that the database fills itself."""
    return tuple(column for column in table.columns if column != table.place.generated_column)


def _make_queries(table: TableColumns, engine: EngineName) -> dict[str, NamedQuery]:
    place, name, columns = table.place, table.name, list_imported_columns(table)
    order = ", ".join(map(quote, place.order or table.key))
    texts = {
        f"rows_of_{name}": f"SELECT {list_quoted(table.columns)} FROM {name} WHERE {place.condition} ORDER BY {order}",
        f"count_of_{name}": f"SELECT COUNT(*) FROM {name} WHERE {place.condition}",
        f"erase_{name}": f"DELETE FROM {name} WHERE {place.condition}",
        f"take_{name}": f"INSERT INTO {name} ({list_quoted(columns)}) VALUES ({list_parameters(columns)}) "
        "ON CONFLICT DO NOTHING RETURNING 1",
        f"find_{name}": f"SELECT {list_quoted(columns)} FROM {name} WHERE {place.partition} = :{place.partition} AND "
        + " AND ".join(f"{quote(column)} = :k{number}" for number, column in enumerate(place.key)),
    }
    return {each: make_query(each, text, engine) for each, text in texts.items()}


def quote(column: str) -> str:
    """Return a column as it stands in a statement."""
    return f'"{column}"'


def list_quoted(columns: Sequence[str]) -> str:
    """Return columns as a list in a statement."""
    return ", ".join(map(quote, columns))


def list_parameters(columns: Sequence[str]) -> str:
    """Return the parameters for as many columns, as `TableColumns.bind` names them."""
    return ", ".join(f":c{number}" for number in range(len(columns)))
