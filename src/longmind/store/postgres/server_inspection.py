"""Inspection of a PostgreSQL server from outside: what opening a database on it needs. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg

from longmind.clock import Micros
from longmind.settings import Settings
from longmind.store.migrations import load_migrations
from longmind.store.opening_needs import OpeningNeed
from longmind.store.postgres.error_translation import remove_password, translate
from longmind.store.postgres.keepalive import compare_clocks, connect_unpooled
from longmind.store.postgres.product_rename import read_versions
from longmind.store.postgres.roles import APP_ROLE, refuse_other_encodings, role_is_ready, sees_through

OLDEST_SERVER = 13
"""The first version of PostgreSQL that has all functions which the statements use."""


class ServerInspection(NamedTuple):
    """Facts about a server and the database on it."""

    version: str
    applied: list[int] | None
    """The applied migrations; None without our schema."""
    clock_off: Micros
    """The least difference of its clock."""
    needs: list[OpeningNeed]


def inspect_server(settings: Settings) -> ServerInspection:
    """Return what is at the address, and what opening it needs; raises the errors that opening it would raise."""
    address = remove_password(settings.url)
    try:
        with connect_unpooled(settings) as connection:
            connection.read_only = True
            refuse_other_encodings(connection)
            version = connection.info.parameter_status("server_version") or ""
            took, difference = compare_clocks(connection)
            applied = read_versions(connection)
            needs = list(_list_needs(connection, applied, settings))
    except psycopg.Error as error:
        raise translate(error, address) from error
    # A lower bound: the whole round trip may have passed before the server read its clock, or after it.
    return ServerInspection(version, applied, max(0, abs(difference) - took // 2), needs)


def _list_needs(
    connection: psycopg.Connection[Any], applied: list[int] | None, settings: Settings
) -> Iterator[OpeningNeed]:
    yield _check_version(connection)
    yield OpeningNeed("encoding", "ok", "the database stores text as UTF-8")
    yield _check_writable(connection)
    yield _check_schema_rights(connection, applied)
    yield _check_row_security(connection)
    yield _check_connections(connection, settings)


def _check_version(connection: psycopg.Connection[Any]) -> OpeningNeed:
    number = connection.info.server_version
    if number < OLDEST_SERVER * 10_000:
        todo = f"Upgrade the server to PostgreSQL {OLDEST_SERVER} or newer."
        return OpeningNeed("server version", "trouble", f"PostgreSQL {number // 10_000} lacks functions", todo)
    return OpeningNeed("server version", "ok", f"PostgreSQL {number // 10_000}, and no extension is needed")


def _check_writable(connection: psycopg.Connection[Any]) -> OpeningNeed:
    standby, read_only = _read(
        connection, "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'"
    )
    if standby or read_only:
        says = "the server is a standby" if standby else "default_transaction_read_only is on"
        return OpeningNeed("writing", "trouble", says, "Connect to the primary server, with a role that may write.")
    return OpeningNeed("writing", "ok", "the server takes writes")


def _check_schema_rights(connection: psycopg.Connection[Any], applied: list[int] | None) -> OpeningNeed:
    """Check whether the role may create the schema, change its tables if a migration is missing, or use them."""
    role, database, may_create = _read(
        connection,
        "SELECT current_user, current_database(), has_database_privilege(current_database(), 'CREATE')",
    )
    if applied is None:
        if may_create:
            return OpeningNeed("rights", "ok", f"{role} may create the schema, its tables and their policies")
        todo = f'An administrator runs: GRANT CREATE ON DATABASE "{database}" TO "{role}"'
        return OpeningNeed("rights", "trouble", f"{role} may not create a schema in {database}", todo)
    owns, may_use = _read(
        connection,
        "SELECT coalesce(bool_and(pg_has_role(relowner, 'USAGE')), false),"
        " coalesce(bool_and(has_table_privilege(oid, 'SELECT')), false)"
        " FROM pg_class WHERE relnamespace = to_regnamespace('longmind') AND relkind = 'r'",
    )
    missing = {each.version for each in load_migrations("postgres")} - set(applied)
    if missing and not owns:
        todo = "Open the database once with the role that owns its tables."
        return OpeningNeed("rights", "trouble", f"{role} may not change the tables, which lack migrations", todo)
    if not (owns or may_use):
        todo = f'Their owner runs: GRANT USAGE ON SCHEMA longmind TO "{role}", and GRANT … ON ALL TABLES as documented.'
        return OpeningNeed("rights", "trouble", f"{role} may not use the tables", todo)
    return OpeningNeed("rights", "ok", f"{role} {'owns' if owns else 'may use'} the tables")


def _check_row_security(connection: psycopg.Connection[Any]) -> OpeningNeed:
    """Check that row level security binds the role, or that there is one to step down to."""
    if not sees_through(connection):
        return OpeningNeed("row security", "ok", "it binds the role of the address")
    if role_is_ready(connection):
        return OpeningNeed("row security", "ok", f"connections step down to {APP_ROLE}, which it binds")
    (may_create,) = _read(
        connection,
        "SELECT rolsuper OR rolcreaterole OR EXISTS (SELECT FROM pg_roles AS app WHERE app.rolname = %s)"
        " FROM pg_roles WHERE rolname = current_user",
        APP_ROLE,
    )
    if may_create:
        return OpeningNeed("row security", "ok", f"opening creates the role {APP_ROLE}, which it binds")
    todo = f"Use a role without BYPASSRLS, or let an administrator run: CREATE ROLE {APP_ROLE} NOLOGIN"
    return OpeningNeed("row security", "trouble", f"the role bypasses it and may not create {APP_ROLE}", todo)


def _check_connections(connection: psycopg.Connection[Any], settings: Settings) -> OpeningNeed:
    most, used, limit = _read(
        connection,
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,"
        " (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database),"
        " (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)",
    )
    free = max(0, most - used) if limit < 0 else min(max(0, most - used), limit)
    says = f"{free} are free, and an engine holds up to {settings.pool_size}"
    if free < settings.pool_size:
        return OpeningNeed("connections", "warning", says, "Lower pool_size, or raise max_connections of the server.")
    return OpeningNeed("connections", "ok", says)


def _read(connection: psycopg.Connection[Any], statement: str, *values: object) -> tuple[Any, ...]:
    """Return the one row of a statement."""
    row = connection.execute(statement.encode(), values or None).fetchone()
    assert row is not None
    return tuple(row)
