"""Metering: every record is counted by tenant, app, user and kind."""

from __future__ import annotations

import pytest

import longmind
from tests.clock import SettableClock
from tests.events.samples import context_of


def counted(ctx: longmind.Context, since: str | None = None) -> dict[str, int]:
    return {usage.meter: usage.events for usage in ctx.events.usage(since=since)}


@pytest.mark.conforms("D1.1", "D1.2")
def test_every_record_is_counted_by_its_kind(ctx: longmind.Context, clock: SettableClock) -> None:
    assert ctx.events.usage() == []
    ctx.events.record_many([{"kind": "note"}] * 3)
    ctx.events.at("user").record("note", "elsewhere")
    ctx.events.record_raw(base={})
    clock.advance(60)
    ctx.events.record_chat_user("Hello")
    ctx.events.record_tool_result(tool="search")
    everything = {"memory.note": 4, "memory.misc": 1, "memory.chat.turn": 1, "memory.tool_result": 1}
    assert counted(ctx) == everything
    assert counted(ctx, "2026-03-01T09:31:00Z") == {"memory.chat.turn": 1, "memory.tool_result": 1}
    assert counted(ctx, "2026-03-01T09:32:00Z") == {}
    with pytest.raises(longmind.InvalidInput, match="since"):
        ctx.events.usage(since="yesterday")


@pytest.mark.conforms("D1.1", "D1.2")
def test_what_is_counted_is_counted_for_its_user(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.events.record("note", "mine")
    for who in ({"user_id": "bob"}, {"app_id": "sales"}, {"tenant_id": "globex"}):
        other = context_of(engine, **who)
        assert other.events.usage() == []
        other.events.record("note", "theirs")
        (usage,) = other.events.usage()
        scope = other.scope
        assert (usage.tenant_id, usage.app_id, usage.user_id) == (scope.tenant_id, scope.app_id, scope.user_id)
        assert (usage.kind, usage.events) == ("note", 1)
    assert counted(ctx) == {"memory.note": 1}


@pytest.mark.conforms("D1.2")
def test_a_record_that_was_refused_is_not_counted(ctx: longmind.Context) -> None:
    with pytest.raises(longmind.InvalidInput, match="severity"):
        ctx.events.record_many([{"kind": "note"}, {"kind": "note", "severity": 9}])
    assert ctx.events.usage() == []


def test_messages_of_conversations_are_counted_with_the_chat(ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("daily-checkin")
    ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Good day"})
    ctx.events.record_chat_user("Hello")
    assert counted(ctx) == {"memory.chat.turn": 3}
