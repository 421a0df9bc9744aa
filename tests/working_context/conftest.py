"""What the tests of working contexts share: a user with a conversation and a space, and a clock that is set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import longmind
from longmind.models.working_context import WorkingContext
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder


@dataclass(frozen=True)
class Ada:
    """A user in the middle of a conversation."""

    ctx: longmind.Context
    clock: SettableClock
    conversation_id: str
    space_id: str

    def remember(self, text: str, name: str = "general", kind: str = "FACT", **more: Any) -> longmind.Atom:
        self.clock.advance(1)
        return self.ctx.memory.add_atom(self.space_id, {"text": text, "category": {"name": name, "kind": kind}, **more})

    def say(self, question: str, answer: str) -> None:
        self.clock.advance(1)
        self.ctx.conversations.append_turn(self.conversation_id, user_content=question, assistant={"content": answer})

    def summarise(self) -> None:
        self.clock.advance(1)
        self.ctx.conversations.refresh_rolling_summary(self.conversation_id)

    def build(self, **options: Any) -> WorkingContext:
        return self.ctx.working_context.build_working_context(
            self.conversation_id, memory_space_id=self.space_id, **options
        )


def of(engine: longmind.Engine, clock: SettableClock, user_id: str = "ada") -> Ada:
    ctx = engine.context(tenant_id="acme", app_id="support", user_id=user_id)
    conversation_id = ctx.conversations.create_conversation("daily-checkin").id
    return Ada(ctx, clock, conversation_id, ctx.memory.create_memory_space(f"of {conversation_id}").id)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=WordsEmbedder(dimension=256), clock=clock) as engine:
        yield engine


@pytest.fixture
def ada(engine: longmind.Engine, clock: SettableClock) -> Ada:
    return of(engine, clock)
