"""The schema of a PostgreSQL database according to its catalogs, in a comparable form."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg

# Columns are listed by name and not by place: one that was added later stands at the end.
_PARTS = {
    "columns": """
        SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, is_identity,
            identity_generation, is_generated, generation_expression
        FROM information_schema.columns WHERE table_schema = 'longmind'""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = to_regnamespace('longmind')""",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'longmind'",
    "policies": """
        SELECT tablename, policyname, permissive, roles::text[], cmd, qual, with_check FROM pg_policies
        WHERE schemaname = 'longmind'""",
    "relations": """
        SELECT relname, relkind, relpersistence, relrowsecurity, relforcerowsecurity, reloptions, relacl::text
        FROM pg_class WHERE relnamespace = to_regnamespace('longmind')""",
    "triggers": """
        SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
            AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('longmind'))""",
    "functions": """
        SELECT proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = to_regnamespace('longmind') AND prokind = 'f'""",
    "schema": "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname = 'longmind'",
    "extensions": "SELECT extname FROM pg_extension",
}


def postgres_schema(url: str, further: Mapping[str, str]) -> dict[str, list[str]]:
    """Return everything that makes up the schema, by its parts, with the answers to further queries."""
    with psycopg.connect(url) as connection:
        return {
            part: sorted(map(repr, connection.execute(query.encode()))) for part, query in {**_PARTS, **further}.items()
        }
