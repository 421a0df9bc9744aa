"""A conversation that closes with no binding says so: once in the log, and in the report of work."""

from __future__ import annotations

import logging

import pytest

import longmind

MINE = {"namespace": "chat", "user_id": "ada"}


def close_one(ctx: longmind.Context, *, said: bool = True) -> str:
    conversation = ctx.conversations.create_conversation("chat")
    if said:
        ctx.conversations.append_user_message(conversation.id, "I live in Graz.")
    ctx.conversations.close_conversation(conversation.id)
    ctx.conversations.close_conversation(conversation.id)
    return conversation.id


def test_a_closing_that_no_binding_covers_is_logged_once_and_reported(
    engine: longmind.Engine, ctx: longmind.Context, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="longmind.conversations"):
        first = close_one(ctx)
        close_one(ctx)
    (logged,) = [record.getMessage() for record in caplog.records if "no binding covers" in record.getMessage()]
    assert first in logged
    assert "create_binding" in logged
    assert engine.work().unbound == 2
    assert engine.work() == longmind.WorkReport()


def test_stale_conversations_are_reported_too(engine: longmind.Engine, ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(conversation.id, "I live in Graz.")
    assert len(ctx.conversations.close_stale(0)) == 1
    assert engine.work().unbound == 1


@pytest.mark.parametrize("policy", [None, {"on_conversation_closed": False, "windowed": True, "window_turns": 9}])
def test_a_covered_conversation_is_not_reported(
    engine: longmind.Engine, ctx: longmind.Context, policy: dict[str, object] | None
) -> None:
    space = ctx.memory.create_memory_space("personal")
    binding = ctx.memory.create_binding(MINE, [space.id], policy)
    close_one(ctx)
    ctx.memory.update_binding(binding.id, enabled=False)
    close_one(ctx)
    assert engine.work().unbound == 0


def test_an_empty_conversation_is_not_reported(engine: longmind.Engine, ctx: longmind.Context) -> None:
    close_one(ctx, said=False)
    assert engine.work() == longmind.WorkReport()
