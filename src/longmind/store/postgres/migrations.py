"""Migration of a PostgreSQL database, by one process at a time while the others wait.

They wait for as long as that process works, which may be long, but not for one that stands still: the server ends a
session of ours that is idle for too long. If the session belongs to another role, the waiting process reports whose
it is. Everything happens in one transaction, so a database is never seen between two versions.
"""

from __future__ import annotations

import time

import psycopg

from longmind.errors import StoreBusy
from longmind.settings import Settings
from longmind.store.migrations import Migration, check_version, describe_unwritable_upgrade
from longmind.store.postgres.connection import ScopedConnection
from longmind.store.postgres.product_rename import (
    find_version_table,
    read_versions,
    rename_schema,
    rename_version_table,
)
from longmind.store.postgres.roles import ensure_role, ensure_schema, role_is_ready, try_role

# Arbitrary, but the same in every version, so that processes of different versions exclude each other.
MIGRATION_LOCK = 732_655_328
_LOOK_SECONDS = 0.1


def bring_up_to_date(connection: ScopedConnection, migrations: list[Migration], settings: Settings) -> None:
    """Apply missing migrations and prepare the role, in the transaction of this connection."""
    # With a stricter default, a process that waited would not see what the other one has done.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    # Most often there is nothing to do, and nothing to wait for.
    if _find_missing(connection, migrations) or not role_is_ready(connection):
        # While it waits for its turn, a process must hold no lock on what the other one changes.
        connection.rollback()
        _take_turn(connection, settings)
        _apply(connection, migrations)
        ensure_role(connection)
    try_role(connection)


def _read_applied(connection: ScopedConnection) -> list[int]:
    return read_versions(connection) or []


def _find_missing(connection: ScopedConnection, migrations: list[Migration]) -> list[Migration]:
    applied = _read_applied(connection)
    check_version(applied, migrations)
    missing = [migration for migration in migrations if migration.version not in applied]
    if missing and applied and connection.execute("SHOW transaction_read_only").fetchone() == ("on",):
        raise describe_unwritable_upgrade(applied, migrations)
    return missing


def _apply(connection: ScopedConnection, migrations: list[Migration]) -> None:
    rename_schema(connection)
    ensure_schema(connection)
    missing = _find_missing(connection, migrations)
    if not missing:
        return
    connection.execute("SET LOCAL search_path TO longmind, public")
    # The server says nothing while it changes a large table.
    patience, connection.patience = connection.patience, float("inf")
    table = find_version_table(connection)
    for migration in missing:
        connection.execute(migration.text)
        connection.execute(f"INSERT INTO {table} VALUES (%s, %s)".encode(), (migration.version, migration.name))
    rename_version_table(connection)
    connection.patience = patience


def _take_turn(connection: ScopedConnection, settings: Settings) -> None:
    """Wait until no other process migrates; raise StoreBusy if the one that does stands still."""
    # If this process is suspended from here on, the server ends its session and the others go on. And a change of a
    # table waits for the table's users no longer than a write would, since everybody after it has to wait as well.
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
            # The server does not show how long another role's session has been idle.
            still = time.monotonic() - began if idle is None else idle
            if still > settings.busy_timeout_seconds + settings.answer_timeout_seconds:
                raise StoreBusy(
                    f"Session {pid} ({name}, from {machine}) is migrating the database and has been idle for "
                    f"{still:.0f} seconds.",
                    hint=f"Check that process, or end its session: SELECT pg_terminate_backend({pid})",
                )
        time.sleep(_LOOK_SECONDS)
