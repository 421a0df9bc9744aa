"""A conversation is made, found, and closed once."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from harness.messages import all_messages
from longmind.operations import OPERATIONS
from tests.clock import SettableClock
from tests.conversations.conftest import Unchanged


@pytest.mark.conforms("A1.1", "A1.24")
def test_a_new_conversation_is_open_and_carries_what_was_given(
    clocked_ctx: longmind.Context, clock: SettableClock
) -> None:
    conversation = clocked_ctx.conversations.create_conversation(
        "support-chat", title="Refund question", session_id="s-1", metadata={"source": "web"}
    )
    assert re.fullmatch(r"conv_[0-9a-f]{32}", conversation.id)
    assert conversation.status == "open"
    assert conversation.created_at == "2026-03-01T09:30:00.000000Z"
    assert (conversation.title, conversation.session_id) == ("Refund question", "s-1")
    assert conversation.metadata == {"source": "web"}
    assert (conversation.message_count, conversation.closed_at) == (0, None)
    assert clocked_ctx.conversations.get_conversation(conversation.id) == conversation


@pytest.mark.conforms("A1.1")
def test_only_the_namespace_is_required(ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("daily-checkin")
    assert (conversation.title, conversation.session_id, conversation.metadata) == (None, None, {})
    with pytest.raises(TypeError):
        ctx.conversations.create_conversation()  # type: ignore[call-arg]


@pytest.mark.conforms("A1.1")
def test_a_conversation_belongs_to_the_session_of_its_context_unless_another_is_named(
    engine: longmind.Engine,
) -> None:
    ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada", session_id="of-the-context")
    assert ctx.conversations.create_conversation("n").session_id == "of-the-context"
    assert ctx.conversations.create_conversation("n", session_id="named").session_id == "named"


@pytest.mark.conforms("A1.1")
def test_a_namespace_that_is_blank_a_star_or_no_name_is_refused(ctx: longmind.Context, unchanged: Unchanged) -> None:
    wrong: list[Any] = ["", " \t", "*", None, 3, ["n"], "a\x00b", "a\nb", "\udc00", "n" * 256]
    with unchanged():
        for namespace in wrong:
            with pytest.raises(longmind.InvalidInput, match="namespace"):
                ctx.conversations.create_conversation(namespace)
            if namespace is not None:
                with pytest.raises(longmind.InvalidInput, match="namespace"):
                    ctx.conversations.list_conversations(namespace=namespace)


@pytest.mark.conforms("A1.3")
def test_a_conversation_that_does_not_exist_is_none(ctx: longmind.Context) -> None:
    for id in ("conv_" + "0" * 32, "", "no id at all", "' OR 1=1 --", "*", "é" * 1000):
        assert ctx.conversations.get_conversation(id) is None


@pytest.mark.conforms("A1.2")
def test_a_closed_conversation_takes_no_more_messages(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_user_message(id, "Hello")
    assert service.close_conversation(id).status == "closed"
    appends = [
        lambda: service.append_user_message(id, "More"),
        lambda: service.append_user_message(id, "More", idempotency_key="new"),
        lambda: service.append_assistant_turn(id, "More"),
        lambda: service.append_tool_result(id, "call_1", "More"),
        lambda: service.append_system_message(id, "More"),
        lambda: service.append_turn(id, user_content="More", assistant={"content": "More"}),
        lambda: service.append_turn(id, user_content="More", assistant={"content": "More"}, idempotency_key="new"),
    ]
    with unchanged():
        for append in appends:
            with pytest.raises(longmind.ConversationClosed) as refusal:
                append()
            assert refusal.value.status == 409
            assert refusal.value.conversation_id == id
    assert [message.text for message in service.get_messages(id)] == ["Hello"]


@pytest.mark.conforms("A1.2", "A1.6")
def test_no_operation_reopens_a_conversation_or_changes_a_message() -> None:
    names = {operation.name for operation in OPERATIONS if operation.service == "conversations"}
    assert "append_turn" in names
    forbidden = ("reopen", "open", "update", "edit", "set", "replace", "delete", "remove", "move")
    assert [name for name in names if name.startswith(forbidden)] == []


@pytest.mark.conforms("A1.5")
def test_closing_again_changes_nothing_and_emits_no_second_event(
    engine: longmind.Engine, clocked: longmind.Engine, clocked_ctx: longmind.Context, clock: SettableClock
) -> None:
    conversation = clocked_ctx.conversations.create_conversation("support-chat")
    clock.advance(60)
    closed = clocked_ctx.conversations.close_conversation(conversation.id)
    assert (closed.status, closed.closed_at) == ("closed", "2026-03-01T09:31:00.000000Z")
    clock.advance(60)
    assert clocked_ctx.conversations.close_conversation(conversation.id) == closed
    assert clocked_ctx.conversations.get_conversation(conversation.id) == closed
    kinds = [change.kind for change in engine.follow()]
    assert kinds == ["conversation.created", "conversation.closed"]


@pytest.mark.conforms("A1.5")
def test_closing_a_conversation_that_does_not_exist_is_not_found(ctx: longmind.Context, unchanged: Unchanged) -> None:
    with unchanged(), pytest.raises(longmind.NotFound, match="conv_none"):
        ctx.conversations.close_conversation("conv_none")


@pytest.mark.conforms("A0.6", "A1.5", "T4")
def test_every_change_is_told_and_the_close_is_in_the_ledger_with_it(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    service = ctx.conversations
    id = service.create_conversation("daily-checkin").id
    appended = [
        service.append_user_message(id, "Hello"),
        service.append_assistant_turn(id, "Hi"),
        service.append_tool_result(id, "call_1", "sunny"),
        service.append_system_message(id, "Be brief."),
    ]
    turn = service.append_turn(id, user_content="Bye", assistant={"content": "Bye"})
    appended += [turn.user_message, turn.assistant_message]
    service.close_conversation(id)
    assert [change.kind for change in told] == [
        "conversation.created",
        *["message.appended"] * 6,
        "conversation.closed",
    ]
    assert [change.event_id for change in told[1:-1]] == [message.id for message in appended]
    assert {change.conversation_id for change in told} == {id}
    assert told[-1].data == {"namespace": "daily-checkin"}
    # The ledger is the outbox: whoever was not listening finds the same there.
    assert list(engine.follow()) == told


@pytest.mark.conforms("A1.5", "T4")
def test_of_many_who_close_at_once_one_emits_the_event(
    engine: longmind.Engine, ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    together = threading.Barrier(8)

    def close() -> longmind.Conversation:
        together.wait()
        return ctx.conversations.close_conversation(conversation.id)

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(close) for _ in range(8)]
    assert {answer.result().closed_at for answer in answers} == {answers[0].result().closed_at}
    assert [change.kind for change in engine.follow()].count("conversation.closed") == 1


@pytest.mark.conforms("A1.2", "T3")
def test_an_append_that_races_with_a_close_is_either_before_it_or_refused(
    engine: longmind.Engine, ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    underway = threading.Semaphore(0)

    def append_until_closed() -> list[int]:
        sequences: list[int] = []
        while True:
            try:
                turn = service.append_turn(id, user_content="Hello", assistant={"content": "Hi"})
            except longmind.ConversationClosed:
                return sequences
            sequences += [turn.user_message.sequence, turn.assistant_message.sequence]
            underway.release()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(append_until_closed) for _ in range(4)]
        for _ in range(20):
            underway.acquire()
        closed = service.close_conversation(id)
    taken = sorted(sequence for writer in writers for sequence in writer.result())
    assert taken == list(range(1, closed.message_count + 1))
    assert [message.sequence for message in all_messages(service, id)] == taken
    # In the ledger nothing of the conversation stands after its end.
    assert [change.kind for change in engine.follow()][-1] == "conversation.closed"
