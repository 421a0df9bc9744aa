"""Jobs live by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

import longmind
from tests.clock import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, clock=clock) as engine:
        yield engine


@pytest.fixture
def end_leases(database_url: str, clock: SettableClock) -> Callable[[], None]:
    """Lets the leases of all jobs run out. On PostgreSQL the server's own clock counts, which no test can move."""

    def end() -> None:
        clock.advance(31)
        if database_url.startswith("postgresql"):
            with psycopg.connect(database_url) as connection:
                connection.execute("UPDATE longmind.jobs SET due_at = 0 WHERE status = 'running'")

    return end
