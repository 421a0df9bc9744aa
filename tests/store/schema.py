"""What the live schemas of both engines say about themselves."""

from __future__ import annotations

from dataclasses import dataclass

import apsw
import psycopg
from psycopg.rows import TupleRow

from harness.postgres_schema import postgres_schema
from longmind.store.migrations import load_migrations
from longmind.store.sqlite.database import register_text_hash

OWN_TABLES = {"longmind_schema"}
"""Tables that hold nothing of any user."""
HOST_TABLES = {"access_keys"}
"""Tables of the host's own, which name users but belong to none: no scope sees them."""


@dataclass(frozen=True)
class Key:
    """A primary, unique or foreign key."""

    table: str
    columns: tuple[str | None, ...]
    """None stands for an expression."""


def migrated_in_memory() -> apsw.Connection:
    """An SQLite database with all migrations applied, for looking at its schema."""
    connection = apsw.Connection(":memory:")
    register_text_hash(connection)
    for migration in load_migrations("sqlite"):
        if migration.when is None or connection.execute(migration.when).fetchone() == (1,):
            connection.execute(migration.text)
    return connection


def sqlite_tables(connection: apsw.Connection) -> set[str]:
    # Shadow tables are the private storage of a virtual table, which is listed itself.
    rows = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')"
    )
    return {str(name) for (name,) in rows if not str(name).startswith("sqlite_")} - OWN_TABLES


def sqlite_user_tables(connection: apsw.Connection) -> set[str]:
    """The tables whose rows belong to somebody: they have a scope_id."""
    return {table for table in sqlite_tables(connection) if "scope_id" in sqlite_columns(connection, table)}


def sqlite_app_tables(connection: apsw.Connection) -> set[str]:
    """The tables whose rows belong to a whole app: they have an app_key."""
    return {table for table in sqlite_tables(connection) if "app_key" in sqlite_columns(connection, table)}


def sqlite_columns(connection: apsw.Connection, table: str) -> list[str]:
    return [str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?) ORDER BY cid", (table,))]


def sqlite_keys(connection: apsw.Connection, table: str) -> set[Key]:
    indexes = connection.execute('SELECT name FROM pragma_index_list(?) WHERE "unique"', (table,)).fetchall()
    keys = {
        tuple(column for (column,) in connection.execute("SELECT name FROM pragma_index_info(?) ORDER BY seqno", index))
        for index in indexes
    }
    # The primary key of a table with rowids may have no index of its own.
    keys.add(_names(connection, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table))
    for (number,) in connection.execute("SELECT DISTINCT id FROM pragma_foreign_key_list(?)", (table,)).fetchall():
        for end in ("from", "to"):
            rows = connection.execute(
                f'SELECT "{end}" FROM pragma_foreign_key_list(?) WHERE id = ? ORDER BY seq', (table, number)
            )
            keys.add(tuple(column for (column,) in rows))
    return {Key(table, columns) for columns in keys if columns}


def _names(connection: apsw.Connection, query: str, table: str) -> tuple[str, ...]:
    return tuple(str(name) for (name,) in connection.execute(query, (table,)))


def sqlite_description(path: str) -> list[tuple[object, ...]]:
    """Everything that makes up the schema, in a form that can be compared."""
    connection = apsw.Connection(path)
    try:
        return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
    finally:
        connection.close()


def postgres_tables(connection: psycopg.Connection[TupleRow]) -> set[str]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'longmind'")
    return {name for (name,) in rows} - OWN_TABLES


def postgres_user_tables(connection: psycopg.Connection[TupleRow]) -> set[str]:
    return _tables_with(connection, "scope_id")


def postgres_app_tables(connection: psycopg.Connection[TupleRow]) -> set[str]:
    return _tables_with(connection, "app_key")


def _tables_with(connection: psycopg.Connection[TupleRow], column: str) -> set[str]:
    rows = connection.execute(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'longmind' AND column_name = %s",
        (column,),
    )
    return {name for (name,) in rows}


def postgres_columns(connection: psycopg.Connection[TupleRow], table: str) -> list[str]:
    """The columns that a row can be written with."""
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = 'longmind' AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position",
        (table,),
    )
    return [name for (name,) in rows]


def postgres_keys(connection: psycopg.Connection[TupleRow], table: str) -> set[Key]:
    rows = connection.execute(
        """
        SELECT ARRAY(
            SELECT attname FROM unnest(columns) WITH ORDINALITY AS place (number, nth)
            LEFT JOIN pg_attribute ON attrelid = relation AND attnum = number AND number > 0 ORDER BY nth
        )
        FROM (
            SELECT indrelid AS relation, indkey::int2[] AS columns FROM pg_index WHERE indisunique
            UNION ALL SELECT conrelid, conkey FROM pg_constraint WHERE contype IN ('p', 'u', 'x', 'f')
            UNION ALL SELECT confrelid, confkey FROM pg_constraint WHERE contype = 'f'
        ) AS keys
        WHERE relation = to_regclass(%s)
        """,
        (f"longmind.{table}",),
    )
    return {Key(table, tuple(columns)) for (columns,) in rows}


_PLACES = """
SELECT table_name, ordinal_position, column_name FROM information_schema.columns WHERE table_schema = 'longmind'
"""


def postgres_description(url: str) -> dict[str, list[str]]:
    """Everything that makes up the schema, in a form that can be compared; columns also by their places."""
    return postgres_schema(url, {"places": _PLACES})
