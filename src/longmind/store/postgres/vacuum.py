"""Writes the tables of a PostgreSQL database anew, so that nothing of deleted rows is left in their files."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import psycopg

from longmind.store.database import ScrubReport
from longmind.store.whole_tables.user_tables import NOBODYS, PLACES

TABLES = (*(place.table for place in PLACES), *NOBODYS)

_STATISTICS = "The statistics of columns may hold values: let the database's owner run VACUUM FULL pg_statistic."
_OLD_READER = "A transaction that began before still sees what was deleted: run this again when it has ended."
_EMPTY_TABLES = (
    "The statistics of tables that are empty now may hold values: before PostgreSQL 18 a superuser has to run this."
)


def rewrite_tables(connection: psycopg.Connection[Any], patience_seconds: float) -> ScrubReport:
    """Run VACUUM FULL on each table, and see that the statistics hold no value of a deleted row either.

    VACUUM alone would not do: it gives room free, and leaves the bytes in it as they were.
    """
    alone = _wait_for_readers(connection, patience_seconds)
    for table in TABLES:
        connection.execute(f"VACUUM (FULL, ANALYZE) longmind.{table}")
    forgotten = _forget_statistics_of_empty_tables(connection)
    # The statistics were replaced just now, and who has begun meanwhile, such as the server's own analysis of another
    # table, still sees those from before.
    alone = _wait_for_readers(connection, patience_seconds) and alone
    before = _statistics_file(connection)
    connection.execute("VACUUM FULL pg_catalog.pg_statistic")
    known = _statistics_file(connection) != before
    with suppress(psycopg.errors.InsufficientPrivilege):
        # Files that were replaced are removed with the next checkpoint; who may not ask for one waits for it.
        connection.execute("CHECKPOINT")
    looked_at = ((_OLD_READER, alone), (_STATISTICS, known), (_EMPTY_TABLES, forgotten))
    left = [words for words, fine in looked_at if not fine]
    return ScrubReport(not left, "tables and indexes written anew", " ".join(left) or None)


def _wait_for_readers(connection: psycopg.Connection[Any], seconds: float) -> bool:
    """Wait until nobody sees the database as it was before; False when that took too long."""
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
    """Remove what is known of the rows that such a table had, which ANALYZE leaves; False when that is not allowed."""
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
    """Which file the statistics are in. Who may not write them anew gets a warning, not an error."""
    return connection.execute("SELECT pg_relation_filenode('pg_catalog.pg_statistic')").fetchone()
