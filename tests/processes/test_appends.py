"""Many processes that append to one conversation, and close it, at once."""

from __future__ import annotations

from itertools import pairwise

import pytest

import longmind
from harness.crew import Line, ada, run_together, wait_until
from harness.messages import all_messages

PROCESSES = 8
TURNS = 200
RETRIES = 16


def append_turns(line: Line, url: str, conversation_id: str, name: str, count: int) -> list[tuple[int, int]]:
    with ada(url) as (_, ctx):
        line.wait_for_others()
        turns = [
            ctx.conversations.append_turn(
                conversation_id, user_content=f"{name}.{number}", assistant={"content": f"to {name}.{number}"}
            )
            for number in range(count)
        ]
    return [(turn.user_message.sequence, turn.assistant_message.sequence) for turn in turns]


@pytest.mark.conforms("A1.11", "T3")
def test_turns_of_eight_processes_stand_side_by_side_without_gap_or_repeat(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("race")

    answers = run_together(
        append_turns, [(database_url, conversation.id, f"process {number}", TURNS) for number in range(PROCESSES)]
    )

    messages = ctx.conversations.get_raw_turns(conversation.id, limit=10_000)
    assert [message.sequence for message in messages] == list(range(1, 2 * PROCESSES * TURNS + 1))
    users, assistants = messages[::2], messages[1::2]
    for user, assistant in zip(users, assistants, strict=True):
        assert (user.role, assistant.role) == ("user", "assistant")
        assert assistant.turn_id == user.turn_id
        assert assistant.text == f"to {user.text}"
    assert len({user.turn_id for user in users}) == PROCESSES * TURNS
    for number, told in enumerate(answers):
        mine = [user for user in users if user.text.startswith(f"process {number}.")]
        assert [user.text for user in mine] == [f"process {number}.{turn}" for turn in range(TURNS)]
        assert told == [(user.sequence, user.sequence + 1) for user in mine]


def append_with_key(line: Line, url: str, conversation_id: str, answer: str) -> longmind.Turn:
    with ada(url) as (_, ctx):
        line.wait_for_others()
        return ctx.conversations.append_turn(
            conversation_id, user_content="Hello?", assistant={"content": answer}, idempotency_key="k"
        )


@pytest.mark.conforms("A1.11", "T1", "T2", "R-I")
def test_a_turn_that_sixteen_processes_send_with_one_key_is_asked_once_and_answered_sixteen_times(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("race")

    turns: list[longmind.Turn] = run_together(
        append_with_key, [(database_url, conversation.id, f"answer {number}") for number in range(RETRIES)]
    )

    messages = ctx.conversations.get_raw_turns(conversation.id)
    asked, answers = messages[0], messages[1:]
    assert [message.sequence for message in messages] == list(range(1, RETRIES + 2))
    assert asked.role == "user"
    assert [answer.role for answer in answers] == ["assistant"] * RETRIES
    assert {message.turn_id for message in messages} == {asked.turn_id}
    assert [answer.attempt for answer in answers] == list(range(1, RETRIES + 1))
    assert sorted(answer.text for answer in answers) == sorted(f"answer {number}" for number in range(RETRIES))
    assert {turn.user_message.id for turn in turns} == {asked.id}
    assert sorted(turn.user_message.replayed for turn in turns) == [False] + [True] * (RETRIES - 1)
    assert {turn.assistant_message.id for turn in turns} == {answer.id for answer in answers}

    assert ctx.conversations.get_raw_turns(conversation.id, latest_attempts=True) == [asked, answers[-1]]

    with pytest.raises(longmind.IdempotencyMismatch):
        ctx.conversations.append_turn(
            conversation.id, user_content="Goodbye?", assistant={"content": "So long."}, idempotency_key="k"
        )
    assert ctx.conversations.get_raw_turns(conversation.id) == messages


def append_own_body(line: Line, url: str, conversation_id: str, body: str) -> str | None:
    with ada(url) as (_, ctx):
        line.wait_for_others()
        try:
            return ctx.conversations.append_user_message(conversation_id, body, idempotency_key="k").id
        except longmind.IdempotencyMismatch:
            return None


@pytest.mark.conforms("T1", "R-I")
def test_of_different_bodies_under_one_key_the_first_is_kept_and_the_others_are_refused(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("race")

    kept = run_together(
        append_own_body, [(database_url, conversation.id, f"body {number}") for number in range(PROCESSES)]
    )

    [message] = ctx.conversations.get_raw_turns(conversation.id)
    assert sorted(kept, key=str) == [None] * (PROCESSES - 1) + [message.id]
    assert message.text == f"body {kept.index(message.id)}"


def append_until_closed(line: Line, url: str, conversation_ids: list[str], name: str) -> list[list[str]]:
    """What was appended to each conversation before it was found closed."""
    appended: list[list[str]] = []
    with ada(url) as (_, ctx):
        for conversation_id in conversation_ids:
            mine: list[str] = []
            appended.append(mine)
            line.wait_for_others()
            try:
                while True:
                    if len(mine) % 2:
                        turn = ctx.conversations.append_turn(
                            conversation_id, user_content=f"{name} asks", assistant={"content": "yes"}
                        )
                        mine += [turn.user_message.id, turn.assistant_message.id]
                    else:
                        mine.append(ctx.conversations.append_user_message(conversation_id, f"{name} says").id)
            except longmind.ConversationClosed:
                pass
    return appended


def close_when_busy(line: Line, url: str, conversation_ids: list[str], name: str) -> list[longmind.Conversation]:
    closed = []
    with ada(url) as (_, ctx):
        for conversation_id in conversation_ids:

            def is_busy(conversation_id: str = conversation_id) -> bool:
                found = ctx.conversations.get_conversation(conversation_id)
                return found is not None and found.message_count >= 20

            line.wait_for_others()
            wait_until(is_busy)
            closed.append(ctx.conversations.close_conversation(conversation_id))
    return closed


def append_or_close(line: Line, role: str, url: str, conversation_ids: list[str], name: str) -> list[object]:
    work = append_until_closed if role == "append" else close_when_busy
    return list(work(line, url, conversation_ids, name))


@pytest.mark.conforms("A1.2", "A1.5", "T3", "T4")
def test_an_append_that_races_a_close_is_before_it_or_is_refused(
    database_url: str, engine: longmind.Engine, ctx: longmind.Context
) -> None:
    ids = [ctx.conversations.create_conversation(f"round {number}").id for number in range(6)]
    roles = ["append"] * 4 + ["close"] * 4

    results = run_together(
        append_or_close, [(role, database_url, ids, f"{role} {number}") for number, role in enumerate(roles)]
    )

    changes = list(engine.follow())
    for round_number, conversation_id in enumerate(ids):
        acknowledged = {message for result in results[:4] for message in result[round_number]}
        messages = all_messages(ctx.conversations, conversation_id)
        assert {message.id for message in messages} == acknowledged
        assert [message.sequence for message in messages] == list(range(1, len(messages) + 1))

        mine = [change for change in changes if change.conversation_id == conversation_id]
        assert [change.kind for change in mine].count("conversation.closed") == 1
        assert mine[-1].kind == "conversation.closed"
        assert len(mine) == len(messages) + 2

        closed = ctx.conversations.get_conversation(conversation_id)
        assert closed is not None
        assert closed.status == "closed"
        assert closed.message_count == len(messages)
        assert all(result[round_number] == closed for result in results[4:])
    assert all(earlier.cursor < later.cursor for earlier, later in pairwise(changes))
