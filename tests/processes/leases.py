"""What a worker loses that gives no sign of life for too long, without the wait for it."""

from __future__ import annotations

import apsw
import psycopg

_END = "UPDATE {schema}jobs SET due_at = 0 WHERE status = 'running'"


def end_leases(url: str) -> None:
    """Let every lease be over. The one who has it may have it for long: no sign of life of theirs comes in between."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        # A heartbeat of the slow worker may hold the file just now.
        connection.set_busy_timeout(60_000)
        connection.execute(_END.format(schema=""))
        connection.close()
    else:
        with psycopg.connect(url, autocommit=True) as session:
            session.execute(_END.format(schema="longmind.").encode())
