"""Keeps everybody else who writes behind a fence from a scope, while one transaction changes it as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from longmind.store.postgres.connection import ScopedConnection

T = TypeVar("T")


@contextmanager
def exclusive_scope_lock(connection: ScopedConnection, scope_id: str) -> Iterator[None]:
    """Keep all who write behind a fence from the scope. A transaction in the block sees what they have written."""
    # Taken before the transaction begins, whose view of the database must not be older than the lock. So it is the
    # session's, and for a moment before and after the transaction only a limit on idle sessions takes it back from a
    # process that was stopped. Both are set in one statement, so that there is no moment without.
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
                _let_go(connection, scope_id, limited)
        except psycopg.Error:
            # What the transaction came to is known. The lock ends with the session.
            connection.close()


def _let_go(connection: ScopedConnection, scope_id: str, limited: bool) -> None:
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        connection.execute("ROLLBACK")
        connection.scope_id = None
    connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (scope_id,))
    if limited:
        connection.execute("RESET idle_session_timeout")


class WriteConflict(Exception):
    """Somebody has changed what a transaction had seen, and it has to be begun again."""


def detect_conflict(attempt: Callable[[ScopedConnection], T], connection: ScopedConnection) -> T:
    try:
        return attempt(connection)
    except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as error:
        raise WriteConflict from error
