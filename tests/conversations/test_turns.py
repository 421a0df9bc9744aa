"""Turns: a user's message and what answers it, also when the caller has to try again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from tests.conversations.conftest import Unchanged, sequences


@pytest.mark.conforms("A1.11", "A1.12")
def test_a_turn_is_a_users_message_and_its_answer_under_one_id(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    turn = ctx.conversations.append_turn(
        conversation.id,
        user_content="Where is my refund?",
        user_visibility="internal",
        assistant={
            "content": "On its way.",
            "stopReason": "end_turn",
            "model": "sonnet",
            "provider": "anthropic",
            "usage": {"inputTokens": 1234, "outputTokens": 567, "latencyMs": 800},
        },
        idempotency_key="k",
        trace_id="t",
    )
    user, assistant = turn.user_message, turn.assistant_message
    assert turn.turn_id == user.turn_id == assistant.turn_id
    assert (user.role, user.text, user.visibility, user.idempotency_key) == (
        "user",
        "Where is my refund?",
        "internal",
        "k",
    )
    assert (assistant.role, assistant.text, assistant.visibility) == ("assistant", "On its way.", "user")
    assert (assistant.stop_reason, assistant.model, assistant.provider) == ("end_turn", "sonnet", "anthropic")
    assert assistant.usage == longmind.Usage(input_tokens=1234, output_tokens=567, latency_ms=800)
    assert user.trace_id == assistant.trace_id == "t"
    assert (assistant.idempotency_key, user.replayed) == (None, False)
    assert ctx.conversations.get_raw_turns(conversation.id) == [user, assistant]


@pytest.mark.conforms("A1.11")
def test_the_assistants_side_may_be_a_value_or_a_dict_with_either_names(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    sides: list[Any] = [
        {"content": "Hi", "stopReason": "end_turn", "usage": {"inputTokens": 3}},
        {"content": "Hi", "stop_reason": "end_turn", "usage": {"input_tokens": 3}},
        longmind.AssistantTurn(content="Hi", stop_reason="end_turn", usage=longmind.Usage(input_tokens=3)),
    ]
    for side in sides:
        answer = ctx.conversations.append_turn(conversation.id, user_content="Hi", assistant=side).assistant_message
        assert (answer.text, answer.stop_reason, answer.usage) == ("Hi", "end_turn", longmind.Usage(input_tokens=3))


@pytest.mark.conforms("A1.11", "T3")
def test_a_turn_takes_two_numbers_side_by_side_however_many_write_at_once(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    together = threading.Barrier(8)

    def write(number: int) -> list[longmind.Turn]:
        together.wait()
        turns = []
        for _ in range(10):
            turns.append(service.append_turn(id, user_content=f"{number}", assistant={"content": f"to {number}"}))
            if number % 2:
                service.append_user_message(id, "in between")
        return turns

    with ThreadPoolExecutor(8) as pool:
        turns = [turn for writer in [pool.submit(write, number) for number in range(8)] for turn in writer.result()]
    stored = {message.sequence: message for message in service.get_messages(id, limit=10_000)}
    assert sorted(stored) == list(range(1, 8 * 20 + 4 * 10 + 1))
    assert len({turn.turn_id for turn in turns}) == 80
    for turn in turns:
        asked, answered = turn.user_message, turn.assistant_message
        assert answered.sequence == asked.sequence + 1
        assert (stored[asked.sequence], stored[answered.sequence]) == (asked, answered)
        assert answered.text == f"to {asked.text}"


@pytest.mark.conforms("A1.11", "R-I")
def test_a_retry_finds_the_users_message_and_adds_a_new_answer(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    first = service.append_turn(id, user_content="Hello", assistant={"content": "Hi"}, idempotency_key="k")
    service.append_user_message(id, "Something in between")
    again = service.append_turn(id, user_content="Hello", assistant={"content": "Hi there"}, idempotency_key="k")
    assert again.user_message == first.user_message.model_copy(update={"replayed": True})
    assert again.turn_id == again.assistant_message.turn_id == first.turn_id
    assert again.assistant_message.id != first.assistant_message.id
    assert (again.assistant_message.text, again.assistant_message.sequence) == ("Hi there", 4)
    assert (first.assistant_message.attempt, again.assistant_message.attempt) == (1, 2)
    assert [(message.role, message.text) for message in service.get_messages(id)] == [
        ("user", "Hello"),
        ("assistant", "Hi"),
        ("user", "Something in between"),
        ("assistant", "Hi there"),
    ]


@pytest.mark.conforms("A1.11")
def test_without_a_key_the_same_turn_is_a_new_turn(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    turns = [
        ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Hi"})
        for _ in range(2)
    ]
    assert turns[0].turn_id != turns[1].turn_id
    assert sequences(ctx.conversations.get_messages(conversation.id)) == [1, 2, 3, 4]


@pytest.mark.conforms("A1.11", "T1")
def test_of_many_retries_at_once_one_writes_the_users_message_and_each_an_answer(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    together = threading.Barrier(8)

    def retry(number: int) -> longmind.Turn:
        together.wait()
        return service.append_turn(
            id, user_content="Hello", assistant={"content": f"answer {number}"}, idempotency_key="k"
        )

    with ThreadPoolExecutor(8) as pool:
        turns = [writer.result() for writer in [pool.submit(retry, number) for number in range(8)]]
    assert len({turn.user_message.id for turn in turns}) == 1
    assert [turn.user_message.replayed for turn in turns].count(False) == 1
    assert sorted(turn.assistant_message.attempt for turn in turns) == list(range(1, 9))
    messages = service.get_messages(id)
    assert sequences(messages) == list(range(1, 10))
    assert [message.role for message in messages] == ["user"] + ["assistant"] * 8
    assert {message.turn_id for message in messages} == {turns[0].turn_id}
    assert [message.attempt for message in messages[1:]] == list(range(1, 9))


@pytest.mark.conforms("T1", "R-I")
def test_of_many_who_send_one_message_at_once_all_get_the_same(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    together = threading.Barrier(8)

    def send() -> longmind.Message:
        together.wait()
        return ctx.conversations.append_user_message(conversation.id, "Hello", idempotency_key="k")

    with ThreadPoolExecutor(8) as pool:
        answers = [writer.result() for writer in [pool.submit(send) for _ in range(8)]]
    assert [answer.replayed for answer in answers].count(False) == 1
    assert {answer.id for answer in answers} == {
        message.id for message in ctx.conversations.get_messages(conversation.id)
    }


@pytest.mark.conforms("A1.7", "R-I")
def test_a_repeated_key_gives_the_first_message_back(
    engine: longmind.Engine, ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    first = ctx.conversations.append_user_message(conversation.id, "Hello", idempotency_key="k", trace_id="one")
    before = list(engine.follow())
    same: list[Any] = ["Hello", [{"type": "text", "text": "Hello"}], [longmind.TextBlock(text="Hello")]]
    for content in same:
        again = ctx.conversations.append_user_message(conversation.id, content, idempotency_key="k", trace_id="two")
        assert again == first.model_copy(update={"replayed": True})
    assert list(engine.follow()) == before
    assert ctx.conversations.get_messages(conversation.id) == [first]


@pytest.mark.conforms("R-I", "A1.11")
def test_a_key_that_comes_with_another_body_is_a_conflict(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_user_message(id, "Hello", idempotency_key="k")
    with unchanged():
        for other in ("Hello!", "hello", "Hello "):
            with pytest.raises(longmind.IdempotencyMismatch, match="'k'") as refusal:
                service.append_user_message(id, other, idempotency_key="k")
            assert refusal.value.status == 409
            with pytest.raises(longmind.IdempotencyMismatch):
                service.append_turn(id, user_content=other, assistant={"content": "Hi"}, idempotency_key="k")
        with pytest.raises(longmind.IdempotencyMismatch):
            service.append_user_message(id, "Hello", visibility="internal", idempotency_key="k")


@pytest.mark.conforms("R-I")
def test_a_key_belongs_to_one_conversation_and_compares_exactly(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service = ctx.conversations
    other = service.create_conversation("support-chat")
    service.append_user_message(conversation.id, "Hello", idempotency_key="key")
    assert not service.append_user_message(other.id, "Another", idempotency_key="key").replayed
    for key in ("Key", "key ", "ke\u0301y"):
        assert not service.append_user_message(conversation.id, "Another", idempotency_key=key).replayed


@pytest.mark.conforms("A1.11", "R-I")
def test_a_message_sent_alone_and_a_turn_share_their_keys(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    sent = service.append_user_message(id, "Hello", idempotency_key="k")
    turn = service.append_turn(id, user_content="Hello", assistant={"content": "Hi"}, idempotency_key="k")
    assert turn.user_message == sent.model_copy(update={"replayed": True})
    assert (turn.assistant_message.sequence, turn.assistant_message.attempt) == (2, 1)


@pytest.mark.conforms("A1.2", "R-I")
def test_after_the_close_a_key_still_finds_its_message_but_no_answer_is_added(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    first = service.append_turn(id, user_content="Hello", assistant={"content": "Hi"}, idempotency_key="k")
    service.close_conversation(id)
    with unchanged():
        found = service.append_user_message(id, "Hello", idempotency_key="k")
        assert found == first.user_message.model_copy(update={"replayed": True})
        with pytest.raises(longmind.ConversationClosed):
            service.append_turn(id, user_content="Hello", assistant={"content": "Hi there"}, idempotency_key="k")


@pytest.mark.conforms("A1.11")
def test_a_turn_that_is_refused_leaves_neither_half(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    with unchanged():
        with pytest.raises(longmind.InvalidInput):
            service.append_turn(id, user_content="Hello", assistant={"content": "\x00"}, idempotency_key="k")
        with pytest.raises(longmind.LimitExceeded):
            service.append_turn(id, user_content="Hello", assistant={"content": "x" * 2**20}, idempotency_key="k")
    turn = service.append_turn(id, user_content="Hello", assistant={"content": "Hi"}, idempotency_key="k")
    assert (turn.user_message.sequence, turn.user_message.replayed) == (1, False)


@pytest.mark.conforms("R-G")
def test_what_follows_a_users_message_belongs_to_its_turn(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    first = service.append_user_message(id, "What is the weather?")
    rest = [
        service.append_assistant_turn(id, [{"type": "tool_use", "id": "1", "name": "weather", "arguments": {}}]),
        service.append_tool_result(id, "1", "sunny"),
        service.append_system_message(id, "Be brief."),
        service.append_assistant_turn(id, "Sunny."),
    ]
    assert {message.turn_id for message in rest} == {first.turn_id}
    second = service.append_user_message(id, "Thanks")
    assert second.turn_id != first.turn_id
    assert service.append_assistant_turn(id, "You are welcome").turn_id == second.turn_id
    turn = service.append_turn(id, user_content="Bye", assistant={"content": "Bye"})
    assert turn.turn_id not in (first.turn_id, second.turn_id)
    assert service.append_system_message(id, "Ada has left.").turn_id == turn.turn_id


@pytest.mark.conforms("R-G")
def test_what_is_said_before_the_first_user_message_is_a_turn_of_its_own(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    system = service.append_system_message(id, "Be brief.")
    greeting = service.append_assistant_turn(id, "How can I help?")
    assert greeting.turn_id == system.turn_id
    assert service.append_user_message(id, "Hello").turn_id != greeting.turn_id


@pytest.mark.conforms("R-G")
def test_a_retry_of_an_earlier_turn_does_not_take_the_present_one_away(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    earlier = service.append_turn(id, user_content="One", assistant={"content": "1"}, idempotency_key="one")
    present = service.append_user_message(id, "Two")
    service.append_turn(id, user_content="One", assistant={"content": "uno"}, idempotency_key="one")
    answer = service.append_assistant_turn(id, "2")
    assert present.turn_id != earlier.turn_id
    assert (answer.turn_id, answer.attempt) == (present.turn_id, 1)


@pytest.mark.conforms("T2")
def test_a_model_sees_only_the_latest_answer_to_a_turn_and_the_rest_is_kept(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_turn(id, user_content="One", assistant={"content": "1"}, idempotency_key="one")
    service.append_tool_result(id, "call_1", "of the first answer")
    service.append_turn(id, user_content="Two", assistant={"content": "2"}, idempotency_key="two")
    service.append_turn(id, user_content="One", assistant={"content": "uno"}, idempotency_key="one")
    service.append_turn(id, user_content="One", assistant={"content": "ein"}, idempotency_key="one")
    assert sequences(service.get_raw_turns(id)) == [1, 2, 3, 4, 5, 6, 7]
    seen = service.get_raw_turns(id, latest_attempts=True)
    assert [(message.role, message.text) for message in seen] == [
        ("user", "One"),
        ("user", "Two"),
        ("assistant", "2"),
        ("assistant", "ein"),
    ]
    # The limit counts what is seen, not what was left out.
    assert sequences(service.get_raw_turns(id, latest_attempts=True, limit=3)) == [4, 5, 7]


@pytest.mark.conforms("T2")
def test_what_follows_the_latest_answer_belongs_to_it(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_turn(id, user_content="One", assistant={"content": "1"}, idempotency_key="one")
    service.append_turn(id, user_content="One", assistant={"content": "uno"}, idempotency_key="one")
    service.append_tool_result(id, "call_1", "of the second answer")
    service.append_assistant_turn(id, "and on")
    assert sequences(service.get_raw_turns(id, latest_attempts=True)) == [1, 3, 4, 5]


@pytest.mark.conforms("T2")
def test_an_answer_after_the_users_message_came_again_replaces_the_first(ctx: longmind.Context) -> None:
    service = ctx.conversations
    id = service.create_conversation("n").id
    service.append_user_message(id, "What time is it?", idempotency_key="k")
    service.append_assistant_turn(id, "Ten.")
    service.append_user_message(id, "What time is it?", idempotency_key="k")
    service.append_system_message(id, "The clock was set right.")
    assert sequences(service.get_raw_turns(id, latest_attempts=True)) == [1, 2, 3]
    service.append_assistant_turn(id, "Eleven.")
    assert sequences(service.get_raw_turns(id, latest_attempts=True)) == [1, 3, 4]
    assert sequences(service.get_raw_turns(id)) == [1, 2, 3, 4]


@pytest.mark.conforms("T2")
def test_a_users_message_that_comes_again_amid_a_tool_call_does_not_part_the_call_from_its_result(
    ctx: longmind.Context,
) -> None:
    service = ctx.conversations
    id = service.create_conversation("n").id
    service.append_user_message(id, "How many?", idempotency_key="k")
    service.append_assistant_turn(id, [{"type": "tool_use", "id": "t1", "name": "count", "arguments": {}}])
    service.append_user_message(id, "How many?", idempotency_key="k")
    service.append_tool_result(id, "t1", "42")
    service.append_assistant_turn(id, "There are 42.")
    assert sequences(service.get_raw_turns(id, latest_attempts=True)) == [1, 2, 3, 4]


def test_a_late_answer_to_an_older_turn_leaves_the_latest_one_alone(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_turn(id, user_content="One", assistant={"content": "1"}, idempotency_key="one")
    service.append_user_message(id, "Two", idempotency_key="two")
    service.append_assistant_turn(id, "2")
    service.append_user_message(id, "Two", idempotency_key="two")
    late = service.append_turn(id, user_content="One", assistant={"content": "1!"}, idempotency_key="one")
    again = service.append_assistant_turn(id, "2!")
    assert (late.assistant_message.attempt, again.attempt) == (2, 2)
    latest = service.get_raw_turns(id, latest_attempts=True)
    assert [message.text for message in latest] == ["One", "Two", "1!", "2!"]
