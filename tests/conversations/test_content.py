"""What a message says: a list of blocks of four types, checked to the last key."""

from __future__ import annotations

import re
from typing import Any

import pytest

import longmind
from tests.conversations.conftest import Unchanged

CAMEL: list[dict[str, Any]] = [
    {"type": "text", "text": "Look:"},
    {"type": "image", "url": "https://example.com/a.png", "mimeType": "image/png"},
    {"type": "tool_use", "id": "call_1", "name": "weather", "arguments": {"city": "Oslo", "days": [1, 2]}},
    {"type": "tool_result", "toolUseId": "call_1", "content": "sunny", "isError": False},
    {
        "type": "tool_result",
        "toolUseId": "call_2",
        "content": [
            {"type": "text", "text": "a chart"},
            {"type": "image", "url": "https://example.com/b.png", "mimeType": "image/png"},
        ],
        "isError": True,
    },
]
SNAKE: list[dict[str, Any]] = [
    {"type": "text", "text": "Look:"},
    {"type": "image", "url": "https://example.com/a.png", "mime_type": "image/png"},
    {"type": "tool_use", "id": "call_1", "name": "weather", "arguments": {"city": "Oslo", "days": [1, 2]}},
    {"type": "tool_result", "tool_use_id": "call_1", "content": "sunny"},
    {
        "type": "tool_result",
        "tool_use_id": "call_2",
        "content": [
            {"type": "text", "text": "a chart"},
            {"type": "image", "url": "https://example.com/b.png", "mime_type": "image/png"},
        ],
        "is_error": True,
    },
]
VALUES = [
    longmind.TextBlock(text="Look:"),
    longmind.ImageBlock(url="https://example.com/a.png", mime_type="image/png"),
    longmind.ToolUseBlock(id="call_1", name="weather", arguments={"city": "Oslo", "days": [1, 2]}),
    longmind.ToolResultBlock(tool_use_id="call_1", content="sunny"),
    longmind.ToolResultBlock(
        tool_use_id="call_2",
        content=[
            longmind.TextBlock(text="a chart"),
            longmind.ImageBlock(url="https://example.com/b.png", mime_type="image/png"),
        ],
        is_error=True,
    ),
]

# A block that is wrong, and the words that say where.
WRONG: list[tuple[object, str]] = [
    ({"type": "video", "url": "x"}, "video"),
    ({"type": "Text", "text": "x"}, "Text"),
    ({"type": None, "text": "x"}, ""),
    ({"text": "x"}, "type"),
    ({}, "type"),
    ("x", ""),
    (None, ""),
    (["text", "x"], ""),
    ({"type": "text"}, "text"),
    ({"type": "text", "text": 5}, "text"),
    ({"type": "text", "text": None}, "text"),
    ({"type": "text", "text": b"x"}, "text"),
    ({"type": "text", "text": "x", "lang": "en"}, "lang"),
    ({"type": "image", "url": "x"}, "mime"),
    ({"type": "image", "mimeType": "image/png"}, "url"),
    ({"type": "image", "url": "x", "mimeType": "image/png", "mime_type": "image/gif"}, "mime"),
    ({"type": "tool_use", "id": "1", "name": "n"}, "arguments"),
    ({"type": "tool_use", "id": "1", "name": "n", "arguments": "{}"}, "arguments"),
    ({"type": "tool_use", "id": "1", "name": "n", "arguments": [1]}, "arguments"),
    ({"type": "tool_use", "id": 1, "name": "n", "arguments": {}}, "id"),
    ({"type": "tool_use", "name": "n", "arguments": {}}, "id"),
    ({"type": "tool_result", "content": "x"}, "tool"),
    ({"type": "tool_result", "toolUseId": "1"}, "content"),
    ({"type": "tool_result", "toolUseId": "1", "content": 5}, "content"),
    ({"type": "tool_result", "toolUseId": "1", "content": [{"type": "tool_use"}]}, "content"),
    ({"type": "tool_result", "toolUseId": "1", "content": "x", "isError": "yes"}, "isError"),
    ({"type": "tool_result", "toolUseId": "1", "content": "x", "isError": 1}, "isError"),
]


