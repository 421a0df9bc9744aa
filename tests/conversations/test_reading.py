"""Reading a conversation back: its last messages, as a user or as a model may see them."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import longmind
from tests.conversations.conftest import sequences


@pytest.fixture
def mixed(ctx: longmind.Context, conversation: longmind.Conversation) -> str:
    """Twelve messages; by sequence, every third from 2 is internal and every third from 3 is hidden."""
    kinds: list[Literal["user", "internal", "hidden"]] = ["user", "internal", "hidden"]
    for number in range(12):
        ctx.conversations.append_user_message(conversation.id, f"m{number + 1}", visibility=kinds[number % 3])
    return conversation.id


@pytest.mark.conforms("A1.13", "A1.15")
def test_the_user_sees_what_is_visible_to_the_user_oldest_first(ctx: longmind.Context, mixed: str) -> None:
    messages = ctx.conversations.get_messages(mixed)
    assert sequences(messages) == [1, 4, 7, 10]
    assert [message.text for message in messages] == ["m1", "m4", "m7", "m10"]


@pytest.mark.conforms("A1.13")
def test_internal_messages_come_on_request_and_hidden_ones_never(ctx: longmind.Context, mixed: str) -> None:
    assert sequences(ctx.conversations.get_messages(mixed, include_internal=True)) == [1, 2, 4, 5, 7, 8, 10, 11]


@pytest.mark.conforms("A1.13")
def test_the_limit_counts_visible_messages_from_the_end(ctx: longmind.Context, mixed: str) -> None:
    assert sequences(ctx.conversations.get_messages(mixed, limit=2)) == [7, 10]
    assert sequences(ctx.conversations.get_messages(mixed, limit=3, include_internal=True)) == [8, 10, 11]


@pytest.mark.conforms("A1.13", "A1.14")
def test_without_a_limit_fifty_are_read(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    for number in range(55):
        ctx.conversations.append_user_message(conversation.id, f"{number}")
    assert sequences(ctx.conversations.get_messages(conversation.id)) == list(range(6, 56))
    assert sequences(ctx.conversations.get_raw_turns(conversation.id)) == list(range(6, 56))
    assert len(ctx.conversations.get_messages(conversation.id, limit=10_000)) == 55


@pytest.mark.conforms("A1.14", "A1.15", "A1.16")
def test_raw_turns_hold_internal_messages_and_hidden_ones_only_on_request(ctx: longmind.Context, mixed: str) -> None:
    service = ctx.conversations
    assert sequences(service.get_raw_turns(mixed)) == [1, 2, 4, 5, 7, 8, 10, 11]
    assert sequences(service.get_raw_turns(mixed, latest_attempts=True)) == [1, 2, 4, 5, 7, 8, 10, 11]
    assert sequences(service.get_raw_turns(mixed, limit=3)) == [8, 10, 11]
    assert sequences(service.get_raw_turns(mixed, include_hidden=True)) == list(range(1, 13))
    assert sequences(service.get_raw_turns(mixed, include_hidden=True, limit=2)) == [11, 12]


@pytest.mark.conforms("A1.13", "A1.14")
def test_one_can_read_further_back_until_nothing_is_left(ctx: longmind.Context, mixed: str) -> None:
    service = ctx.conversations
    found: list[int] = []
    page = service.get_messages(mixed, limit=3)
    while page:
        found = sequences(page) + found
        page = service.get_messages(mixed, limit=3, before=page[0].sequence)
    assert found == [1, 4, 7, 10]
    assert sequences(service.get_raw_turns(mixed, before=6, limit=2)) == [4, 5]
    assert sequences(service.get_raw_turns(mixed, before=6, limit=2, include_hidden=True)) == [4, 5]
    assert sequences(service.get_raw_turns(mixed, before=1)) == []
    assert sequences(service.get_messages(mixed, before=1_000)) == [1, 4, 7, 10]


@pytest.mark.conforms("A1.13", "A1.14")
def test_an_empty_conversation_reads_as_an_empty_list(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    assert ctx.conversations.get_messages(conversation.id) == []
    assert ctx.conversations.get_raw_turns(conversation.id, include_hidden=True) == []


@pytest.mark.conforms("A1.13")
def test_a_closed_conversation_can_still_be_read(ctx: longmind.Context, mixed: str) -> None:
    ctx.conversations.close_conversation(mixed)
    assert sequences(ctx.conversations.get_messages(mixed)) == [1, 4, 7, 10]


@pytest.mark.conforms("A1.13", "A1.14")
def test_a_wrong_limit_or_place_is_refused(ctx: longmind.Context, mixed: str) -> None:
    service = ctx.conversations
    wrong: list[Any] = [0, -1, True, 2.0, "3", None]
    for number in wrong:
        for read in (service.get_messages, service.get_raw_turns):
            with pytest.raises(longmind.InvalidInput, match="limit"):
                read(mixed, limit=number)
            if number is not None:
                with pytest.raises(longmind.InvalidInput, match="before"):
                    read(mixed, before=number)
    with pytest.raises(longmind.LimitExceeded, match="10,000"):
        service.get_messages(mixed, limit=10_001)


@pytest.mark.conforms("A1.13")
def test_messages_of_one_conversation_do_not_appear_in_another(ctx: longmind.Context, mixed: str) -> None:
    other = ctx.conversations.create_conversation("support-chat")
    ctx.conversations.append_user_message(other.id, "elsewhere")
    assert [message.text for message in ctx.conversations.get_messages(other.id)] == ["elsewhere"]
    assert "elsewhere" not in {message.text for message in ctx.conversations.get_raw_turns(mixed, include_hidden=True)}


@pytest.mark.conforms("A1.6", "A1.13")
def test_what_was_written_is_there_when_the_database_is_opened_again(database_url: str) -> None:
    who: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}
    with longmind.open(database_url) as engine:
        ctx = engine.context(**who)
        conversation = ctx.conversations.create_conversation("support-chat", metadata={"a": 1})
        turn = ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Hi"})
        closed = ctx.conversations.close_conversation(conversation.id)
    with longmind.open(database_url) as engine:
        ctx = engine.context(**who)
        assert ctx.conversations.get_conversation(conversation.id) == closed
        assert ctx.conversations.get_messages(conversation.id) == [turn.user_message, turn.assistant_message]
