"""Databases to lend to tests: cleaned and lent again, since making and dropping one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psycopg

from harness.postgres import PostgresServer

MOST_LOANS = 50
"""Loans after which a database is replaced, since it holds more dead rows than live ones."""

_numbers = count(1)
"""Numbers for names, unique among all lenders on one server."""

_END_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""

# Everything but rows that a test may leave behind: a change of a table, a grant, a policy, a setting, an extension.
_SHAPE = """
SELECT md5(string_agg(part, '|' ORDER BY part)) FROM (
    SELECT ROW(
        relname, relkind, relrowsecurity, relforcerowsecurity, relowner, relacl::text, reloptions,
        attname, atttypid, attnotnull, attisdropped
    )::text AS part
    FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
    UNION ALL SELECT ROW(polname, polrelid::regclass, polcmd, pg_get_expr(polqual, polrelid))::text FROM pg_policy
    UNION ALL SELECT ROW(conname, pg_get_constraintdef(oid))::text FROM pg_constraint
    UNION ALL SELECT ROW(tgname, tgenabled)::text FROM pg_trigger
    UNION ALL SELECT ROW(proname, prosrc)::text FROM pg_proc WHERE oid > 16384
    UNION ALL SELECT extname::text FROM pg_extension
    UNION ALL SELECT nspname::text FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'
    UNION ALL SELECT setconfig::text FROM pg_db_role_setting
        JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database()
    UNION ALL SELECT ROW(version, name)::text FROM longmind.longmind_schema
) AS parts
"""

_CLEAN = """
DO $$
DECLARE
    each regclass;
BEGIN
    FOR each IN SELECT oid FROM pg_class WHERE relnamespace = 'longmind'::regnamespace AND relkind = 'r'
        AND relname <> 'longmind_schema'
    LOOP
        EXECUTE format('DELETE FROM %s', each);
    END LOOP;
    FOR each IN SELECT oid FROM pg_class WHERE relnamespace = 'longmind'::regnamespace AND relkind = 'S' LOOP
        EXECUTE format('ALTER SEQUENCE %s RESTART', each);
    END LOOP;
END $$
"""


class CleanDatabases:
    """Copies of one template to lend. Each loan equals the template, whatever an earlier loan did to it."""

    def __init__(self, server: PostgresServer, template: str) -> None:
        self._server = server
        self._template = template
        self._free: list[tuple[str, int]] = []
        with psycopg.connect(server.url(template)) as connection:
            self._shape = connection.execute(_SHAPE).fetchone()

    @contextmanager
    def lend(self) -> Iterator[str]:
        name, loans = self._free.pop() if self._free else (self._new(), 0)
        try:
            yield self._server.url(name)
        finally:
            if loans < MOST_LOANS and self._is_clean(name):
                self._free.append((name, loans + 1))
            else:
                self._server.drop_database(name)

    def _new(self) -> str:
        name = f"lent_{next(_numbers)}"
        self._server.create_database(name, self._template)
        return name

    def _is_clean(self, name: str) -> bool:
        """Empty a database, and return whether it is again as it was lent."""
        try:
            with psycopg.connect(self._server.url(name), autocommit=True) as connection:
                connection.execute(_END_OTHERS)
                if connection.execute(_SHAPE).fetchone() != self._shape:
                    return False
                connection.execute(_CLEAN)
                return True
        except psycopg.Error:
            return False
