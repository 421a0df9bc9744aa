"""Databases of version 0.2, which carry the product's former name, and their renaming.

The name stood in the schema, in its table of applied migrations, in the role that superusers step down to, and in the
settings that row-level security compares. All of it is renamed at `open()`, in the transaction that migrates, so that a
database has either the former name or the present one and never a mixture.

Processes of 0.2 that still run find no table under the former name after the commit, and fail without writing. The role
is not renamed but replaced: other databases of the same server may still be at 0.2.
"""

from __future__ import annotations

from typing import Any

import psycopg

from longmind.store.migrations import FORMER_VERSION_TABLE, VERSION_TABLE

_FORMER_SCHEMA_TABLE = f"recollect.{FORMER_VERSION_TABLE}"
_PRESENT_SCHEMA_TABLE = f"longmind.{VERSION_TABLE}"
_FORMER_ROLE = "recollect_app"

# Version 0.2 creates its schema where it finds none. A version number that it does not know makes it refuse to open,
# instead of starting an empty memory next to the renamed one.
_GUARD = f"""
CREATE SCHEMA recollect;
CREATE TABLE {_FORMER_SCHEMA_TABLE} (version INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO {_FORMER_SCHEMA_TABLE} SELECT max(version) + 1, 'renamed' FROM {_PRESENT_SCHEMA_TABLE};
"""
_RENAME_SETTINGS = """
DO $$ DECLARE policy RECORD; BEGIN
    FOR policy IN SELECT * FROM pg_policies WHERE schemaname = 'longmind' LOOP
        EXECUTE format(
            'ALTER POLICY %I ON longmind.%I USING (%s)',
            policy.policyname, policy.tablename, replace(policy.qual, '''recollect.', '''longmind.')
        );
    END LOOP;
END $$
"""
_RENAME_CONSTRAINTS = f"""
DO $$ DECLARE former RECORD; BEGIN
    FOR former IN SELECT conname FROM pg_constraint
        WHERE conrelid = 'longmind.{FORMER_VERSION_TABLE}'::regclass AND conname LIKE '{FORMER_VERSION_TABLE}%'
    LOOP
        EXECUTE format(
            'ALTER TABLE longmind.{FORMER_VERSION_TABLE} RENAME CONSTRAINT %I TO %I',
            former.conname, replace(former.conname, '{FORMER_VERSION_TABLE}', '{VERSION_TABLE}')
        );
    END LOOP;
END $$
"""
_REVOKE = f"""
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{_FORMER_ROLE}') THEN
        REVOKE ALL ON ALL TABLES IN SCHEMA longmind FROM {_FORMER_ROLE};
        REVOKE ALL ON ALL SEQUENCES IN SCHEMA longmind FROM {_FORMER_ROLE};
        REVOKE ALL ON SCHEMA longmind FROM {_FORMER_ROLE};
    END IF;
END $$
"""


def find_version_table(connection: psycopg.Connection[Any]) -> str | None:
    """Return the qualified name of the table of applied migrations; None in a database without our schema."""
    # Read from the catalogue: to_regclass may answer from a cache that is older than another process's rename.
    found = connection.execute(
        "SELECT schemaname || '.' || tablename FROM pg_tables"
        " WHERE schemaname IN ('longmind', 'recollect') AND tablename IN (%s, %s)",
        (VERSION_TABLE, FORMER_VERSION_TABLE),
    ).fetchall()
    for name in (_PRESENT_SCHEMA_TABLE, f"longmind.{FORMER_VERSION_TABLE}"):
        if (name,) in found:
            return name
    if (_FORMER_SCHEMA_TABLE,) in found and not _is_guard(connection):
        return _FORMER_SCHEMA_TABLE
    return None


def _is_guard(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the former schema is only the guard, as in a database whose renamed schema was dropped."""
    return connection.execute(f"SELECT 1 FROM {_FORMER_SCHEMA_TABLE} WHERE version = 1".encode()).fetchone() is None


def read_versions(connection: psycopg.Connection[Any]) -> list[int] | None:
    """Return the applied migrations, in order; None in a database without our schema."""
    table = find_version_table(connection)
    if table is None:
        return None
    return [version for (version,) in connection.execute(f"SELECT version FROM {table} ORDER BY version".encode())]


def rename_schema(connection: psycopg.Connection[Any]) -> None:
    """Give the schema of version 0.2 its present name, so that migrations find it."""
    if find_version_table(connection) == _FORMER_SCHEMA_TABLE:
        connection.execute("ALTER SCHEMA recollect RENAME TO longmind")
        connection.execute(_RENAME_SETTINGS)
        connection.execute(_REVOKE)


def rename_version_table(connection: psycopg.Connection[Any]) -> None:
    """Rename the table of applied migrations as well, and leave the guard in place of the former schema.

    Called after the migrations, because processes that open the database wait for this transaction from here on.
    """
    if find_version_table(connection) == f"longmind.{FORMER_VERSION_TABLE}":
        connection.execute(_RENAME_CONSTRAINTS)
        connection.execute(f"ALTER TABLE longmind.{FORMER_VERSION_TABLE} RENAME TO {VERSION_TABLE}")
        connection.execute(_GUARD)
