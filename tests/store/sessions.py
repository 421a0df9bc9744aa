"""The sessions that engines have on a server."""

from __future__ import annotations

import psycopg


def sessions_of(url: str) -> set[int]:
    """The server's processes for the engines that have this database open."""
    with psycopg.connect(url, autocommit=True) as administrator:
        rows = administrator.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'longmind' AND datname = current_database()"
        ).fetchall()
    return {row[0] for row in rows}
