"""The engine for many machines: PostgreSQL with pgvector, through a pool of connections.

Row-level security is the second wall around a scope: a statement that does not bind the scope finds nothing of others.
The scope is set on a connection, not on each transaction, and stays until the next use of the connection sets another:
a user's next call often finds it set, which saves a round trip. No statement of the engine reads or writes a table on
a connection before the scope of its caller has been set on it. Superusers would see through the wall, so their
connections step down to a role that owns nothing. Statements of a write go out in a pipeline: what need not be waited
for costs no round trip.

A restart of the server leaves the pool with connections that lead nowhere. A unit of work that meets one is run again
on another, unless its COMMIT had been sent: then nobody knows what became of it, and the caller is told so.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from typing import Any, TypeVar

import psycopg
import psycopg_pool

from longmind.errors import EngineClosed, OutcomeUnknown, StoreBusy
from longmind.runtime.fork_safety import leave_to_parent, survive_forks
from longmind.scope import AnyScope
from longmind.settings import Settings
from longmind.store.database import (
    Announcements,
    P,
    PendingRow,
    Publisher,
    Row,
    ScopeKeys,
    ScrubReport,
    Work,
    describe_unstorable,
    refuse_nesting,
    refuse_reader,
    to_scope_keys,
)
from longmind.store.erasure_fence import guarded
from longmind.store.migrations import Migration
from longmind.store.postgres.column_arrays import in_columns, in_short
from longmind.store.postgres.connection import ScopedConnection, Silent
from longmind.store.postgres.error_translation import remove_password, to_message, translate
from longmind.store.postgres.exclusive import WriteConflict, detect_conflict, exclusive_scope_lock
from longmind.store.postgres.keepalive import (
    client_keepalive,
    configure_keepalive,
    measure_clock_error,
    server_keepalive,
)
from longmind.store.postgres.migrations import bring_up_to_date
from longmind.store.postgres.pool import StickyPool
from longmind.store.postgres.roles import APP_ROLE, refuse_other_encodings, sees_through
from longmind.store.postgres.vacuum import rewrite_tables
from longmind.store.postgres.wire import Answer
from longmind.store.queries import EngineName, Query, load_queries
from longmind.store.write_health import WriteHealth

T = TypeVar("T")

_ROWS_AT_ONCE = 500
_OF_ONE_ROW = {"insert_atoms": "insert_atom"}
"""What a statement for many rows is when there is only one."""
_cursors = count(1)
_ALONE_ATTEMPTS = 20
_LIFETIME_SECONDS = 600.0
_RECONNECT_SECONDS = 0.5
"""After how long of failing the pool gives up, and begins anew with the next request: the pauses between its attempts
would grow to minutes, and a request would wait for their end."""


class PostgresTransaction(Announcements):
    def __init__(self, connection: ScopedConnection, queries: dict[str, Query], keys: ScopeKeys) -> None:
        # What its parent does, without the call: every read makes one.
        self.changes = []
        self.scope_id, self._app_key = keys
        self._connection = connection
        self._queries = queries

    @property
    def history(self) -> object:
        return self._connection.history

    def _run(self, query: str, values: dict[str, Any]) -> Answer:
        return self._sent(self._connection.run_statement, query, values)

    def _sent(self, send: Callable[[str, Sequence[Any]], Answer], query: str, values: dict[str, Any]) -> Answer:
        try:
            return send(self._queries[query].text, self._in_order(query, values))
        except UnicodeEncodeError as error:
            raise describe_unstorable(error) from None

    def _in_order(self, query: str, values: dict[str, Any]) -> list[Any]:
        values["scope_id"] = self.scope_id
        values["app_key"] = self._app_key
        return list(map(values.__getitem__, self._queries[query].names))

    def one(self, query: str, **values: Any) -> Row | None:
        return self._run(query, values).one()

    def all(self, query: str, **values: Any) -> list[Row]:
        return self._run(query, values).all()

    def each(self, query: str, **values: Any) -> Iterator[Row]:
        # A cursor on the server: the rows of a large user never stand in memory all at once.
        with psycopg.RawServerCursor(self._connection, f"each_{next(_cursors)}") as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(self._queries[query].text, self._in_order(query, values))
            yield from cursor

    def lift_time_limit(self) -> None:
        self._connection.lift_time_limit()

    @contextmanager
    def bind_scope(self, scope: AnyScope | None) -> Iterator[PostgresTransaction]:
        own, keys = ScopeKeys(self.scope_id, self._app_key), to_scope_keys(scope)
        there = PostgresTransaction(self._connection, self._queries, keys)
        there.changes = self.changes
        self._connection.enter_scope(keys)
        yield there
        # After an error the transaction is abandoned, and the scope with it.
        self._connection.enter_scope(own)

    def ask(self, query: str, **values: Any) -> PendingRow:
        return self._sent(self._connection.begin_statement, query, values).one

    def send(self, query: str, **values: Any) -> PendingRow:
        return self._run(query, values).one

    def insert_each(self, query: str, rows: Mapping[str, Sequence[Any]], **values: Any) -> None:
        if query in _OF_ONE_ROW and len(next(iter(rows.values()))) == 1:
            self._run(_OF_ONE_ROW[query], {**values, **{name: column[0] for name, column in rows.items()}})
        else:
            self._send_parts(query, rows, values)
        self._connection.push()

    def _send_parts(self, query: str, rows: Mapping[str, Sequence[Any]], values: dict[str, Any]) -> list[Answer]:
        # The statement takes arrays, and unnests them. In parts, because no value of PostgreSQL may reach a gigabyte.
        sent = []
        for start in range(0, len(next(iter(rows.values()))), _ROWS_AT_ONCE):
            part = {name: column[start : start + _ROWS_AT_ONCE] for name, column in rows.items()}
            sent.append(self._run(query, {**values, **in_short(part)}))
        return sent

    def number_each(
        self, query: str, columns: Sequence[str], rows: Sequence[Row], **values: Any
    ) -> Callable[[], Sequence[int]]:
        sent = [answer for part in in_columns(columns, rows) for answer in self._send_parts(query, part, values)]
        return cache(lambda: [number for answer in sent for (number,) in answer.all()])


class _Writing(threading.local):
    """Whether this thread is in a write transaction."""

    now = False


class PostgresDatabase:
    engine: EngineName = "postgres"
    is_remote = True

    def __init__(self, url: str, settings: Settings, publisher: Publisher) -> None:
        self._url = url
        self._address = remove_password(url)
        self._settings = settings
        self._publisher = publisher
        self.write_health = WriteHealth()
        self._queries = load_queries("postgres")
        self.clock_error = 0
        self._closed = False
        self._writing = _Writing()
        self._pool_lock = threading.Lock()
        self._pool: StickyPool | None = None
        self._looking = threading.Lock()
        self._found_read_only_at = 0.0
        self._renewals = 0
        self._renewed_at = 0.0
        self._connect_error: psycopg.Error | None = None
        """Why the pool could not connect the last time that it tried; None when it could."""
        survive_forks(self)

    def renew_after_fork(self) -> None:
        leave_to_parent(self._pool)
        self._writing = _Writing()
        self._pool_lock = threading.Lock()
        self._looking = threading.Lock()
        self._pool = None

    def migrate(self, migrations: list[Migration]) -> None:
        """Apply what is missing, in one transaction, while other processes that open the database wait."""
        with self._translated(), self._as_owner(autocommit=False) as connection:
            refuse_other_encodings(connection)
            bring_up_to_date(connection, migrations, self._settings)
            self.clock_error = measure_clock_error(connection, self.clock_error)

    def _as_owner(self, *, autocommit: bool) -> ScopedConnection:
        """A connection for the role of the address itself, which owns the tables; the pool's may step down from it."""
        connection = ScopedConnection.connect(
            self._url, noting=lambda _: None, autocommit=autocommit, **self._connection_options
        )
        connection.patience = self._patience_seconds
        configure_keepalive(connection, self._settings)
        return connection

    def read(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)

        def attempt(connection: ScopedConnection) -> T:
            connection.enter_scope(keys)
            return work(PostgresTransaction(connection, self._queries, keys), *args, **kwargs)

        return self._run(attempt)

    def read_snapshot(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)

        def attempt(connection: ScopedConnection) -> T:
            connection.enter_scope(keys)
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.lift_time_limit(also_idle=True)
            result = work(PostgresTransaction(connection, self._queries, keys), *args, **kwargs)
            connection.execute("COMMIT")
            return result

        return self._run(attempt)

    def write(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)
        refuse_nesting(self._writing.now)
        refuse_reader(scope)
        behind = guarded(work)

        def attempt(connection: ScopedConnection) -> tuple[T, PostgresTransaction]:
            connection.meet()
            transaction = PostgresTransaction(connection, self._queries, keys)
            self._writing.now = True
            try:
                with connection.pipelined():
                    # Statements are written for this level; a database may have another as its default.
                    connection.run_statement("BEGIN ISOLATION LEVEL READ COMMITTED")
                    connection.enter_scope(keys)
                    result = behind(transaction, *args, **kwargs)
                    connection.hear_of_trouble()
                    connection.committing = True
                    connection.run_statement("COMMIT")
            finally:
                self._writing.now = False
            return result, transaction

        return self._publish(*self._run(attempt))

    def write_exclusively(self, scope: AnyScope, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)
        refuse_nesting(self._writing.now)
        refuse_reader(scope)

        def attempt(connection: ScopedConnection) -> tuple[T, PostgresTransaction]:
            connection.meet()
            transaction = PostgresTransaction(connection, self._queries, keys)
            self._writing.now = True
            try:
                with exclusive_scope_lock(connection, keys.scope_id):
                    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                    connection.lift_time_limit()
                    connection.enter_scope(keys)
                    result = work(transaction, *args, **kwargs)
                    connection.committing = True
                    connection.execute("COMMIT")
            finally:
                self._writing.now = False
            return result, transaction

        for _ in range(_ALONE_ATTEMPTS):
            with suppress(WriteConflict):
                return self._publish(*self._run(lambda connection: detect_conflict(attempt, connection)))
            time.sleep(random.uniform(0, 0.02))
        raise StoreBusy("The user's data was changed all the time while it had to be changed as a whole.")

    def _publish(self, result: T, transaction: PostgresTransaction) -> T:
        self.write_health.clear()
        self._publisher.add(transaction.changes)
        self._publisher.deliver()
        return result

    def add_queries(self, queries: Mapping[str, Query]) -> None:
        self._queries.update(queries)

    def scrub(self, most_megabytes: float | None = None) -> ScrubReport:
        """Write the tables anew, without the rows that were deleted. It needs each of them alone for that time."""
        if most_megabytes is not None:
            # Others wait meanwhile, so that it is left to who runs the database, and to a quiet hour.
            return ScrubReport(False, "rows deleted", "Run `longmind erase --vacuum` to write the tables anew.")
        with self._translated(), self._as_owner(autocommit=True) as connection:
            # A large table takes long, and the server says nothing meanwhile.
            connection.patience = float("inf")
            return rewrite_tables(connection, self._settings.busy_timeout_seconds)

    def _run(self, attempt: Callable[[ScopedConnection], T]) -> T:
        """Run it on a connection of the pool, and once more if that one was lost before anything was committed."""
        outer = sys.exception()
        try:
            try:
                return self._run_once(attempt)
            except _ConnectionLost as lost:
                if isinstance(lost.error, psycopg.errors.ReadOnlySqlTransaction) and not self._can_be_written():
                    raise lost.error from None
                self._renew_connections(lost.made_at)
                if isinstance(lost.error, Silent):
                    # It has been waited for long enough.
                    raise lost.error from None
                lost_at = time.monotonic()
            try:
                return self._run_once(attempt, not_before=lost_at)
            except _ConnectionLost as lost:
                self._renew_connections(lost.made_at)
                raise lost.error from None
        except BaseException as error:
            self._translate(error, outer)
            raise

    def _can_be_written(self) -> bool:
        """Whether the address leads to a server that can be written by now, after one was met that cannot.

        A failover may have changed either. Where none has, all goes on as it is: reads need not begin anew because
        somebody tries to write to a replica.
        """
        met_at = time.monotonic()
        with self._looking:
            # What another has just found need not be looked for again.
            if self._found_read_only_at < met_at:
                looked_at = time.monotonic()
                with suppress(psycopg.Error), self._as_owner(autocommit=True) as connection:
                    if connection.execute("SHOW transaction_read_only").fetchone() == ("off",):
                        return True
                self._found_read_only_at = looked_at
            return False

    def _renew_connections(self, made_at: float) -> None:
        """Let go of all connections as old as the one that was lost: where one is, so are often all of them."""
        with self._pool_lock:
            pool = self._pool
            if pool is None or made_at < self._renewed_at:
                return
            self._renewed_at = time.monotonic()
            self._renewals += 1
        pool.drain()

    def _leave_pool(self) -> None:
        """Let the next use open a new one: the pool itself may have lost a connection when it was interrupted."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            # In a thread, which no interrupt strikes: if it were cut short, who waits there would not be told.
            threading.Thread(target=pool.close, name="longmind-leaving", daemon=True).start()

    def _run_once(self, attempt: Callable[[ScopedConnection], T], not_before: float = 0.0) -> T:
        while True:
            try:
                return self._run_on(self._pool or self._connections(), attempt, not_before)
            except (psycopg_pool.PoolClosed, _Outdated):
                # Closed means that another thread was interrupted and has left this pool: there will be a new one.
                continue

    def _run_on(self, pool: StickyPool, attempt: Callable[[ScopedConnection], T], not_before: float) -> T:
        try:
            connection = pool.getconn()
        except psycopg_pool.PoolTimeout as timeout:
            self._explain(timeout, pool)
            raise
        try:
            if connection.made_at < not_before:
                # It was on its way when the others were let go of, and leads where they have led.
                connection.close()
                raise _Outdated
            connection.committing = False
            connection.in_no_hurry = False
            connection.history = (connection.server_started, self._renewals)
            outer = sys.exception()
            try:
                return attempt(connection)
            except BaseException as error:
                lost = connection.abandon(_interrupt_behind(error, outer) or error)
                # What a server refuses as read-only, it has not committed.
                read_only = isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
                if lost and connection.committing and not read_only:
                    self._renew_connections(connection.made_at)
                    raise OutcomeUnknown(
                        f"The connection to {self._address} was lost while the write was committed: whether it was is "
                        f"not known ({to_message(error)})."
                    ) from error
                if lost or read_only:
                    raise _ConnectionLost(error, connection.made_at) from error
                raise
        finally:
            pool.putconn(connection)

    def _explain(self, timeout: psycopg_pool.PoolTimeout, pool: StickyPool) -> None:
        """Raise what tells more than that no connection came in time; nothing if nothing does."""
        if pool is not self._pool:
            raise psycopg_pool.PoolClosed("somebody else has left this pool") from timeout
        if self._connect_error is not None:
            raise translate(self._connect_error, self._address) from timeout

    def advance_ledger_sequence(self) -> None:
        with self._translated(), self._as_owner(autocommit=True) as connection:
            connection.execute("SELECT set_config('longmind.scope', '*', false)")
            connection.execute(
                "SELECT setval(pg_get_serial_sequence('longmind.events', 'position'), MAX(position)) "
                "FROM longmind.events HAVING MAX(position) IS NOT NULL"
            )

    def wait_for_writers(self, seconds: float) -> bool:
        before = self._ledger_writers()
        deadline = time.monotonic() + seconds
        while not before.isdisjoint(self._ledger_writers()):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return True

    def _ledger_writers(self) -> set[str]:
        """The running transactions that may have taken a place in the ledger."""
        return {row[0] for row in self.read(None, lambda run: run.all("ledger_writers"))}

    @property
    def _connection_options(self) -> dict[str, Any]:
        return {
            "connect_timeout": _whole(self._settings.connect_timeout_seconds),
            "client_encoding": "UTF8",  # whatever the environment says: every text has to get through
            "application_name": "longmind",
            **client_keepalive(self._settings),
        }

    @property
    def _patience_seconds(self) -> float:
        """How long a server may be silent: a statement may wait for a lock, which it gives up by itself in time."""
        return self._settings.busy_timeout_seconds + self._settings.answer_timeout_seconds

    def _connections(self) -> StickyPool:
        if self._closed:
            raise EngineClosed
        pool = self._pool
        if pool is None:
            with self._pool_lock:
                if self._closed:
                    raise EngineClosed
                pool = self._pool = self._pool or self._open_pool()
        return pool

    def _open_pool(self) -> StickyPool:
        return StickyPool(
            self._url,
            connection_class=ScopedConnection,
            kwargs={
                "autocommit": True,  # BEGIN and COMMIT are statements of ours, so that they travel in the pipeline
                "prepare_threshold": None,  # what is worth it is prepared by the connection itself
                "noting": self._note_connecting,
                **self._connection_options,
            },
            min_size=1,
            max_size=self._settings.pool_size,
            timeout=self._settings.connect_timeout_seconds,
            # Each new connection is also a look at the server's clock, which this machine's may drift away from.
            max_lifetime=_LIFETIME_SECONDS,
            configure=self._prepare_connection,
            reconnect_timeout=_RECONNECT_SECONDS,
            reconnect_failed=_try_again_for_who_waits,
            open=True,
        )

    def _note_connecting(self, error: psycopg.Error | None) -> None:
        # That there is no answer yet says less than why there was none before.
        if self._connect_error is None or not isinstance(error, psycopg.errors.ConnectionTimeout):
            self._connect_error = error

    def _prepare_connection(self, connection: ScopedConnection) -> None:
        settings = self._settings
        connection.patience = settings.connect_timeout_seconds
        try:
            connection.prepare(
                {
                    **server_keepalive(settings),
                    "lock_timeout": str(_whole(settings.busy_timeout_seconds * 1000)),
                    "synchronous_commit": "on" if settings.durability == "full" else "off",
                },
                self._patience_seconds,
            )
            self.clock_error = measure_clock_error(connection, self.clock_error)
            if sees_through(connection):
                connection.execute(f"SET ROLE {APP_ROLE}")
        except psycopg.Error as error:
            self._note_connecting(error)
            connection.close()
            raise
        self._note_connecting(None)

    def close(self) -> None:
        with self._pool_lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        outer = sys.exception()
        try:
            yield
        except BaseException as error:
            self._translate(error, outer)
            raise

    def _translate(self, error: BaseException, outer: BaseException | None) -> None:
        """Raise what the caller is told instead of an error; nothing if that is the error itself."""
        interrupt = _interrupt_behind(error, outer)
        if interrupt is not None:
            self._leave_pool()
            raise interrupt from None
        if isinstance(error, psycopg.Error):
            told = translate(error, self._address)
            self.write_health.note(told)
            raise told from error


class _ConnectionLost(Exception):
    """The server has left, or cannot be written any more, and nothing was committed."""

    def __init__(self, error: BaseException, made_at: float) -> None:
        self.error = error
        self.made_at = made_at


class _Outdated(Exception):
    """The connection is older than the loss of another, and another one is to be taken."""


def _try_again_for_who_waits(pool: psycopg_pool.ConnectionPool[Any]) -> None:
    """Called when the pool has given up to connect. It begins again with the next request; some may wait already."""
    if pool.get_stats().get("requests_waiting"):
        # With nothing in it to be checked, it grows.
        pool.check()


def _interrupt_behind(error: BaseException, outer: BaseException | None) -> BaseException | None:
    """The Ctrl-C that this error comes from: the driver, stopped in the middle, may fail with an error of its own.

    What the caller was already handling when it called does not count.
    """
    behind: BaseException | None = error
    while behind is not None and behind is not outer:
        if not isinstance(behind, Exception):
            return behind
        behind = behind.__context__
    return None


def _whole(number: float) -> int:
    # PostgreSQL knows no longer times than fit into 31 bits.
    return max(1, round(min(number, 2**31 - 1)))
