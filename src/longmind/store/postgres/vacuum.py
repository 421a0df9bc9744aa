"""Rewriting of a PostgreSQL database's tables, so that nothing of deleted rows is left in their files."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import psycopg

from longmind.store.database import ScrubReport
from longmind.store.whole_tables.user_tables import KEPT_TABLES, USER_TABLES

TABLES = (*(place.table for place in USER_TABLES), *KEPT_TABLES)

_STATISTICS = "Column statistics may hold deleted values: let the database's owner run VACUUM FULL pg_statistic."
_OLD_READER = "An older transaction still sees the deleted rows: run this again when it has ended."
_EMPTY_TABLES = (
    "Statistics of emptied tables may hold deleted values: before PostgreSQL 18, a superuser has to run this."
)


def rewrite_tables(connection: psycopg.Connection[Any], patience_seconds: float) -> ScrubReport:
    """Run VACUUM FULL on each table, and clear the statistics, which may hold values of deleted rows.

    VACUUM alone is not enough: it frees the room and leaves the bytes in it.

    patience_seconds: limit on the wait for transactions that still see the deleted rows. What could not be done is
    named in the report, with the person who can do it.
    """
    alone = _wait_for_readers(connection, patience_seconds)
    for table in TABLES:
        connection.execute(f"VACUUM (FULL, ANALYZE) longmind.{table}")
    forgotten = _forget_statistics_of_empty_tables(connection)
    # The statistics were replaced just now, but transactions that began in between, such as the server's own analysis
    # of another table, still see the old ones.
    alone = _wait_for_readers(connection, patience_seconds) and alone
    before = _statistics_file(connection)
    connection.execute("VACUUM FULL pg_catalog.pg_statistic")
    rewritten = _statistics_file(connection) != before
    with suppress(psycopg.errors.InsufficientPrivilege):
        # The next checkpoint removes replaced files; without the right to request one, it comes by itself.
        connection.execute("CHECKPOINT")
    checks = ((_OLD_READER, alone), (_STATISTICS, rewritten), (_EMPTY_TABLES, forgotten))
    left = [words for words, fine in checks if not fine]
    return ScrubReport(not left, "tables and indexes rewritten", " ".join(left) or None)


def _wait_for_readers(connection: psycopg.Connection[Any], seconds: float) -> bool:
    """Wait until no transaction sees the database as it was before; return False after that many seconds."""
    row = connection.execute("SELECT pg_current_xact_id()::xid::text").fetchone()
    mark = row[0] if row else "0"
    deadline = time.monotonic() + seconds
    while True:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_xmin IS NOT NULL AND age(backend_xmin) > age(%s::text::xid)",
            (mark,),
        ).fetchone()
        if row == (0,):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)


def _forget_statistics_of_empty_tables(connection: psycopg.Connection[Any]) -> bool:
    """Clear the statistics of empty tables, which ANALYZE leaves alone; return False if that is not allowed."""
    is_known = connection.execute("SELECT to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL").fetchone()
    try:
        if is_known == (True,):
            connection.execute(
                "SELECT pg_clear_attribute_stats('longmind', relname::text, attname::text, relkind = 'p') "
                "FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
                "WHERE relnamespace = 'longmind'::regnamespace AND relkind IN ('r', 'p') AND reltuples <= 0 "
                "AND attnum > 0 AND NOT attisdropped"
            )
        else:
            connection.execute(
                "DELETE FROM pg_catalog.pg_statistic WHERE starelid IN (SELECT oid FROM pg_class "
                "WHERE relnamespace = 'longmind'::regnamespace AND relkind IN ('r', 'p') AND reltuples <= 0)"
            )
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def _statistics_file(connection: psycopg.Connection[Any]) -> Any:
    """Return the file that holds the statistics.

    It stays the same if VACUUM FULL was not allowed, which the server reports as a warning and not as an error.
    """
    return connection.execute("SELECT pg_relation_filenode('pg_catalog.pg_statistic')").fetchone()
