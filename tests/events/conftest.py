"""A context that names a session and a run, as an agent's host makes it, on a clock that a test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from tests.clock import SettableClock
from tests.events.samples import context_of


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder="none", clock=clock) as engine:
        yield engine


@pytest.fixture
def ctx(engine: longmind.Engine) -> longmind.Context:
    return context_of(engine, session_id="s1", run_id="r1")
