"""The hot log: the newest part of a timeline, bounded in number and in time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import longmind
from tests.clock import SettableClock
from tests.events.samples import context_of, texts


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder="none", clock=clock, hot_log_events=5, hot_log_days=2) as engine:
        yield engine


@pytest.mark.conforms("D0.2", "D1.8")
def test_what_has_left_the_hot_log_is_still_kept(ctx: longmind.Context) -> None:
    ctx.events.record_many([{"kind": "a" if number < 3 else "b", "text": f"{number}"} for number in range(8)])
    assert texts(ctx.events.recent()) == ["3", "4", "5", "6", "7"]
    assert ctx.events.recent(kinds=["a"]) == []
    assert texts(ctx.events.recent(kinds=["a", "b"], limit=3)) == ["5", "6", "7"]
    assert texts(ctx.events.recent_persisted(kinds=["a"])) == ["0", "1", "2"]
    (oldest,) = ctx.events.recent_persisted(limit=1, offset=7)
    assert ctx.events.get_event(oldest.event_id) == oldest


@pytest.mark.conforms("D0.2", "D1.8")
def test_an_event_leaves_the_hot_log_with_its_age(ctx: longmind.Context, clock: SettableClock) -> None:
    ctx.events.record("note", "first")
    clock.advance(24 * 3600)
    ctx.events.record("note", "second")
    clock.advance(24 * 3600)
    assert texts(ctx.events.recent()) == ["first", "second"]
    clock.advance(1)
    assert texts(ctx.events.recent()) == ["second"]
    assert texts(ctx.events.recent(kinds=["note"])) == ["second"]
    assert texts(ctx.events.recent_persisted()) == ["first", "second"]


@pytest.mark.conforms("D1.6", "D1.7")
def test_filters_look_at_the_whole_hot_log_and_no_further(engine: longmind.Engine, ctx: longmind.Context) -> None:
    other = context_of(engine, session_id="s1", run_id="r2")
    ctx.events.record_many([{"text": f"mine {number}"} for number in range(3)])
    other.events.record_many([{"text": f"other {number}"} for number in range(4)])
    assert texts(ctx.events.recent(level="run")) == ["mine 2"]
    assert texts(ctx.events.recent(level="run", limit=1)) == ["mine 2"]
    assert texts(ctx.events.recent_persisted(level="run")) == ["mine 0", "mine 1", "mine 2"]


@pytest.mark.conforms("D2.3", "D3.2", "D4.2")
def test_chat_tool_results_and_states_are_looked_for_in_the_hot_log(ctx: longmind.Context) -> None:
    ctx.events.record_chat_user("Hello")
    ctx.events.record_state("planner", 1)
    ctx.events.record_tool_result(tool="search", message="found")
    ctx.events.record_many([{"text": f"{number}"} for number in range(3)])
    assert ctx.events.recent_chat() == []
    assert [turn["text"] for turn in ctx.events.recent_chat(use_persistence=True)] == ["Hello"]
    assert ctx.events.latest_state("planner") == 1
    assert texts(ctx.events.recent_tool_results(tool="search")) == ["found"]
    ctx.events.record_many([{"text": "more"}] * 2)
    assert ctx.events.latest_state("planner") is None
    assert ctx.events.latest_state("planner", user_persistence=True) == 1
    assert ctx.events.latest_state("planner", use_persistence=True) == 1
    assert ctx.events.recent_tool_results(tool="search") == []


@pytest.mark.conforms("D0.2", "D2.3")
def test_what_nobody_gets_to_see_takes_no_place_in_the_hot_log(ctx: longmind.Context) -> None:
    ctx.events.record_state("planner", 1)
    chat, conversation = ctx.conversations, ctx.conversations.create_conversation("daily-checkin")
    for answer in ("First", "Second", "Third"):
        said = {"content": answer}
        chat.append_turn(conversation.id, user_content="Hello", assistant=said, idempotency_key="k")
    for _ in range(5):
        chat.append_system_message(conversation.id, "Unseen", visibility="hidden")
    assert texts(ctx.events.recent()) == ["state:planner 1", "Hello", "Third"]
    assert texts(ctx.events.recent(kinds=["chat.turn"])) == ["Hello", "Third"]
    assert [turn["text"] for turn in ctx.events.recent_chat()] == ["Hello", "Third"]
    assert ctx.events.latest_state("planner") == 1
    ctx.events.record_many([{"text": f"{number}"} for number in range(3)])
    assert ctx.events.latest_state("planner") is None


@pytest.mark.parametrize("wrong", [{"hot_log_events": 0}, {"hot_log_days": 0}, {"hot_log_events": 2.5}], ids=repr)
def test_the_size_of_the_hot_log_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(longmind.InvalidInput, match=next(iter(wrong))):
        longmind.open("sqlite:///:memory:", **wrong)
