"""The tools live by a clock that the test moves; words are enough to find what they store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import longmind
from longmind.tools import Tools
from tests.clock import SettableClock

OWNER: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}


@pytest.fixture(autouse=True)
def _patient_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session waits for its brief for longer than a busy machine stalls."""
    monkeypatch.setattr("longmind.tools.service.SESSION_START_SECONDS", 60.0)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, clock=clock, embedder=None) as engine:
        yield engine


@pytest.fixture
def in_session(engine: longmind.Engine) -> Callable[[str], longmind.Context]:
    """The same user in a session of another name."""
    return lambda session: engine.context(**OWNER, session_id=session)


@pytest.fixture
def ctx(in_session: Callable[[str], longmind.Context]) -> longmind.Context:
    return in_session("session-1")


@pytest.fixture
def tools(ctx: longmind.Context) -> Tools:
    return ctx.tools
