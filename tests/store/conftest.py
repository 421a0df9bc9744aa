"""Databases before anything was done to them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest) -> str:
    """A database with no migration applied, once on each engine."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def second_url(empty_url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Another one like `empty_url`."""
    if empty_url.startswith("sqlite"):
        yield empty_url.replace("memory.db", "second.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create_database("second")
    yield url
    server.drop_database("second")
