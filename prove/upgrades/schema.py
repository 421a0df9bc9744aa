"""The schema of a database, in a form that compares a migrated one with one created today.

Columns are listed by name and not by place: one that was added later stands at the end, and every statement names
them.
"""

from __future__ import annotations

import apsw

from harness.postgres_schema import postgres_schema
from prove.upgrades.recordings import path_of

_SQLITE = {
    "tables": "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main'",
    "columns": """
        SELECT t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden
        FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c WHERE t.schema = 'main'""",
    "foreign keys": """
        SELECT t.name, k."table", k."from", k."to", k.on_delete
        FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS k WHERE t.schema = 'main'""",
    "the rest": "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type <> 'table'",
    "virtual tables": "SELECT name, sql FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'",
    "migrations": "SELECT version, name FROM longmind_schema",
}

_FORMER_EXTENSION = "('vector',)"
_POSTGRES = {"migrations": "SELECT version, name FROM longmind.longmind_schema"}


def shape(url: str) -> dict[str, list[str]]:
    """Return everything that makes up the schema, by its parts."""
    if url.startswith("sqlite:"):
        connection = apsw.Connection(path_of(url), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return {part: sorted(map(repr, connection.execute(query))) for part, query in _SQLITE.items()}
        finally:
            connection.close()
    return postgres_schema(url, _POSTGRES)


def unlike(url: str, fresh: str) -> list[str]:
    """Return what only one of the two databases has."""
    here, there = shape(url), shape(fresh)
    # Earlier versions created an extension, which stays: tables of others may rest on it.
    if "extensions" in here:
        here["extensions"] = [row for row in here["extensions"] if row != _FORMER_EXTENSION]
    return [
        f"{part}: {what} {row}"
        for part in here
        for what, rows in (
            ("only the old one has", set(here[part]) - set(there[part])),
            ("only the new one has", set(there[part]) - set(here[part])),
        )
        for row in sorted(rows)
    ]
