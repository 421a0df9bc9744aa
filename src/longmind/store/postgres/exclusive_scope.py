"""The lock that keeps other fenced writers out of a scope while one transaction changes all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from longmind.store.postgres.connection import ScopedConnection

T = TypeVar("T")


@contextmanager
def exclusive_scope_lock(connection: ScopedConnection, scope_id: str) -> Iterator[None]:
    """Hold the scope's lock; a transaction begun in the block sees everything that fenced writers committed.

    Fenced writers hold the same advisory lock shared, for the length of their transactions (see `erasure_fence`).
    """
    # Taken before the transaction begins, whose snapshot must not be older than the lock. So it belongs to the session,
    # and right before and after the transaction only a limit on idle sessions takes it from a suspended process. One
    # statement sets both, so that there is no moment with the lock and without the limit.
    if limited := connection.info.server_version >= 140000:
        connection.execute(
            "SELECT set_config('idle_session_timeout', %s, false), pg_advisory_lock(hashtextextended(%s, 0))",
            (str(connection.idle_limit), scope_id),
        )
    else:
        connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (scope_id,))
    try:
        yield
    finally:
        try:
            if not connection.closed:
                _release(connection, scope_id, limited)
        except psycopg.Error:
            # The outcome of the transaction is known, and the lock ends with the session.
            connection.close()


def _release(connection: ScopedConnection, scope_id: str, limited: bool) -> None:
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        connection.execute("ROLLBACK")
        connection.scope_id = None
    connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (scope_id,))
    if limited:
        connection.execute("RESET idle_session_timeout")


class WriteConflict(Exception):
    """A concurrent transaction changed what this one had seen; start over."""


def detect_conflict(attempt: Callable[[ScopedConnection], T], connection: ScopedConnection) -> T:
    """Run an attempt; raise WriteConflict where PostgreSQL reports a serialization failure or a deadlock."""
    try:
        return attempt(connection)
    except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as error:
        raise WriteConflict from error
