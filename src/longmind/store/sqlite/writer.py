"""The one writer of a SQLite file: a thread that does the work of all who wait in one transaction.

Many callers so share one sync of the disk. The thread is its own, because Ctrl-C and signal handlers strike the main
thread: they interrupt a caller who waits, never a transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import apsw

from longmind.errors import EngineClosed, OutcomeUnknown, StoreError
from longmind.scope import AnyScope
from longmind.store.database import (
    Announcements,
    ChangeBatch,
    PendingRow,
    Publisher,
    Row,
    ScopeKeys,
    describe_unstorable,
    to_scope_keys,
)
from longmind.store.queries import Query, for_many

T = TypeVar("T")

_AT_ONCE = 256
_ROWS_OF_A_STATEMENT = 50


class SqliteTransaction(Announcements):
    # What a file was told to keep it keeps: who has it open has all there ever was.
    history: object = None

    def __init__(self, connection: apsw.Connection, queries: dict[str, Query], keys: ScopeKeys) -> None:
        super().__init__()
        self.scope_id, self._app_key = keys
        self._connection = connection
        self._execute = connection.execute
        self._executemany = connection.executemany
        self._queries = queries

    def _run(self, query: str, values: dict[str, Any]) -> apsw.Cursor:
        values["scope_id"] = self.scope_id
        values["app_key"] = self._app_key
        try:
            # SQLite numbers names in the order in which they first appear, and numbers are bound faster than names.
            return self._execute(self._queries[query].text, [values[name] for name in self._queries[query].names])
        except UnicodeEncodeError as error:
            raise describe_unstorable(error) from None

    def one(self, query: str, **values: Any) -> Row | None:
        return next(self._run(query, values), None)

    def all(self, query: str, **values: Any) -> list[Row]:
        return list(self._run(query, values))

    def each(self, query: str, **values: Any) -> Iterator[Row]:
        return self._run(query, values)

    def lift_time_limit(self) -> None:
        """Nothing to do: nobody but this process itself could end it."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """See the database as it is now until the block ends."""
        try:
            # Here, since an interrupt may come when it has begun, before there is anybody to end it.
            self._execute("BEGIN")
            yield
        finally:
            if self._connection.in_transaction:
                self._execute("COMMIT")

    @contextmanager
    def bind_scope(self, scope: AnyScope | None) -> Iterator[SqliteTransaction]:
        there = SqliteTransaction(self._connection, self._queries, to_scope_keys(scope))
        there.changes = self.changes
        yield there

    def ask(self, query: str, **values: Any) -> PendingRow:
        rows = list(self._run(query, values))
        return lambda: rows[0] if rows else None

    send = ask

    def insert_each(self, query: str, rows: Mapping[str, Sequence[Any]], **values: Any) -> None:
        values["scope_id"] = self.scope_id
        columns = [rows[name] if name in rows else repeat(values[name]) for name in self._queries[query].names]
        self._insert(query, list(zip(*columns, strict=False)))

    def number_each(
        self, query: str, columns: Sequence[str], rows: Sequence[Row], **values: Any
    ) -> Callable[[], Sequence[int]]:
        names = self._queries[query].names
        if names != ("scope_id", *values, *columns):
            raise StoreError(f"The statement {query} takes its values in another order: {', '.join(names)}.")
        same = (self.scope_id, *values.values())
        self._insert(query, rows, same)
        # Nobody else writes meanwhile, so the numbers follow one another: that is sooner than to be told each.
        end = self._connection.last_insert_rowid() + 1
        numbers = range(end - len(rows), end)
        return lambda: numbers

    def _insert(self, query: str, rows: Sequence[Row], same: Row = ()) -> None:
        """Insert rows; the values that are the same for all of them come before the others."""
        # What a statement costs beside its rows is paid once for many of them.
        many = len(rows) - len(rows) % _ROWS_OF_A_STATEMENT
        for first in range(0, many, _ROWS_OF_A_STATEMENT):
            values = [*same, *chain.from_iterable(rows[first : first + _ROWS_OF_A_STATEMENT])]
            self._execute(for_many(self._queries[query], _ROWS_OF_A_STATEMENT, len(same)), values)
        self._executemany(self._queries[query].text, [same + row for row in rows[many:]])


class _Ticket:
    """One caller's work in the queue."""

    def __init__(self, keys: ScopeKeys, work: Callable[[SqliteTransaction], Any]) -> None:
        self.keys = keys
        self.abandoned = False
        self.changes: list[ChangeBatch] = []
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None
        self._waiting = threading.Lock()
        self._waiting.acquire()

    def run(self, transaction: SqliteTransaction) -> None:
        self._result = self._work(transaction)
        self.changes = transaction.changes

    def fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.changes = []

    def done(self) -> None:
        self._waiting.release()

    def outcome(self) -> Any:
        try:
            self._waiting.acquire()
        except BaseException:
            # The caller was interrupted and is gone. What has not been begun is not begun any more.
            self.abandoned = True
            raise
        if self._error is not None:
            raise self._error
        return self._result


