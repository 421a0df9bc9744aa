"""Fixtures for tests with several processes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from harness.crew import load_beforehand
from harness.postgres import PostgresServer

_numbers = count(1)

# What processes that extract would each load for longer than all else they do.
load_beforehand("longmind.extraction.pipeline", "longmind.blocks.line_search")


@pytest.fixture(params=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes addresses of empty databases, on each engine: as many as are asked for."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path}/new_{next(_numbers)}.db"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    # They go when the server goes: to drop one takes longer than to make it.
    return lambda: server.create_database(f"new_{next(_numbers)}")
