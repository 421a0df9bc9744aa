"""Connections for units of work: lent from a pool, replaced after a loss, and explained when there are none.

A restart or a failover of the server leaves a pool full of dead connections. These rules keep that from callers:
- A unit of work that loses its connection before COMMIT was sent has changed nothing, and runs once more on another.
- After COMMIT was sent, nobody knows its outcome: the caller gets `OutcomeUnknown`, and nothing is repeated.
- Where one connection is lost, those of its age usually are too: all of them are dropped at once. Connections that
  were under way at that time are recognised by `made_at` and dropped as well.
- A server that stayed silent for the whole of the caller's patience is not tried a second time.
- An interrupt (Ctrl-C) may strike inside the pool's own code and leave it one connection short. The pool is then
  abandoned, and the next use opens another.
- The pool keeps the reasons of its failures to itself. They are noted here, so that the error of a caller that
  waited in vain says why the server could not be reached.

All methods may be called from any thread.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
import psycopg_pool

from longmind.errors import EngineClosed, OutcomeUnknown
from longmind.runtime.fork_safety import leave_to_parent, survive_forks
from longmind.settings import Settings
from longmind.store.postgres.connection import ScopedConnection, Silent
from longmind.store.postgres.error_translation import remove_password, to_message, translate
from longmind.store.postgres.keepalive import (
    client_keepalive,
    configure_keepalive,
    measure_clock_error,
    server_keepalive,
)
from longmind.store.postgres.pool import StickyPool
from longmind.store.postgres.roles import APP_ROLE, sees_through
from longmind.store.write_health import WriteHealth

T = TypeVar("T")

_LIFETIME_SECONDS = 600.0
_RECONNECT_SECONDS = 0.5
"""Time after which the pool gives up connecting and starts afresh with the next request.

