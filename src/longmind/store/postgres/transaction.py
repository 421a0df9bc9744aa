"""A transaction on PostgreSQL: named statements bound to one scope, sent over one connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any

import psycopg

from longmind.scope import AnyScope
from longmind.store.database import Announcements, PendingRow, Row, ScopeKeys, describe_unstorable, to_scope_keys
from longmind.store.postgres.column_arrays import split_into_columns, to_parameters
from longmind.store.postgres.connection import ScopedConnection
from longmind.store.postgres.wire import StatementAnswer
from longmind.store.queries import NamedQuery

_ROWS_AT_ONCE = 500
_SINGLE_ROW_QUERIES = {"insert_atoms": "insert_atom"}
"""Statements for many rows that have a cheaper form for one row."""
_cursor_numbers = count(1)


class PostgresTransaction(Announcements):
    """Statements of one unit of work.

    It belongs to the thread that runs the unit of work and is of no use after it: the connection goes back to the
    pool. `PostgresDatabase` begins and commits; this class only sends what stands between.
    """

    def __init__(self, connection: ScopedConnection, queries: dict[str, NamedQuery], keys: ScopeKeys) -> None:
        # The statements of the parent's constructor, without the call: every read makes a transaction.
        self.changes = []
        self.scope_id, self._app_key = keys
        self._connection = connection
        self._queries = queries

    @property
    def history(self) -> object:
        return self._connection.history

    def _run(self, query: str, values: dict[str, Any]) -> StatementAnswer:
        return self._send_with(self._connection.run_statement, query, values)

    def _send_with(
        self, send: Callable[[str, Sequence[Any]], StatementAnswer], query: str, values: dict[str, Any]
    ) -> StatementAnswer:
        try:
            return send(self._queries[query].text, self._order_values(query, values))
        except UnicodeEncodeError as error:
            raise describe_unstorable(error) from None

    def _order_values(self, query: str, values: dict[str, Any]) -> list[Any]:
        """Bind the scope and return the values in the order of the statement's numbered parameters."""
        values["scope_id"] = self.scope_id
        values["app_key"] = self._app_key
        return list(map(values.__getitem__, self._queries[query].names))

    def one(self, query: str, **values: Any) -> Row | None:
        return self._run(query, values).one()

    def all(self, query: str, **values: Any) -> list[Row]:
        return self._run(query, values).all()

    def each(self, query: str, **values: Any) -> Iterator[Row]:
        # A cursor on the server, so that the rows of a large user are never in memory all at once.
        with psycopg.RawServerCursor(self._connection, f"each_{next(_cursor_numbers)}") as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(self._queries[query].text, self._order_values(query, values))
            yield from cursor

    def lift_time_limit(self) -> None:
        self._connection.lift_time_limit()

    @contextmanager
    def bind_scope(self, scope: AnyScope | None) -> Iterator[PostgresTransaction]:
        own, keys = ScopeKeys(self.scope_id, self._app_key), to_scope_keys(scope)
        other = PostgresTransaction(self._connection, self._queries, keys)
        other.changes = self.changes
        self._connection.enter_scope(keys)
        yield other
        # Not in a `finally`: an error abandons the transaction, and the scope with it.
        self._connection.enter_scope(own)

    def ask(self, query: str, **values: Any) -> PendingRow:
        return self._send_with(self._connection.begin_statement, query, values).one

    def send(self, query: str, **values: Any) -> PendingRow:
        return self._run(query, values).one

    def insert_each(self, query: str, rows: Mapping[str, Sequence[Any]], **values: Any) -> None:
        if query in _SINGLE_ROW_QUERIES and len(next(iter(rows.values()))) == 1:
            self._run(_SINGLE_ROW_QUERIES[query], {**values, **{name: column[0] for name, column in rows.items()}})
        else:
            self._send_parts(query, rows, values)
        self._connection.push()

    def _send_parts(
        self, query: str, rows: Mapping[str, Sequence[Any]], values: dict[str, Any]
    ) -> list[StatementAnswer]:
        """Send rows as arrays that the statement unnests; in parts, since no PostgreSQL value may reach a gigabyte."""
        sent = []
        for start in range(0, len(next(iter(rows.values()))), _ROWS_AT_ONCE):
            part = {name: column[start : start + _ROWS_AT_ONCE] for name, column in rows.items()}
            sent.append(self._run(query, {**values, **to_parameters(part)}))
        return sent

    def number_each(
        self, query: str, columns: Sequence[str], rows: Sequence[Row], **values: Any
    ) -> Callable[[], Sequence[int]]:
        sent = [
            answer for part in split_into_columns(columns, rows) for answer in self._send_parts(query, part, values)
        ]
        return cache(lambda: [number for answer in sent for (number,) in answer.all()])
