"""Brings a PostgreSQL database up to date. One process at a time does, and the others wait for it.

They wait as long as it works, and that may be long. They do not wait for one that stands still: the server ends its
session when that is ours, and who waits for somebody else's is told whose it is.
"""

from __future__ import annotations

import time

import psycopg

from longmind.errors import StoreBusy
from longmind.settings import Settings
from longmind.store.migrations import Migration, check_version, describe_unwritable_upgrade
from longmind.store.postgres.connection import ScopedConnection
from longmind.store.postgres.former_name import find_version_table, read_versions, rename_schema, rename_version_table
from longmind.store.postgres.roles import ensure_role, ensure_schema, ensure_vector, role_is_ready, try_role

# Any number will do, as long as nobody else in the database uses it: every version uses the same one.
MIGRATION_LOCK = 732_655_328
_LOOK_SECONDS = 0.1


def bring_up_to_date(connection: ScopedConnection, migrations: list[Migration], settings: Settings) -> None:
    """Apply what is missing, in the transaction of this connection."""
    # With a stricter default, who waits for another would not see what that has made meanwhile.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    # Most often nothing is to be done, and then nobody is waited for.
    if _missing(connection, migrations) or not role_is_ready(connection):
        # A process that waits for its turn must hold no lock on what the other one changes.
        connection.rollback()
        _take_turn(connection, settings)
        _apply(connection, migrations)
        ensure_role(connection)
    try_role(connection)


def _applied(connection: ScopedConnection) -> list[int]:
    return read_versions(connection) or []


def _missing(connection: ScopedConnection, migrations: list[Migration]) -> list[Migration]:
    applied = _applied(connection)
    check_version(applied, migrations)
    missing = [migration for migration in migrations if migration.version not in applied]
    if missing and applied and connection.execute("SHOW transaction_read_only").fetchone() == ("on",):
        raise describe_unwritable_upgrade(applied, migrations)
    return missing


def _apply(connection: ScopedConnection, migrations: list[Migration]) -> None:
    rename_schema(connection)
    ensure_schema(connection)
    missing = _missing(connection, migrations)
    if not missing:
        return
    ensure_vector(connection)
    connection.execute("SET LOCAL search_path TO longmind, public")
    # Large tables take long, and the server says nothing meanwhile.
    patience, connection.patience = connection.patience, float("inf")
    table = find_version_table(connection)
    for migration in missing:
        connection.execute(migration.text)
        connection.execute(f"INSERT INTO {table} VALUES (%s, %s)".encode(), (migration.version, migration.name))
    rename_version_table(connection)
    connection.patience = patience


def _take_turn(connection: ScopedConnection, settings: Settings) -> None:
    """Wait until nobody else is at it."""
    # If this process is stopped from now on, the server lets the others go on without it. And its changes of tables
    # wait for those who use them no longer than a write would: all who come after would have to wait as well.
    limit = f"{min(settings.busy_timeout_seconds * 1000, 2**31 - 1):.0f}ms"
    connection.execute(
        "SELECT set_config('idle_in_transaction_session_timeout', %s, true), set_config('lock_timeout', %s, true)",
        (limit, limit),
    )
    began = time.monotonic()
    while connection.execute("SELECT pg_try_advisory_xact_lock(%s)", (MIGRATION_LOCK,)).fetchone() != (True,):
        holder = connection.execute(
            "SELECT lock.pid, coalesce(nullif(application_name, ''), 'no name'),"
            " coalesce(host(client_addr), 'the same machine'),"
            " CASE WHEN state = 'active' THEN 0.0 ELSE extract(epoch FROM clock_timestamp() - state_change) END::float8"
            " FROM pg_locks AS lock LEFT JOIN pg_stat_activity USING (pid)"
            " WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = 0 AND objid = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            (MIGRATION_LOCK,),
        ).fetchone()
        if holder is not None:
            pid, name, machine, idle = holder
            # Of another role's session a server does not tell how it fares.
            still = time.monotonic() - began if idle is None else idle
            if still > settings.busy_timeout_seconds + settings.answer_timeout_seconds:
                raise StoreBusy(
                    f"Session {pid} ({name}, from {machine}) is to bring the database up to date, and has stood still "
                    f"for {still:.0f} seconds.",
                    hint=f"See what has become of that process, or end its session: SELECT pg_terminate_backend({pid})",
                )
        time.sleep(_LOOK_SECONDS)
