"""Jobs live by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import recollect
from tests.clock import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[recollect.Recollect]:
    with recollect.open(database_url, clock=clock) as engine:
        yield engine