@pytest.mark.conforms("A1.19")
def test_a_text_becomes_a_list_of_one_text_block(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_user_message(id, "Hello")
    service.append_assistant_turn(id, "Hi")
    service.append_system_message(id, "Be brief.")
    service.append_turn(id, user_content="And", assistant={"content": "so on"})
    contents = [message.model_dump(mode="json")["content"] for message in service.get_raw_turns(id)]
    assert contents == [[{"type": "text", "text": text}] for text in ("Hello", "Hi", "Be brief.", "And", "so on")]


@pytest.mark.conforms("A1.20")
@pytest.mark.parametrize("given", [CAMEL, SNAKE, VALUES, tuple(CAMEL)], ids=["camel", "snake", "values", "tuple"])
def test_the_four_types_of_block_are_kept_in_their_order(
    ctx: longmind.Context, conversation: longmind.Conversation, given: Any
) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_user_message(id, given)
    service.append_assistant_turn(id, given)
    service.append_system_message(id, given)
    service.append_turn(id, user_content=given, assistant={"content": given})
    messages = service.get_raw_turns(id)
    assert len(messages) == 5
    for message in messages:
        assert message.content == VALUES
        assert message.model_dump(mode="json")["content"] == CAMEL
        assert message.text == "Look:"


@pytest.mark.conforms("A1.20")
def test_a_wrong_block_is_refused_with_its_place(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    right = {"type": "text", "text": "right"}
    with unchanged():
        for block, word in WRONG:
            content: Any = [right, block]
            appends = [
                ("content", lambda c=content: service.append_user_message(id, c)),
                ("content", lambda c=content: service.append_assistant_turn(id, c)),
                ("content", lambda c=content: service.append_system_message(id, c)),
                (
                    "user_content",
                    lambda c=content: service.append_turn(id, user_content=c, assistant={"content": "Hi"}),
                ),
                (
                    "assistant.content",
                    lambda c=content: service.append_turn(id, user_content="Hi", assistant={"content": c}),
                ),
            ]
            for field, append in appends:
                place = rf"^{re.escape(field)}\[1\].*{word}"
                with pytest.raises(longmind.InvalidInput, match=place):
                    append()


@pytest.mark.conforms("A1.20")
def test_content_that_is_neither_text_nor_a_list_is_refused(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    wrong: list[Any] = [None, 5, True, b"bytes", {"type": "text", "text": "x"}, {"x"}, iter("x")]
    with unchanged():
        for content in wrong:
            for append in (service.append_user_message, service.append_assistant_turn, service.append_system_message):
                with pytest.raises(longmind.InvalidInput, match=r"^content"):
                    append(id, content)
            with pytest.raises(longmind.InvalidInput, match=r"^user_content"):
                service.append_turn(id, user_content=content, assistant={"content": "Hi"})
            with pytest.raises(longmind.InvalidInput, match=r"^assistant\.content"):
                service.append_turn(id, user_content="Hi", assistant={"content": content})


@pytest.mark.conforms("A1.11", "A1.20")
def test_an_assistant_side_that_is_none_is_refused(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    wrong: list[tuple[Any, str]] = [
        (None, "assistant"),
        ("Hi", "assistant"),
        ([], "assistant"),
        ({}, r"assistant\.content"),
        ({"content": "Hi", "role": "user"}, r"assistant\.role"),
        ({"content": "Hi", "model": 5}, r"assistant\.model"),
        ({"content": "Hi", "stopReason": "  "}, "stop"),
        ({"content": "Hi", "provider": "p" * 256}, "provider"),
    ]
    with unchanged():
        for assistant, place in wrong:
            with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=f"^{place}"):
                ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant=assistant)


@pytest.mark.conforms("A1.7", "A1.10")
def test_a_message_that_says_nothing_is_refused_but_a_model_may_be_silent(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    blanks: list[Any] = ["", " \n\t", [], [{"type": "text", "text": ""}], [{"type": "text", "text": " "}] * 2]
    with unchanged():
        for blank in blanks:
            for append in (service.append_user_message, service.append_system_message):
                with pytest.raises(longmind.InvalidInput, match="content is blank"):
                    append(id, blank)
            with pytest.raises(longmind.InvalidInput, match="user_content is blank"):
                service.append_turn(id, user_content=blank, assistant={"content": "Hi"})
    for blank in blanks:
        service.append_assistant_turn(id, blank, stop_reason="refusal")
    assert [message.text.strip() for message in service.get_messages(id)] == [""] * len(blanks)
