"""The engine for many machines: PostgreSQL, through a pool of connections.

Row-level security is the second wall around a scope: a statement that does not bind the scope finds nothing of others.
- The scope is a setting of the session, not of a transaction. It stays until the next use sets another one, which saves
  a round trip for a user who calls twice. `enter_scope` runs before any statement that touches a table.
- Superusers and roles with BYPASSRLS see through the wall, so their connections step down to a role that owns nothing
  (see `roles`).

The four ways to run a unit of work differ in what they see and whom they hold up:
- `read` runs without a transaction of its own: each statement sees what is committed by then.
- `read_snapshot` sees one instant, in a read-only transaction that holds up nobody.
- `write` is READ COMMITTED, and its statements travel in a pipeline: one that need not be waited for costs no round
  trip. COMMIT is the last of them.
- `write_exclusively` takes the scope's lock for itself and is REPEATABLE READ; it starts over after a conflict.

Every unit of work may be run a second time on another connection (see `pooled_connections`), so it must have no effect
outside of its transaction.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from longmind.errors import StoreBusy
from longmind.runtime.fork_safety import survive_forks
from longmind.scope import AnyScope
from longmind.settings import Settings
from longmind.store.database import P, Publisher, ScrubReport, Work, refuse_nesting, refuse_reader, to_scope_keys
from longmind.store.erasure_fence import guard
from longmind.store.migrations import Migration
from longmind.store.postgres.connection import ScopedConnection
from longmind.store.postgres.exclusive_scope import WriteConflict, detect_conflict, exclusive_scope_lock
from longmind.store.postgres.keepalive import measure_clock_error
from longmind.store.postgres.migrations import bring_up_to_date
from longmind.store.postgres.pooled_connections import PooledConnections
from longmind.store.postgres.roles import refuse_other_encodings
from longmind.store.postgres.transaction import PostgresTransaction
from longmind.store.postgres.vacuum import rewrite_tables
from longmind.store.queries import EngineName, NamedQuery, load_queries
from longmind.store.write_health import WriteHealth

T = TypeVar("T")

_EXCLUSIVE_ATTEMPTS = 20


class _WriteState(threading.local):
    """Per thread: is it inside a write transaction?"""

    active = False


class PostgresDatabase:
    """A PostgreSQL database as the rest of the engine sees it. Threads may share it."""

    engine: EngineName = "postgres"
    is_remote = True

    def __init__(self, url: str, settings: Settings, publisher: Publisher) -> None:
        self._settings = settings
        self._publisher = publisher
        self.write_health = WriteHealth()
        self._connections = PooledConnections(url, settings, self.write_health)
        self.address = self._connections.address
        self._queries = load_queries("postgres")
        self._writing = _WriteState()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._writing = _WriteState()

    @property
    def clock_error(self) -> int:
        return self._connections.clock_error

    def migrate(self, migrations: list[Migration]) -> None:
        """Apply missing migrations in one transaction, while other processes that open the database wait."""
        connections = self._connections
        with connections.translated_errors(), connections.connect_as_owner(autocommit=False) as connection:
            refuse_other_encodings(connection)
            bring_up_to_date(connection, migrations, self._settings)
            connections.clock_error = measure_clock_error(connection, connections.clock_error)

    def read(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)

        def attempt(connection: ScopedConnection) -> T:
            connection.enter_scope(keys)
            return work(PostgresTransaction(connection, self._queries, keys), *args, **kwargs)

        return self._connections.run(attempt)

    def read_snapshot(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)

        def attempt(connection: ScopedConnection) -> T:
            connection.enter_scope(keys)
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.lift_time_limit(also_idle=True)
            result = work(PostgresTransaction(connection, self._queries, keys), *args, **kwargs)
            connection.execute("COMMIT")
            return result

        return self._connections.run(attempt)

    def write(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)
        refuse_nesting(self._writing.active)
        refuse_reader(scope)
        fenced_work = guard(work)

        def attempt(connection: ScopedConnection) -> tuple[T, PostgresTransaction]:
            connection.refuse_lost_session()
            transaction = PostgresTransaction(connection, self._queries, keys)
            self._writing.active = True
            try:
                with connection.pipelined():
                    # Statements are written for this level; a database may have another one as its default.
                    connection.run_statement("BEGIN ISOLATION LEVEL READ COMMITTED")
                    connection.enter_scope(keys)
                    result = fenced_work(transaction, *args, **kwargs)
                    connection.raise_early_errors()
                    connection.committing = True
                    connection.run_statement("COMMIT")
            finally:
                self._writing.active = False
            return result, transaction

        return self._publish(*self._connections.run(attempt))

    def write_exclusively(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        keys = to_scope_keys(scope)
        refuse_nesting(self._writing.active)
        refuse_reader(scope)

        def attempt(connection: ScopedConnection) -> tuple[T, PostgresTransaction]:
            connection.refuse_lost_session()
            transaction = PostgresTransaction(connection, self._queries, keys)
            self._writing.active = True
            try:
                with exclusive_scope_lock(connection, keys.scope_id):
                    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                    connection.lift_time_limit()
                    connection.enter_scope(keys)
                    result = work(transaction, *args, **kwargs)
                    connection.committing = True
                    connection.execute("COMMIT")
            finally:
                self._writing.active = False
            return result, transaction

        for _ in range(_EXCLUSIVE_ATTEMPTS):
            with suppress(WriteConflict):
                return self._publish(*self._connections.run(lambda connection: detect_conflict(attempt, connection)))
            time.sleep(random.uniform(0, 0.02))
        raise StoreBusy(
            f"Other writers changed the user's data during each of {_EXCLUSIVE_ATTEMPTS} attempts to change all of it."
        )

    def _publish(self, result: T, transaction: PostgresTransaction) -> T:
        self.write_health.clear()
        self._publisher.add(transaction.changes)
        self._publisher.deliver()
        return result

    def add_queries(self, queries: Mapping[str, NamedQuery]) -> None:
        self._queries.update(queries)

    def scrub(self, most_megabytes: float | None = None) -> ScrubReport:
        """Rewrite the tables without the rows that were deleted. Each table is locked while it is rewritten."""
        if most_megabytes is not None:
            # Everybody else would wait, so this is left to the operator and a quiet hour.
            return ScrubReport(False, "rows deleted", "Run `longmind erase --vacuum` to rewrite the tables.")
        connections = self._connections
        with connections.translated_errors(), connections.connect_as_owner(autocommit=True) as connection:
            # The server says nothing while it rewrites a large table.
            connection.patience = float("inf")
            return rewrite_tables(connection, self._settings.busy_timeout_seconds)

    def advance_ledger_sequence(self) -> None:
        connections = self._connections
        with connections.translated_errors(), connections.connect_as_owner(autocommit=True) as connection:
            connection.execute("SELECT set_config('longmind.scope', '*', false)")
            connection.execute(
                "SELECT setval(pg_get_serial_sequence('longmind.events', 'position'), MAX(position)) "
                "FROM longmind.events HAVING MAX(position) IS NOT NULL"
            )

    def wait_for_writers(self, seconds: float) -> bool:
        before = self._find_ledger_writers()
        deadline = time.monotonic() + seconds
        while not before.isdisjoint(self._find_ledger_writers()):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return True

    def _find_ledger_writers(self) -> set[str]:
        """Return the running transactions that may have taken a position in the ledger."""
        return {row[0] for row in self.read(None, lambda run: run.all("ledger_writers"))}

    def close(self) -> None:
        self._connections.close()
