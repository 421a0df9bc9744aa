"""The single writer of a SQLite file: a thread that runs the work of all waiting callers in one transaction.

Group commit: callers put tickets into a queue and wait. The writer takes all that are there (at most `_AT_ONCE`), runs
them in the order in which they came and commits once, so that they share one sync of the disk. The invariants:
- A caller gets its result only after the COMMIT that holds it has returned. No ticket is released before.
- Each ticket of a batch runs in a savepoint of its own, so an error undoes the work of its caller alone. A batch of one
  needs no savepoint: its ROLLBACK undoes everything. If SQLite itself rolls back (a full disk, say), or COMMIT fails,
  every ticket of the batch fails.
- If the sync of COMMIT fails, the pages were written but may not be on the disk: the callers get `OutcomeUnknown`.
- Changes are handed to the publisher in commit order, before their callers return, and never those of a failed ticket.
- The thread is not the main thread, because Ctrl-C and signal handlers strike that one: they interrupt a caller that
  waits, never a transaction. A caller that is interrupted abandons its ticket; the ticket is skipped if its batch has
  not begun, and committed without a reader otherwise.
- The connection belongs to the thread that holds `resting`: the writer during a batch, and otherwise a fork, or
  maintenance such as VACUUM, which must run between two transactions. Migrations run on it before the thread starts,
  and `stop` closes it after the thread has ended, so neither needs the lock.
- Work must not ask the writer for another write: it would wait for itself. `SqliteDatabase` refuses that beforehand.
The thread starts with the first write and ends with `stop`, after everything that was queued before.
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
from longmind.store.queries import NamedQuery, expand_rows

T = TypeVar("T")

_AT_ONCE = 256
_ROWS_OF_A_STATEMENT = 50


class SqliteTransaction(Announcements):
    """Statements bound to one scope, on a connection that a reader or the writer has lent for one unit of work."""

    # A file never loses what it has committed while a process has it open, so there is one history.
    history: object = None

    def __init__(self, connection: apsw.Connection, queries: dict[str, NamedQuery], keys: ScopeKeys) -> None:
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
            # SQLite numbers names by their first appearance, and binding by number is faster than by name.
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
        """Do nothing: no server watches over this transaction."""

    @contextmanager
    def hold_view(self) -> Iterator[None]:
        """Keep one view of the database until the block ends."""
        try:
            # Inside the `try`: an interrupt may strike right after BEGIN, and somebody must end the transaction then.
            self._execute("BEGIN")
            yield
        finally:
            if self._connection.in_transaction:
                self._execute("COMMIT")

    @contextmanager
    def bind_scope(self, scope: AnyScope | None) -> Iterator[SqliteTransaction]:
        other = SqliteTransaction(self._connection, self._queries, to_scope_keys(scope))
        other.changes = self.changes
        yield other

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
        # Nobody else writes during the transaction, so the numbers are consecutive and need not be returned by SQL.
        end = self._connection.last_insert_rowid() + 1
        numbers = range(end - len(rows), end)
        return lambda: numbers

    def _insert(self, query: str, rows: Sequence[Row], same: Row = ()) -> None:
        """Insert rows; the values in `same`, which all of them share, stand before their own."""
        # One statement for many rows pays its fixed cost once.
        many = len(rows) - len(rows) % _ROWS_OF_A_STATEMENT
        for first in range(0, many, _ROWS_OF_A_STATEMENT):
            values = [*same, *chain.from_iterable(rows[first : first + _ROWS_OF_A_STATEMENT])]
            self._execute(expand_rows(self._queries[query], _ROWS_OF_A_STATEMENT, len(same)), values)
        self._executemany(self._queries[query].text, [same + row for row in rows[many:]])


class _Ticket:
    """One caller's work in the queue, and its outcome.

    The caller blocks in `outcome`; the writer calls `run` or `fail`, and then `release`.
    """

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

    def release(self) -> None:
        self._waiting.release()

    def outcome(self) -> Any:
        try:
            self._waiting.acquire()
        except BaseException:
            # The caller was interrupted and is gone: its work is skipped unless it has begun.
            self.abandoned = True
            raise
        if self._error is not None:
            raise self._error
        return self._result


class SqliteWriter:
    """The queue of writes, and the thread that runs them in the order in which they came. Threads may share it."""

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        queries: dict[str, NamedQuery],
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
        """Held while a transaction is open. Another thread that acquires it keeps the writer from beginning one."""
        self.connection: apsw.Connection | None = None

    @property
    def is_this_thread(self) -> bool:
        return self._thread is threading.current_thread()

    def do(self, keys: ScopeKeys, work: Callable[[SqliteTransaction], Any]) -> Any:
        """Run a unit of work in a transaction and wait until it is on disk; raise EngineClosed after `stop`."""
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
        """Run a function of the writer's connection while no transaction is open on it."""
        with self.resting:
            return work(self.own_connection())

    def stop(self) -> None:
        """Finish all queued work, accept no more, and close the connection."""
        self.stop_soon()
        if self._thread is not None and not self.is_this_thread:
            self._thread.join()
        self.close_connection()

    def stop_soon(self) -> None:
        """Accept no more work, without waiting for what is queued."""
        with self._gate:
            if not self._stopping:
                self._stopping = True
                self._queue.put(None)

    def close_connection(self) -> None:
        """Close the connection; the next use opens another. The caller holds `resting`, or the thread has ended."""
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
                self._run_batch(batch)
            if last:
                return

    def _next_batch(self) -> tuple[list[_Ticket], bool]:
        """Wait for work; return all tickets that are queued, and whether to stop after them."""
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

    def _run_batch(self, waiting: list[_Ticket]) -> None:
        batch = [ticket for ticket in waiting if not ticket.abandoned]
        try:
            if batch:
                self._commit(self.own_connection(), batch)
        except BaseException as error:
            failure = self._translate(error, self.connection) if isinstance(error, Exception) else error
            for ticket in batch:
                ticket.fail(failure)
        for ticket in batch:
            self._publisher.add(ticket.changes)
        for ticket in batch:
            ticket.release()

    def _commit(self, connection: apsw.Connection, batch: list[_Ticket]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            if len(batch) == 1:
                # A single ticket needs no savepoint: a failure rolls back the whole transaction.
                self._do(connection, batch[0])
            else:
                for ticket in batch:
                    self._do_in_savepoint(connection, ticket)
            _commit_transaction(connection)
        except BaseException:
            with suppress(apsw.Error):
                if not connection.get_autocommit():
                    connection.execute("ROLLBACK")
            raise

    def _do(self, connection: apsw.Connection, ticket: _Ticket) -> None:
        ticket.run(SqliteTransaction(connection, self._queries, ticket.keys))

    def _do_in_savepoint(self, connection: apsw.Connection, ticket: _Ticket) -> None:
        """Run one caller's work; an error fails that ticket alone and undoes nobody else's work."""
        connection.execute("SAVEPOINT one")
        try:
            self._do(connection, ticket)
        except BaseException as error:
            if connection.get_autocommit():
                # SQLite has rolled back the whole transaction by itself, for example on a full disk.
                raise
            connection.execute("ROLLBACK TO one")
            ticket.fail(self._translate(error, connection) if isinstance(error, Exception) else error)
        connection.execute("RELEASE one")


def _commit_transaction(connection: apsw.Connection) -> None:
    try:
        connection.execute("COMMIT")
    except apsw.IOError as error:
        if error.extendedresult not in _UNSYNCED:  # type: ignore[attr-defined]  # the types of apsw do not know it
            raise
        # The pages were written, but the disk has not confirmed them. The next process to open the file may find them
        # or not; in this process the next write replaces them.
        raise OutcomeUnknown(
            f"The disk failed while a write was being committed, so its outcome is unknown ({error}).",
            hint="Check the disk, and look for the write before you repeat it. An idempotency key makes a retry safe.",
        ) from error


_UNSYNCED = (apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC)