The pauses between its own attempts would grow to minutes, and a request would wait for their end."""


class PooledConnections:
    """The connections of one engine to one server.

    clock_error: microseconds that this machine's clock is behind the server's, measured with each new connection.
    """

    def __init__(self, url: str, settings: Settings, write_health: WriteHealth) -> None:
        self._url = url
        self.address = remove_password(url)
        self._settings = settings
        self._write_health = write_health
        self.clock_error = 0
        self._closed = False
        self._pool_lock = threading.Lock()
        self._pool: StickyPool | None = None
        self._probing = threading.Lock()
        self._found_read_only_at = 0.0
        self._renewals = 0
        self._renewed_at = 0.0
        self._connect_error: psycopg.Error | None = None
        """The reason that the pool's last attempt to connect failed; None when it succeeded."""
        survive_forks(self)

    def renew_after_fork(self) -> None:
        leave_to_parent(self._pool)
        self._pool_lock = threading.Lock()
        self._probing = threading.Lock()
        self._pool = None

    def connect_as_owner(self, *, autocommit: bool) -> ScopedConnection:
        """Connect outside the pool with the role of the address, which owns the tables; pooled ones may step down."""
        connection = ScopedConnection.connect(
            self._url, noting=lambda _: None, autocommit=autocommit, **self._connection_options
        )
        connection.patience = self.patience_seconds
        configure_keepalive(connection, self._settings)
        return connection

    @property
    def patience_seconds(self) -> float:
        """Seconds that a server may stay silent: a statement may wait for a lock, which it gives up by itself."""
        return self._settings.busy_timeout_seconds + self._settings.answer_timeout_seconds

    def run(self, attempt: Callable[[ScopedConnection], T]) -> T:
        """Run a unit of work on a pooled connection, and once more if that one was lost before COMMIT was sent."""
        outer = sys.exception()
        try:
            try:
                return self._run_once(attempt)
            except _ConnectionLost as lost:
                if isinstance(lost.error, psycopg.errors.ReadOnlySqlTransaction) and not self._can_be_written():
                    raise lost.error from None
                self._renew_connections(lost.made_at)
                if isinstance(lost.error, Silent):
                    # The caller has waited long enough.
                    raise lost.error from None
                lost_at = time.monotonic()
            try:
                return self._run_once(attempt, not_before=lost_at)
            except _ConnectionLost as lost:
                self._renew_connections(lost.made_at)
                raise lost.error from None
        except BaseException as error:
            self._raise_translated(error, outer)
            raise

    def _run_once(self, attempt: Callable[[ScopedConnection], T], not_before: float = 0.0) -> T:
        while True:
            try:
                return self._run_on(self._pool or self.open_pool(), attempt, not_before)
            except (psycopg_pool.PoolClosed, _Outdated):
                # Closed means that another thread was interrupted and abandoned this pool: there will be a new one.
                continue

    def _run_on(self, pool: StickyPool, attempt: Callable[[ScopedConnection], T], not_before: float) -> T:
        try:
            connection = pool.getconn()
        except psycopg_pool.PoolTimeout as timeout:
            self._raise_reason(timeout, pool)
            raise
        try:
            if connection.made_at < not_before:
                # It was being made while the others were dropped, and leads to the same dead end.
                connection.close()
                raise _Outdated
            connection.committing = False
            connection.has_no_time_limit = False
            connection.history = (connection.server_started, self._renewals)
            outer = sys.exception()
            try:
                return attempt(connection)
            except BaseException as error:
                lost = connection.abandon(_find_interrupt(error, outer) or error)
                # What a server refuses as read-only, it has not committed.
                read_only = isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
                if lost and connection.committing and not read_only:
                    self._renew_connections(connection.made_at)
                    raise OutcomeUnknown(
                        f"The connection to {self.address} was lost while the write was being committed, so its "
                        f"outcome is unknown ({to_message(error)})."
                    ) from error
                if lost or read_only:
                    raise _ConnectionLost(error, connection.made_at) from error
                raise
        finally:
            pool.putconn(connection)

    def _can_be_written(self) -> bool:
        """Return whether the address leads to a writable server by now, after a read-only one was met.

        A failover may have changed that. If it has not, the pool stays as it is: reads must not start over because
        somebody tries to write to a replica.
        """
        met_at = time.monotonic()
        with self._probing:
            # The finding of a thread that probed while this one waited is good enough.
            if self._found_read_only_at < met_at:
                probed_at = time.monotonic()
                with suppress(psycopg.Error), self.connect_as_owner(autocommit=True) as connection:
                    if connection.execute("SHOW transaction_read_only").fetchone() == ("off",):
                        return True
                self._found_read_only_at = probed_at
            return False

    def _renew_connections(self, made_at: float) -> None:
        """Drop all connections of the pool, unless this was done since the lost one was made."""
        with self._pool_lock:
            pool = self._pool
            if pool is None or made_at < self._renewed_at:
                return
            self._renewed_at = time.monotonic()
            self._renewals += 1
        pool.drain()

    def _abandon_pool(self) -> None:
        """Let the next use open another pool: this one may have lost a connection to an interrupt."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            # In a thread, which no interrupt strikes: cut short, it would leave those who wait there without an answer.
            threading.Thread(target=pool.close, name="longmind-leaving", daemon=True).start()

    def _raise_reason(self, timeout: psycopg_pool.PoolTimeout, pool: StickyPool) -> None:
        """Raise the reason that no connection came in time; return if none is known."""
        if pool is not self._pool:
            raise psycopg_pool.PoolClosed("another thread has abandoned this pool") from timeout
        if self._connect_error is not None:
            raise translate(self._connect_error, self.address) from timeout

    def open_pool(self) -> StickyPool:
        """Return the pool, opened if it is not; raise EngineClosed after `close`."""
        if self._closed:
            raise EngineClosed
        pool = self._pool
        if pool is None:
            with self._pool_lock:
                if self._closed:
                    raise EngineClosed
                pool = self._pool = self._pool or self._make_pool()
        return pool

    def _make_pool(self) -> StickyPool:
        return StickyPool(
            self._url,
            connection_class=ScopedConnection,
            kwargs={
                "autocommit": True,  # BEGIN and COMMIT are statements of ours, so that they travel in the pipeline
                "prepare_threshold": None,  # the connection itself prepares what is worth it
                "noting": self._note_connecting,
                **self._connection_options,
            },
            min_size=1,
            max_size=self._settings.pool_size,
            timeout=self._settings.connect_timeout_seconds,
            # Each new connection also compares the clocks, and this machine's may drift.
            max_lifetime=_LIFETIME_SECONDS,
            configure=self._prepare_connection,
            reconnect_timeout=_RECONNECT_SECONDS,
            reconnect_failed=_reconnect_for_waiting,
            open=True,
        )

    @property
    def _connection_options(self) -> dict[str, Any]:
        return {
            "connect_timeout": _to_limit(self._settings.connect_timeout_seconds),
            "client_encoding": "UTF8",  # whatever the environment says: every text has to get through
            "application_name": "longmind",
            **client_keepalive(self._settings),
        }

    def _note_connecting(self, error: psycopg.Error | None) -> None:
        # "No answer yet" explains less than the reason of the attempt before.
        if self._connect_error is None or not isinstance(error, psycopg.errors.ConnectionTimeout):
            self._connect_error = error

    def _prepare_connection(self, connection: ScopedConnection) -> None:
        settings = self._settings
        connection.patience = settings.connect_timeout_seconds
        try:
            connection.prepare(
                {
                    **server_keepalive(settings),
                    "lock_timeout": str(_to_limit(settings.busy_timeout_seconds * 1000)),
                    "synchronous_commit": "on" if settings.durability == "full" else "off",
                },
                self.patience_seconds,
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
    def translated_errors(self) -> Iterator[None]:
        """Raise errors of the driver inside the block as errors of ours."""
        outer = sys.exception()
        try:
            yield
        except BaseException as error:
            self._raise_translated(error, outer)
            raise

    def _raise_translated(self, error: BaseException, outer: BaseException | None) -> None:
        """Raise the error meant for the caller in place of the driver's; return if it is that one already."""
        interrupt = _find_interrupt(error, outer)
        if interrupt is not None:
            self._abandon_pool()
            raise interrupt from None
        if isinstance(error, psycopg.Error):
            translated = translate(error, self.address)
            self._write_health.note(translated)
            raise translated from error


class _ConnectionLost(Exception):
    """The server has left, or cannot be written any more, and nothing was committed."""

    def __init__(self, error: BaseException, made_at: float) -> None:
        self.error = error
        self.made_at = made_at


class _Outdated(Exception):
    """The connection is older than the loss of another one; take the next."""


def _reconnect_for_waiting(pool: psycopg_pool.ConnectionPool[Any]) -> None:
    """Let the pool connect again if requests wait.

    The pool calls this when it gives up; by itself it would start again only with the next request.
    """
    if pool.get_stats().get("requests_waiting"):
        # With no connection left to check, this makes the pool grow.
        pool.check()


def _find_interrupt(error: BaseException, outer: BaseException | None) -> BaseException | None:
    """Return the Ctrl-C behind an error, if there is one: a driver stopped midway may fail with an error of its own.

    outer: the error that the caller was handling when it called, which does not count.
    """
    cause: BaseException | None = error
    while cause is not None and cause is not outer:
        if not isinstance(cause, Exception):
            return cause
        cause = cause.__context__
    return None


def _to_limit(number: float) -> int:
    # PostgreSQL accepts no times beyond 31 bits.
    return max(1, round(min(number, 2**31 - 1)))
