"""An engine whose clock stands still until a test moves it, and two users of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from longmind.blocks import Blocks
from tests.clock import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder="none", clock=clock, job_retry_seconds=0.001) as engine:
        yield engine


@pytest.fixture
def blocks(ctx: longmind.Context) -> Blocks:
    return ctx.blocks
