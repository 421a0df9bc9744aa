"""A look at the tables themselves, past the engine."""

from __future__ import annotations

from typing import Any

import apsw
import psycopg


def ledger_rows(database_url: str, query: str) -> list[tuple[Any, ...]]:
    """Run a query in which `{events}` stands for the table of the ledger."""
    if database_url.startswith("sqlite:"):
        connection = apsw.Connection(database_url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return list(connection.execute(query.format(events="events")))
        finally:
            connection.close()
    with psycopg.connect(database_url) as server:
        return server.execute(query.format(events="longmind.events").encode()).fetchall()
