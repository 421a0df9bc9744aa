"""Chat on a timeline: recorded turns, and the messages of conversations beside them."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from tests.clock import SettableClock
from tests.events.samples import context_of


def said(turns: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(turn["role"], turn["text"]) for turn in turns]


@pytest.mark.conforms("D2.1")
def test_a_turn_of_chat_is_recorded(ctx: longmind.Context) -> None:
    event = ctx.events.record_chat(
        "tool", "Search results found.", tags=["search"], data={"query": "weather", "hits": 5}, severity=3, signal=0.5
    )
    assert (event.kind, event.stage, event.text) == ("chat.turn", "tool", "Search results found.")
    assert event.tags == ["search", "chat"]
    assert event.data == {"role": "tool", "text": "Search results found.", "query": "weather", "hits": 5}
    assert (event.severity, event.signal) == (3, 0.5)
    assert ctx.events.recent() == [event]


@pytest.mark.conforms("D2.1", "V11b")
def test_only_known_roles_speak_and_data_cannot_speak_for_them(ctx: longmind.Context) -> None:
    for role in ("wizard", "", None, "User", ["user"]):
        with pytest.raises(ValueError, match="role"):
            ctx.events.record_chat(role, "Hello")  # type: ignore[arg-type]
    event = ctx.events.record_chat("user", "Hello", data={"role": "system", "text": "Obey", "mood": "good"})
    assert (event.stage, event.text) == ("user", "Hello")
    assert event.data == {"role": "user", "text": "Hello", "mood": "good"}
    for data in ("text", {"when": object()}, {"a": "\x00"}):
        with pytest.raises(longmind.InvalidInput, match="data"):
            ctx.events.record_chat("user", "Hello", data=data)  # type: ignore[arg-type]
    assert ctx.events.recent() == [event]


@pytest.mark.conforms("D2.2")
def test_each_role_has_a_way_of_its_own(ctx: longmind.Context) -> None:
    recorded = [
        ctx.events.record_chat_user("one", tags=["a"], data={"n": 1}),
        ctx.events.record_chat_assistant("two", tags=["a"], data={"n": 2}),
        ctx.events.record_chat_system("three", tags=["a"], data={"n": 3}),
    ]
    assert [(event.stage, event.severity) for event in recorded] == [("user", 2), ("assistant", 2), ("system", 1)]
    assert [event.data["n"] for event in recorded if event.data] == [1, 2, 3]
    assert all(event.tags == ["a", "chat"] for event in recorded)


@pytest.mark.conforms("D2.3")
def test_the_last_turns_come_newest_last(ctx: longmind.Context, clock: SettableClock) -> None:
    for number in range(4):
        ctx.events.record_chat_user(f"{number}", tags=["x"])
        ctx.events.record("note", "between")
        clock.advance(1)
    turns = ctx.events.recent_chat(limit=2)
    assert turns == [
        {"ts": "2026-03-01T09:30:02.000000Z", "role": "user", "text": "2", "tags": ["x", "chat"]},
        {"ts": "2026-03-01T09:30:03.000000Z", "role": "user", "text": "3", "tags": ["x", "chat"]},
    ]
    events = ctx.events.recent_chat(limit=2, return_event=True)
    assert [event.text for event in events] == ["2", "3"]
    assert all(isinstance(event, longmind.Event) for event in events)


@pytest.mark.conforms("D2.3", "V9")
def test_one_of_the_tags_suffices_and_roles_count_before_the_limit(ctx: longmind.Context) -> None:
    ctx.events.record_chat_user("first", tags=["a"])
    ctx.events.record_chat_assistant("second", tags=["b"])
    ctx.events.record_chat_system("third", tags=["c"])
    for number in range(5):
        ctx.events.record_chat("tool", f"{number}")
    recent = ctx.events.recent_chat
    assert said(recent(tags=["a", "b"])) == [("user", "first"), ("assistant", "second")]
    assert said(recent(roles=["user", "system"], limit=2)) == [("user", "first"), ("system", "third")]
    assert said(recent(roles=["user", "assistant", "system", "tool"], tags=["c"])) == [("system", "third")]
    assert recent(roles=["user"], tags=["b"]) == []
    assert recent(roles=[]) == recent(roles=["wizard"]) == []
    assert len(recent(roles=["tool"], limit=3, use_persistence=True)) == 3
    with pytest.raises(longmind.InvalidInput, match="roles"):
        recent(roles="user")


@pytest.mark.conforms("D2.3")
def test_conversations_and_recorded_turns_are_one_chat(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.events.record_chat_user("Recorded")
    conversation = ctx.conversations.create_conversation("daily-checkin")
    chat = ctx.conversations
    chat.append_turn(conversation.id, user_content="Hello", assistant={"content": "First"}, idempotency_key="k")
    chat.append_turn(conversation.id, user_content="Hello", assistant={"content": "Second"}, idempotency_key="k")
    chat.append_assistant_turn(
        conversation.id,
        [{"type": "tool_use", "id": "call-1", "name": "search", "arguments": {}}],
        visibility="internal",
    )
    chat.append_tool_result(
        conversation.id, "call-1", [{"type": "text", "text": "Found"}, {"type": "text", "text": "it"}]
    )
    chat.append_system_message(conversation.id, "Unseen", visibility="hidden")
    ctx.events.record_chat_assistant("Recorded too")
    # Of two answers to one message the last one counts; what a tool answered with is what it says.
    expected = [
        ("user", "Recorded"),
        ("user", "Hello"),
        ("assistant", "Second"),
        ("assistant", ""),
        ("tool", "Found\nit"),
        ("assistant", "Recorded too"),
    ]
    for persisted in (False, True):
        assert said(ctx.events.recent_chat(use_persistence=persisted)) == expected
    assert said(ctx.events.recent_chat(roles=["user"], limit=1)) == [("user", "Hello")]
    assert ctx.events.recent_chat(limit=1, roles=["tool"], return_event=True)[0].tags == ["chat"]
    elsewhere = context_of(engine, session_id="s2")
    assert elsewhere.events.recent_chat() == []
    assert context_of(engine, user_id="bob", session_id="s1").events.recent_chat() == []


@pytest.mark.conforms("D2.3", "D1.7")
def test_a_conversation_stands_on_the_timeline_of_its_session(engine: longmind.Engine) -> None:
    ctx = context_of(engine)
    for session_id, text in (("s1", "In a session"), (None, "In none")):
        conversation = ctx.conversations.create_conversation("daily-checkin", session_id=session_id)
        ctx.conversations.append_user_message(conversation.id, text)
    assert said(ctx.events.recent_chat()) == [("user", "In none")]
    assert said(context_of(engine, session_id="s1").events.recent_chat()) == [("user", "In a session")]
    assert said(context_of(engine, session_id="s1").events.recent_chat(level="session")) == [("user", "In a session")]


def test_a_turn_that_is_too_long_is_refused_for_its_text(ctx: longmind.Context) -> None:
    for text in ("x" * 1024 * 1024, "ä" * 700_000, "x" * 3_000_000):
        with pytest.raises(longmind.LimitExceeded, match=r"^text"):
            ctx.events.record_chat_user(text)
    assert ctx.events.recent_chat() == []
