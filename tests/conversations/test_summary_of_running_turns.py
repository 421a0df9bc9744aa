"""Turns that run at the same time: a summary waits for each of them, and is not held up by one that was given up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import longmind
from longmind import ToolUseBlock
from longmind.providers.testing import ScriptedModel
from tests.clock import SettableClock
from tests.conversations.test_rolling_summary import Verbatim, begin, refresh, say

HOUR = 3600
LOOK: dict[str, Any] = {"tools": [longmind.Tool("look")]}
CALL = ToolUseBlock(id="a", name="look", arguments={})


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def talk(database_url: str, clock: SettableClock) -> Iterator[longmind.Context]:
    with longmind.open(database_url, summariser=Verbatim(), clock=clock, embedder=None) as engine:
        yield engine.context(tenant_id="acme", app_id="support", user_id="ada")


def ask(ctx: longmind.Context, conversation_id: str, text: str, meanwhile: Callable[[], object], **more: Any) -> None:
    """Run a turn, in whose model's time something else happens."""

    def think(request: object) -> str:
        meanwhile()
        return text.upper()

    ctx.conversations.run_turn(conversation_id, model=ScriptedModel(think), user_text=text, **more)


@pytest.mark.conforms("T24")
def test_a_turn_that_is_slower_than_a_later_one_is_not_covered_by_half(talk: longmind.Context) -> None:
    conversation_id = begin(talk, ("a", "b"))
    seen = []

    def overtake() -> None:
        say(talk, conversation_id, ("fast", "done"))
        seen.append(refresh(talk, conversation_id))

    ask(talk, conversation_id, "slow", overtake)
    assert seen == [("updated", "a|b", 2)]
    assert refresh(talk, conversation_id) == ("updated", "a|b|slow|fast|done|SLOW", 6)


@pytest.mark.conforms("T24")
def test_turns_that_are_woven_together_are_covered_together(talk: longmind.Context) -> None:
    conversation_id = begin(talk)
    seen = []

    def second() -> None:
        ask(talk, conversation_id, "two", third)
        seen.append(refresh(talk, conversation_id))

    def third() -> None:
        say(talk, conversation_id, ("three", "3"))
        seen.append(refresh(talk, conversation_id))

    ask(talk, conversation_id, "one", second)
    assert seen == [("skipped_empty", None, 0)] * 2
    assert refresh(talk, conversation_id) == ("updated", "one|two|three|3|TWO|ONE", 6)


@pytest.mark.conforms("T24")
def test_a_turn_whose_tool_takes_its_time_is_waited_for(talk: longmind.Context) -> None:
    conversation_id = begin(talk)
    seen = []

    def look(*_: object) -> str:
        say(talk, conversation_id, ("fast", "done"))
        seen.append(refresh(talk, conversation_id))
        return "dark"

    model = ScriptedModel([CALL, "It is dark."])
    talk.conversations.run_turn(conversation_id, model=model, user_text="slow", tool_handler=look, **LOOK)
    assert seen == [("skipped_empty", None, 0)]
    assert refresh(talk, conversation_id) == ("updated", "slow|fast|done|dark|It is dark.", 6)


@pytest.mark.conforms("T24")
def test_a_turn_that_failed_holds_nothing_up(talk: longmind.Context) -> None:
    conversation_id = begin(talk)
    talk.conversations.run_turn(conversation_id, model=ScriptedModel([ConnectionError("gone")]), user_text="lost")
    say(talk, conversation_id, ("a", "b"))
    assert refresh(talk, conversation_id) == ("updated", "lost|a|b", 3)


@pytest.mark.conforms("T24")
def test_a_turn_that_ran_out_of_cycles_holds_nothing_up(talk: longmind.Context) -> None:
    conversation_id = begin(talk)
    talk.conversations.run_turn(
        conversation_id,
        model=ScriptedModel([CALL]),
        user_text="look",
        tool_handler=lambda *_: "dark",
        max_cycles=1,
        **LOOK,
    )
    say(talk, conversation_id, ("a", "b"))
    assert refresh(talk, conversation_id) == ("updated", "look|dark|a|b", 5)


@pytest.mark.conforms("T24")
def test_a_turn_without_a_sign_of_life_is_given_up_after_an_hour(talk: longmind.Context, clock: SettableClock) -> None:
    conversation_id = begin(talk)
    seen = []

    def sleep_long() -> None:
        say(talk, conversation_id, ("fast", "done"))
        for seconds in (HOUR - 10, 20):
            clock.advance(seconds)
            seen.append(refresh(talk, conversation_id))

    ask(talk, conversation_id, "slow", sleep_long)
    assert seen == [("skipped_empty", None, 0), ("updated", "slow|fast|done", 3)]
    # What comes so late is not lost.
    assert refresh(talk, conversation_id) == ("updated", "slow|fast|done|SLOW", 4)


@pytest.mark.conforms("T24")
def test_a_turn_that_is_asked_again_is_waited_for_again(talk: longmind.Context, clock: SettableClock) -> None:
    conversation_id = begin(talk)
    again: dict[str, Any] = {"user_text": "slow", "idempotency_key": "k"}
    talk.conversations.run_turn(conversation_id, model=ScriptedModel([ConnectionError("gone")]), **again)
    clock.advance(2 * HOUR)
    seen = []

    def overtake(request: object) -> str:
        say(talk, conversation_id, ("fast", "done"))
        seen.append(refresh(talk, conversation_id))
        return "SLOW"

    talk.conversations.run_turn(conversation_id, model=ScriptedModel(overtake), **again)
    assert seen == [("skipped_empty", None, 0)]
    assert refresh(talk, conversation_id) == ("updated", "slow|fast|done|SLOW", 4)
