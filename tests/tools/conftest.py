"""The tools live by a clock that the test moves; words are enough to find what they store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import recollect
from recollect.tools import Tools
from tests.clock import SettableClock

OWNER: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}


@pytest.fixture(autouse=True)
def _patient_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session waits for its brief for longer than a busy machine stalls."""
    monkeypatch.setattr("recollect.tools.tools.SESSION_START_SECONDS", 60.0)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[recollect.Recollect]:
    with recollect.open(database_url, clock=clock, embedder=None) as engine:
        yield engine


@pytest.fixture
def in_session(engine: recollect.Recollect) -> Callable[[str], recollect.Context]:
    """The same user in a session of another name."""
    return lambda session: engine.context(**OWNER, session_id=session)


@pytest.fixture
def ctx(in_session: Callable[[str], recollect.Context]) -> recollect.Context:
    return in_session("session-1")


@pytest.fixture
def tools(ctx: recollect.Context) -> Tools:
    return ctx.tools