class SqliteWriter:
    """Takes functions of a transaction from any thread, and does them in the order in which they came."""

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        queries: dict[str, Query],
        publisher: Publisher,
        translate: Callable[[Exception, apsw.Connection | None], Exception],
    ) -> None:
        self._connect = connect
        self._queries = queries
        self._publisher = publisher
        self._translate = translate
        self._queue: SimpleQueue[_Ticket | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.resting = threading.Lock()
        """Held while a transaction is open; who holds it keeps the writer from beginning one."""
        self.connection: apsw.Connection | None = None

    @property
    def is_this_thread(self) -> bool:
        return self._thread is threading.current_thread()

    def do(self, keys: ScopeKeys, work: Callable[[SqliteTransaction], Any]) -> Any:
        """Have something done in a transaction of its own, and wait until it is on disk."""
        ticket = _Ticket(keys, work)
        with self._gate:
            if self._stopping:
                raise EngineClosed
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="longmind-writer", daemon=True)
                self._thread.start()
            self._queue.put(ticket)
        return ticket.outcome()

    def run_between_transactions(self, work: Callable[[apsw.Connection], T]) -> T:
        """Have something done with the writer's connection between two transactions."""
        with self.resting:
            return work(self.own_connection())

    def stop(self) -> None:
        """Finish what was asked for, take no more, and close the connection."""
        self.stop_soon()
        if self._thread is not None and not self.is_this_thread:
            self._thread.join()
        self.let_go()

    def stop_soon(self) -> None:
        with self._gate:
            if not self._stopping:
                self._stopping = True
                self._queue.put(None)

    def let_go(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def own_connection(self) -> apsw.Connection:
        if self.connection is None:
            self.connection = self._connect()
        return self.connection

    def _run(self) -> None:
        while True:
            batch, last = self._next_batch()
            with self.resting:
                self._carry(batch)
            if last:
                return

    def _next_batch(self) -> tuple[list[_Ticket], bool]:
        """All who wait, and whether to stop after them."""
        batch: list[_Ticket] = []
        ticket = self._queue.get()
        with suppress(Empty):
            while ticket is not None:
                batch.append(ticket)
                if len(batch) == _AT_ONCE:
                    return batch, False
                ticket = self._queue.get_nowait()
            return batch, True
        return batch, False

    def _carry(self, waiting: list[_Ticket]) -> None:
        batch = [ticket for ticket in waiting if not ticket.abandoned]
        try:
            if batch:
                self._commit(self.own_connection(), batch)
        except BaseException as error:
            told = self._translate(error, self.connection) if isinstance(error, Exception) else error
            for ticket in batch:
                ticket.fail(told)
        for ticket in batch:
            self._publisher.add(ticket.changes)
        for ticket in batch:
            ticket.done()

    def _commit(self, connection: apsw.Connection, batch: list[_Ticket]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            if len(batch) == 1:
                # Alone it needs no savepoint: if it fails, all that there is is undone.
                self._do(connection, batch[0])
            else:
                for ticket in batch:
                    self._do_apart(connection, ticket)
            _end(connection)
        except BaseException:
            with suppress(apsw.Error):
                if not connection.get_autocommit():
                    connection.execute("ROLLBACK")
            raise

    def _do(self, connection: apsw.Connection, ticket: _Ticket) -> None:
        ticket.run(SqliteTransaction(connection, self._queries, ticket.keys))

    def _do_apart(self, connection: apsw.Connection, ticket: _Ticket) -> None:
        """Do one caller's work; whatever it raises is that caller's alone, and undoes nobody else's."""
        connection.execute("SAVEPOINT one")
        try:
            self._do(connection, ticket)
        except BaseException as error:
            if connection.get_autocommit():
                # SQLite has rolled back the whole transaction by itself (a full disk, say).
                raise
            connection.execute("ROLLBACK TO one")
            ticket.fail(self._translate(error, connection) if isinstance(error, Exception) else error)
        connection.execute("RELEASE one")


def _end(connection: apsw.Connection) -> None:
    try:
        connection.execute("COMMIT")
    except apsw.IOError as error:
        if error.extendedresult not in _UNSYNCED:  # type: ignore[attr-defined]  # the types of apsw do not know it
            raise
        # All of it was written, and the disk did not say that it has it. Whoever opens the file next finds it there,
        # or not; here the next write takes its place.
        raise OutcomeUnknown(
            f"The disk failed while a write was committed: whether it was is not known ({error}).",
            hint="Check the disk, and look whether it is there before you repeat it. An idempotency key makes a retry "
            "safe.",
        ) from error


_UNSYNCED = (apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC)
