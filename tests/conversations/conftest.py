"""What the tests of conversations share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

import longmind
from tests.clock import SettableClock

Unchanged = Callable[[], AbstractContextManager[None]]


def sequences(messages: list[longmind.Message]) -> list[int]:
    return [message.sequence for message in messages]


@pytest.fixture
def conversation(ctx: longmind.Context) -> longmind.Conversation:
    return ctx.conversations.create_conversation("support-chat")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def clocked(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    """An engine that lives by the settable clock."""
    with longmind.open(database_url, clock=clock) as engine:
        yield engine


@pytest.fixture
def clocked_ctx(clocked: longmind.Engine) -> longmind.Context:
    return clocked.context(tenant_id="acme", app_id="support", user_id="ada")


@pytest.fixture
def unchanged(engine: longmind.Engine, ctx: longmind.Context) -> Unchanged:
    """Asserts that nothing is written while it lasts: neither a conversation, nor a message, nor a change."""

    @contextmanager
    def watching() -> Iterator[None]:
        before = ctx.conversations.list_conversations(), list(engine.follow())
        yield
        assert (ctx.conversations.list_conversations(), list(engine.follow())) == before

    return watching
