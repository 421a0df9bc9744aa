"""The shape of a database, told so that one that has grown can be compared with one that was made today.

Columns are told by name and not by place: one that was added later stands at the end, and every statement names them.
"""

from __future__ import annotations

import apsw
import psycopg

from prove.upgrades.recorded import path_of

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
    "migrations": "SELECT version, name FROM recollect_schema",
}

_POSTGRES = {
    "columns": """
        SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, is_identity,
            identity_generation, is_generated, generation_expression
        FROM information_schema.columns WHERE table_schema = 'recollect'""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = to_regnamespace('recollect')""",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recollect'",
    "policies": """
        SELECT tablename, policyname, permissive, roles::text[], cmd, qual, with_check FROM pg_policies
        WHERE schemaname = 'recollect'""",
    "relations": """
        SELECT relname, relkind, relpersistence, relrowsecurity, relforcerowsecurity, reloptions, relacl::text
        FROM pg_class WHERE relnamespace = to_regnamespace('recollect')""",
    "triggers": """
        SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
            AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('recollect'))""",
    "functions": """
        SELECT proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = to_regnamespace('recollect') AND prokind = 'f'""",
    "schema": "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname = 'recollect'",
    "extensions": "SELECT extname FROM pg_extension",
    "migrations": "SELECT version, name FROM recollect.recollect_schema",
}


def shape(url: str) -> dict[str, list[str]]:
    """All that makes up the schema, by its parts."""
    if url.startswith("sqlite:"):
        connection = apsw.Connection(path_of(url), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return {part: sorted(map(repr, connection.execute(query))) for part, query in _SQLITE.items()}
        finally:
            connection.close()
    with psycopg.connect(url) as postgres:
        return {part: sorted(map(repr, postgres.execute(query.encode()))) for part, query in _POSTGRES.items()}


def unlike(url: str, fresh: str) -> list[str]:
    """What one database has and the other has not."""
    here, there = shape(url), shape(fresh)
    return [
        f"{part}: {what} {row}"
        for part in here
        for what, rows in (
            ("only the old one has", set(here[part]) - set(there[part])),
            ("only the new one has", set(there[part]) - set(here[part])),
        )
        for row in sorted(rows)
    ]
