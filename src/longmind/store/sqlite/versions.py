"""The table of applied migrations in a SQLite file.

Up to version 0.2 it had another name. It is renamed in the transaction that migrates; readers accept both.
"""

from __future__ import annotations

import apsw

from longmind.store.migrations import FORMER_VERSION_TABLE, VERSION_TABLE


def ensure_version_table(connection: apsw.Connection) -> None:
    """Create the table of applied migrations, or rename that of version 0.2. Called inside a transaction."""
    if _find_version_table(connection) == FORMER_VERSION_TABLE:
        connection.execute(f"ALTER TABLE {FORMER_VERSION_TABLE} RENAME TO {VERSION_TABLE}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (version INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"
    )


def read_versions(connection: apsw.Connection) -> list[int] | None:
    """Return the applied migrations, in order; None in a file without the table."""
    table = _find_version_table(connection)
    if table is None:
        return None
    return [int(str(version)) for (version,) in connection.execute(f"SELECT version FROM {table} ORDER BY version")]


def _find_version_table(connection: apsw.Connection) -> str | None:
    names = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return next((name for name in (VERSION_TABLE, FORMER_VERSION_TABLE) if name in names), None)
