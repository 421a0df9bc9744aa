"""Each kind of message, what it keeps, and what it looks like."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

import longmind
from tests.conversations.conftest import Unchanged
from tests.conversations.ledger import ledger_rows


@pytest.mark.conforms("A1.7", "A1.23", "A1.24")
def test_a_user_message_keeps_what_was_given(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    message = ctx.conversations.append_user_message(
        conversation.id, "Where is my refund?", idempotency_key="req-1", trace_id="trace-1"
    )
    assert re.fullmatch(r"msg_[0-9a-f]{32}", message.id)
    assert (message.conversation_id, message.sequence, message.role) == (conversation.id, 1, "user")
    assert message.text == "Where is my refund?"
    assert (message.visibility, message.idempotency_key, message.trace_id) == ("user", "req-1", "trace-1")
    assert ctx.conversations.get_messages(conversation.id) == [message]


@pytest.mark.conforms("A1.7")
def test_a_user_message_may_be_a_list_of_blocks(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    message = ctx.conversations.append_user_message(
        conversation.id,
        [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "url": "https://example.com/cat.png", "mimeType": "image/png"},
        ],
    )
    assert [block.type for block in message.content] == ["text", "image"]
    assert ctx.conversations.get_messages(conversation.id) == [message]


@pytest.mark.conforms("A1.8", "A1.12", "A1.23")
def test_an_assistant_turn_keeps_the_model_the_reason_and_the_cost(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    message = ctx.conversations.append_assistant_turn(
        conversation.id,
        "Looking it up now.",
        stop_reason="end_turn",
        model="sonnet",
        provider="anthropic",
        usage={"inputTokens": 1234, "outputTokens": 567, "latencyMs": 800},
        trace_id="trace-2",
    )
    assert (message.role, message.text, message.visibility) == ("assistant", "Looking it up now.", "user")
    assert (message.stop_reason, message.model, message.provider) == ("end_turn", "sonnet", "anthropic")
    assert message.usage == longmind.Usage(input_tokens=1234, output_tokens=567, latency_ms=800)
    assert message.trace_id == "trace-2"
    assert ctx.conversations.get_messages(conversation.id) == [message]


@pytest.mark.conforms("A1.12")
def test_usage_has_three_numbers_and_nothing_else(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    right: list[Any] = [
        {"inputTokens": 1, "outputTokens": 2, "latencyMs": 3},
        {"input_tokens": 1, "output_tokens": 2, "latency_ms": 3},
        longmind.Usage(input_tokens=1, output_tokens=2, latency_ms=3),
    ]
    for usage in right:
        message = ctx.conversations.append_assistant_turn(conversation.id, "Hi", usage=usage)
        assert message.model_dump(mode="json")["usage"] == {"inputTokens": 1, "outputTokens": 2, "latencyMs": 3}
    wrong: list[tuple[Any, str]] = [
        ({"inputTokens": -1}, "usage.inputTokens"),
        ({"inputTokens": "many"}, "usage.inputTokens"),
        ({"latencyMs": float("nan")}, "usage.latencyMs"),
        ({"latencyMs": float("inf")}, "usage.latency"),
        ({"cost": 1}, "usage.cost"),
        ([1, 2, 3], "usage"),
        (12, "usage"),
    ]
    with unchanged():
        for usage, place in wrong:
            with pytest.raises(longmind.InvalidInput, match=re.escape(place)):
                ctx.conversations.append_assistant_turn(conversation.id, "Hi", usage=usage)
            with pytest.raises(longmind.InvalidInput, match="usage"):
                ctx.conversations.append_turn(
                    conversation.id, user_content="Hi", assistant={"content": "Hi", "usage": usage}
                )


@pytest.mark.conforms("A1.9")
def test_a_tool_result_answers_a_tool_use(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    service = ctx.conversations
    service.append_assistant_turn(
        conversation.id, [{"type": "tool_use", "id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}]
    )
    message = service.append_tool_result(conversation.id, "call_1", "sunny", tool_name="weather")
    assert (message.role, message.tool_use_id, message.tool_name, message.is_error) == (
        "tool",
        "call_1",
        "weather",
        False,
    )
    assert message.content == [longmind.ToolResultBlock(tool_use_id="call_1", content="sunny", is_error=False)]
    failed = service.append_tool_result(conversation.id, "call_1", "no such city", is_error=True)
    assert (failed.tool_name, failed.is_error) == (None, True)
    assert failed.content == [longmind.ToolResultBlock(tool_use_id="call_1", content="no such city", is_error=True)]
    assert service.get_messages(conversation.id)[1:] == [message, failed]


@pytest.mark.conforms("A1.9")
def test_a_tool_may_answer_with_nothing_with_text_and_with_images(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    answers: list[Any] = [
        "",
        [],
        [
            longmind.TextBlock(text="here"),
            longmind.ImageBlock(url="https://example.com/a.png", mime_type="image/png"),
        ],
        [
            {"type": "text", "text": "here"},
            {"type": "image", "url": "https://example.com/a.png", "mimeType": "image/png"},
        ],
    ]
    for answer in answers:
        ctx.conversations.append_tool_result(conversation.id, "call_1", answer)
    kept = [
        message.model_dump()["content"][0]["content"] for message in ctx.conversations.get_messages(conversation.id)
    ]
    assert kept[:2] == ["", []]
    assert kept[2] == kept[3] == answers[3]


@pytest.mark.conforms("A1.9")
def test_a_tool_result_without_a_tool_use_id_is_refused(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    wrong_ids: list[Any] = [None, "", "  ", 5, "a\x00"]
    with unchanged():
        for id in wrong_ids:
            with pytest.raises(longmind.InvalidInput, match="tool_use_id"):
                ctx.conversations.append_tool_result(conversation.id, id, "sunny")
        wrong_flags: list[Any] = [None, 1, "true"]
        for flag in wrong_flags:
            with pytest.raises(longmind.InvalidInput, match="is_error"):
                ctx.conversations.append_tool_result(conversation.id, "call_1", "sunny", is_error=flag)
        wrong_answers: list[Any] = [None, 5, {"type": "text", "text": "x"}, [{"type": "tool_use", "id": "1"}]]
        for answer in wrong_answers:
            with pytest.raises(longmind.InvalidInput, match="content"):
                ctx.conversations.append_tool_result(conversation.id, "call_1", answer)


@pytest.mark.conforms("A1.10", "A1.15")
def test_a_system_message_is_internal_unless_said_otherwise(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service = ctx.conversations
    message = service.append_system_message(conversation.id, "Be brief.")
    assert (message.role, message.text, message.visibility) == ("system", "Be brief.", "internal")
    shown = service.append_system_message(conversation.id, "Ada has joined.", visibility="user")
    assert shown.visibility == "user"
    assert service.get_messages(conversation.id) == [shown]
    assert service.get_raw_turns(conversation.id) == [message, shown]


@pytest.mark.conforms("A1.15")
def test_what_people_and_models_say_is_visible_to_both_unless_said_otherwise(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service, id = ctx.conversations, conversation.id
    by_default = [
        service.append_user_message(id, "Hello"),
        service.append_assistant_turn(id, "Hi"),
        service.append_tool_result(id, "call_1", "sunny"),
    ]
    assert {message.visibility for message in by_default} == {"user"}
    turn = service.append_turn(id, user_content="Hello", user_visibility="internal", assistant={"content": "Hi"})
    assert (turn.user_message.visibility, turn.assistant_message.visibility) == ("internal", "user")


@pytest.mark.conforms("A1.15")
def test_a_visibility_other_than_the_three_is_refused(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    wrong: list[Any] = ["public", "User", "", None, 0, ["user"]]
    with unchanged():
        for visibility in wrong:
            appends = [
                lambda v=visibility: service.append_user_message(id, "x", visibility=v),
                lambda v=visibility: service.append_assistant_turn(id, "x", visibility=v),
                lambda v=visibility: service.append_tool_result(id, "call_1", "x", visibility=v),
                lambda v=visibility: service.append_system_message(id, "x", visibility=v),
                lambda v=visibility: service.append_turn(
                    id, user_content="x", user_visibility=v, assistant={"content": "x"}
                ),
            ]
            for append in appends:
                with pytest.raises(longmind.InvalidInput, match="visibility"):
                    append()


@pytest.mark.conforms("A1.6")
def test_messages_stay_as_they_were_said(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    service, id = ctx.conversations, conversation.id
    first = service.append_turn(id, user_content="Hello", assistant={"content": "Hi"}, idempotency_key="k")
    service.append_turn(id, user_content="Hello", assistant={"content": "Hi there"}, idempotency_key="k")
    service.append_system_message(id, "Be brief.")
    service.close_conversation(id)
    assert service.get_messages(id)[:2] == [first.user_message, first.assistant_message]
    with pytest.raises(ValidationError):
        first.user_message.sequence = 9


@pytest.mark.conforms("A1.22")
def test_metadata_comes_back_as_it_was_given(ctx: longmind.Context) -> None:
    metadata = {
        "source": "web",
        "snake_key": {"nested": [1, 2.5, None, True, {"deep": "ü"}]},
        "": "an empty key",
        "big": 2**80,
    }
    conversation = ctx.conversations.create_conversation("support-chat", metadata=metadata)
    assert conversation.metadata == metadata
    read = ctx.conversations.get_conversation(conversation.id)
    assert read is not None
    assert read.metadata == metadata
    assert list(read.metadata) == list(metadata)


@pytest.mark.conforms("A1.22")
def test_metadata_is_kept_apart_from_what_the_caller_goes_on_changing(ctx: longmind.Context) -> None:
    metadata = {"tags": ["new"]}
    conversation = ctx.conversations.create_conversation("support-chat", metadata=metadata)
    metadata["tags"].append("changed")
    assert conversation.metadata == {"tags": ["new"]}


@pytest.mark.conforms("A1.24")
def test_values_become_json_with_the_documented_names(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    turn = ctx.conversations.append_turn(
        conversation.id,
        user_content="Hello",
        assistant=longmind.AssistantTurn(
            content=[longmind.ToolUseBlock(id="call_1", name="weather", arguments={"city_name": "Oslo"})],
            usage=longmind.Usage(input_tokens=1),
        ),
    )
    dumped = turn.model_dump(mode="json")
    assert set(dumped) == {"turnId", "userMessage", "assistantMessage"}
    assert set(dumped["userMessage"]) == {
        "id", "conversationId", "turnId", "sequence", "role", "content", "visibility", "stopReason", "model",
        "provider", "usage", "toolUseId", "toolName", "isError", "traceId", "idempotencyKey", "createdAt", "attempt",
        "replayed",
    }  # fmt: skip
    assert set(dumped["assistantMessage"]["usage"]) == {"inputTokens", "outputTokens", "latencyMs"}
    # Names inside of what the caller gave are the caller's.
    assert dumped["assistantMessage"]["content"] == [
        {"type": "tool_use", "id": "call_1", "name": "weather", "arguments": {"city_name": "Oslo"}}
    ]
    assert set(conversation.model_dump(mode="json")) == {
        "id", "tenantId", "appId", "namespace", "userId", "title", "sessionId", "status", "metadata", "messageCount",
        "rollingSummary", "rollingSummaryUntilSeq", "createdAt", "updatedAt", "closedAt",
    }  # fmt: skip
    assert longmind.Message.model_validate_json(turn.user_message.model_dump_json()) == turn.user_message


@pytest.mark.conforms("A1.24")
def test_messages_are_rows_of_the_ledger_of_kind_chat_turn(
    ctx: longmind.Context, conversation: longmind.Conversation, database_url: str
) -> None:
    turn = ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Hi"})
    rows = ledger_rows(
        database_url,
        "SELECT event_id, conversation_id, sequence, turn_id, stage, visibility, content, tags, tenant_id, app_id, "
        "user_id FROM {events} WHERE kind = 'chat.turn' ORDER BY sequence",
    )
    assert rows == [
        (
            message.id,
            conversation.id,
            sequence,
            turn.turn_id,
            role,
            "user",
            f'[{{"type":"text","text":"{text}"}}]',
            '["chat"]',
            "acme",
            "support",
            "ada",
        )
        for message, sequence, role, text in (
            (turn.user_message, 1, "user", "Hello"),
            (turn.assistant_message, 2, "assistant", "Hi"),
        )
    ]
    others = ledger_rows(database_url, "SELECT kind, sequence FROM {events} WHERE kind <> 'chat.turn'")
    assert others == [("conversation.created", None)]
