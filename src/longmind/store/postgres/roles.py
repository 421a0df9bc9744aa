"""Requirements of a PostgreSQL database: its encoding, the schema, and a role that row security binds."""

from __future__ import annotations

from typing import Any

import psycopg

from longmind.errors import StoreError
from longmind.store.postgres.product_rename import find_version_table

APP_ROLE = "longmind_app"


def refuse_other_encodings(connection: psycopg.Connection[Any]) -> None:
    """Raise StoreError unless the database stores text as UTF-8."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"The database stores text as {encoding}, which lacks most characters.",
            hint="Create one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
        )


def ensure_schema(connection: psycopg.Connection[Any]) -> None:
    """Create the schema and the table of applied migrations in a database that has neither."""
    if find_version_table(connection) is None:
        connection.execute("CREATE SCHEMA IF NOT EXISTS longmind")
        connection.execute("CREATE TABLE longmind.longmind_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL)")


def role_is_ready(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the role that superusers step down to has its rights, or is not needed."""
    if not sees_through(connection):
        return True
    ready = connection.execute(
        "SELECT bool_and(has_table_privilege(pg_roles.oid, pg_class.oid, 'SELECT')) FROM pg_roles, pg_class "
        "WHERE rolname = %s AND relnamespace = to_regnamespace('longmind') AND relkind IN ('r', 'S')",
        (APP_ROLE,),
    )
    return ready.fetchone() == (True,)


def ensure_role(connection: psycopg.Connection[Any]) -> None:
    """Create the role that superusers step down to. Row security binds everybody else anyway, the owner included."""
    if not role_is_ready(connection):
        # Roles are shared by all databases of a server, so another process may be creating it at this moment. A role
        # that bypasses row security without being a superuser has to be a member to step down.
        connection.execute(
            f"DO $$ BEGIN CREATE ROLE {APP_ROLE} NOLOGIN; GRANT {APP_ROLE} TO CURRENT_USER; "
            "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
        connection.execute(f"GRANT USAGE ON SCHEMA longmind TO {APP_ROLE}")
        connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA longmind TO {APP_ROLE}")
        connection.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA longmind TO {APP_ROLE}")
        connection.execute(f"REVOKE INSERT, UPDATE, DELETE ON longmind.longmind_schema FROM {APP_ROLE}")


def try_role(connection: psycopg.Connection[Any]) -> None:
    """Step down for this transaction, so that a lack of rights is reported now and not by the pool after a wait."""
    if sees_through(connection):
        connection.execute(f"SET LOCAL ROLE {APP_ROLE}")


def sees_through(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the current role bypasses row-level security."""
    return connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ).fetchone() == (True,)
