"""What the dead leave to a server: it goes on for a moment with what they have begun."""

from __future__ import annotations

import psycopg

from harness.crew import wait_until

_AT_WORK = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend' AND state <> 'idle'"
)


def wait_until_quiet(url: str) -> None:
    """Wait until all that was begun is committed or undone, so that two looks at the database see the same."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as connection:
            wait_until(lambda: connection.execute(_AT_WORK).fetchone() == (0,))
