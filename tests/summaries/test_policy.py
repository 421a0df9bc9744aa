"""Rolling summaries that are refreshed by themselves: a job after so many turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

import longmind
from longmind.extraction.candidate import SourceMessage
from longmind.store.triggers.rolling_summary import SUMMARISE

TOOL_USE = [{"type": "tool_use", "id": "call-1", "name": "look_up", "arguments": {}}]


@contextmanager
def opened(url: str, turns: int = 2, **settings: object) -> Iterator[tuple[longmind.Engine, longmind.Context]]:
    with longmind.open(url, rolling_summary_turns=turns, embedder=None, **settings) as engine:  # type: ignore[arg-type]
        yield engine, engine.context(tenant_id="acme", app_id="support", user_id="ada")


def begin(ctx: longmind.Context) -> str:
    return ctx.conversations.create_conversation("support-chat").id


def say(ctx: longmind.Context, conversation_id: str, *facts: str) -> None:
    for fact in facts:
        ctx.conversations.append_turn(conversation_id, user_content=fact, assistant={"content": "Noted."})


def jobs(ctx: longmind.Context) -> int:
    return len(ctx.jobs.list_jobs(kind=SUMMARISE))


def covered(ctx: longmind.Context, conversation_id: str) -> int:
    conversation = ctx.conversations.get_conversation(conversation_id)
    assert conversation is not None
    return conversation.rolling_summary_until_seq


@pytest.mark.conforms("A1.21")
def test_so_many_turns_after_the_last_summary_another_one_is_made(database_url: str) -> None:
    with opened(database_url) as (engine, ctx):
        conversation_id = begin(ctx)
        say(ctx, conversation_id, "I moved to Oslo.")
        assert jobs(ctx) == 0
        say(ctx, conversation_id, "I work for Equinor.")
        assert jobs(ctx) == 1
        assert engine.work().succeeded == 1
        assert covered(ctx, conversation_id) == 4
        say(ctx, conversation_id, "My boat is called Wanda.")
        assert ctx.conversations.refresh_rolling_summary(conversation_id).outcome == "updated"
        say(ctx, conversation_id, "My cat is called Miso.")
        # Counted from the summary that was made by hand.
        assert jobs(ctx) == 1
        say(ctx, conversation_id, "My dog is called Rex.")
        assert jobs(ctx) == 2
        [newest, _] = ctx.jobs.list_jobs(kind=SUMMARISE)
        engine.work()
        done = ctx.jobs.get_job(newest.id)
        assert done is not None
        assert done.result == {"outcome": "updated", "untilSeq": 10}


def test_turns_are_counted_when_they_are_finished(database_url: str) -> None:
    with opened(database_url, turns=1) as (_, ctx):
        conversation_id = begin(ctx)
        ctx.conversations.append_user_message(conversation_id, "Look it up.")
        ctx.conversations.append_assistant_turn(conversation_id, TOOL_USE)
        ctx.conversations.append_tool_result(conversation_id, "call-1", "42")
        assert jobs(ctx) == 0
        ctx.conversations.append_assistant_turn(conversation_id, "It is 42.")
        assert jobs(ctx) == 1


def test_a_turn_that_was_left_without_an_answer_counts_when_the_next_one_begins(database_url: str) -> None:
    with opened(database_url) as (engine, ctx):
        conversation_id = begin(ctx)
        for number in range(3):
            assert jobs(ctx) == 0
            ctx.conversations.append_user_message(conversation_id, f"My number is {number}.")
        assert jobs(ctx) == 1
        engine.work()
        assert covered(ctx, conversation_id) == 2
        ctx.conversations.append_assistant_turn(conversation_id, "Noted.")
        # The turn that was open then is the first of the next two.
        say(ctx, conversation_id, "My street is Karl Johans gate.")
        assert jobs(ctx) == 2


def test_another_answer_to_a_turn_is_not_another_turn(database_url: str) -> None:
    with opened(database_url) as (_, ctx):
        conversation_id = begin(ctx)
        for _ in range(3):
            ctx.conversations.append_turn(
                conversation_id, user_content="I moved.", assistant={"content": "Noted."}, idempotency_key="k"
            )
        assert jobs(ctx) == 0


def test_with_no_turns_nothing_is_summarised_by_itself(database_url: str) -> None:
    with opened(database_url, turns=0) as (_, ctx):
        conversation_id = begin(ctx)
        say(ctx, conversation_id, *(f"Number {number}." for number in range(12)))
        assert jobs(ctx) == 0


def test_by_default_ten_turns_are_waited_for(ctx: longmind.Context) -> None:
    conversation_id = begin(ctx)
    say(ctx, conversation_id, *(f"Number {number}." for number in range(9)))
    assert jobs(ctx) == 0
    say(ctx, conversation_id, "Number 9.")
    assert jobs(ctx) == 1


class FailsOnce:
    name = "fails once@1"

    def __init__(self) -> None:
        self.asked = 0

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        self.asked += 1
        if self.asked == 1:
            raise longmind.ModelFailed("It is on fire.")
        return "Done."


def test_a_failing_summariser_harms_no_append_and_its_job_is_dead_then_retried_by_hand(database_url: str) -> None:
    with opened(database_url, turns=1, summariser=FailsOnce(), job_attempts=1) as (engine, ctx):
        conversation_id = begin(ctx)
        say(ctx, conversation_id, "I moved to Oslo.")
        assert engine.work().dead == 1
        [job] = ctx.jobs.list_jobs(kind=SUMMARISE)
        assert job.error is not None
        assert "It is on fire." in job.error
        assert covered(ctx, conversation_id) == 0
        ctx.jobs.retry_job(job.id)
        assert engine.work().succeeded == 1
        assert covered(ctx, conversation_id) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rolling_summary_turns", -1),
        ("rolling_summary_turns", 10_001),
        ("rolling_summary_characters", 199),
        ("rolling_summary_characters", 100_001),
    ],
)
def test_settings_out_of_bounds_are_refused(name: str, value: int) -> None:
    with pytest.raises(longmind.InvalidInput, match=name):
        longmind.open("sqlite:///:memory:", **{name: value})  # type: ignore[arg-type]
