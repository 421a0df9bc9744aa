"""What cannot be kept is refused with its place and its reason, and then nothing at all is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import longmind
from tests.conversations.conftest import Unchanged

MESSAGE_LIMIT = 1024 * 1024
METADATA_LIMIT = 64 * 1024
AROUND_ONE_TEXT = len('[{"type":"text","text":""}]')

# Each holds one character that no database keeps as text, the second or the third.
UNSTORABLE = {"a\x00b": "NUL character at position 1", "ab\ud83d": "half a surrogate pair (U+D83D) at position 2"}


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def takers_of_text(ctx: longmind.Context, id: str) -> list[tuple[str, Callable[[str], object]]]:
    """Every place a text goes into, with the words that a refusal names it by."""
    service = ctx.conversations

    def block(text: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": "right"}, {"type": "text", "text": text}]

    def tool_use(key: str, value: str) -> list[dict[str, Any]]:
        return [{"type": "tool_use", "id": "1", "name": "n", "arguments": {"deep": [{key: value}]}}]

    return [
        ("content", lambda text: service.append_user_message(id, text)),
        ("content", lambda text: service.append_assistant_turn(id, text)),
        ("content", lambda text: service.append_system_message(id, text)),
        ("content[0].content", lambda text: service.append_tool_result(id, "1", text)),
        (
            "content[0].content[0].text",
            lambda text: service.append_tool_result(id, "1", [{"type": "text", "text": text}]),
        ),
        ("user_content", lambda text: service.append_turn(id, user_content=text, assistant={"content": "Hi"})),
        ("assistant.content", lambda text: service.append_turn(id, user_content="Hi", assistant={"content": text})),
        ("content[1].text", lambda text: service.append_user_message(id, block(text))),
        (
            "assistant.content[1].text",
            lambda text: service.append_turn(id, user_content="Hi", assistant={"content": block(text)}),
        ),
        ("content[0].arguments.deep[0].k", lambda text: service.append_assistant_turn(id, tool_use("k", text))),
        ("of content[0].arguments.deep[0]", lambda text: service.append_assistant_turn(id, tool_use(text, "v"))),
        (
            "content[0].url",
            lambda text: service.append_user_message(id, [{"type": "image", "url": text, "mimeType": "image/png"}]),
        ),
        ("tool_use_id", lambda text: service.append_tool_result(id, text, "x")),
        ("tool_name", lambda text: service.append_tool_result(id, "1", "x", tool_name=text)),
        ("stop_reason", lambda text: service.append_assistant_turn(id, "x", stop_reason=text)),
        ("model", lambda text: service.append_assistant_turn(id, "x", model=text)),
        ("provider", lambda text: service.append_assistant_turn(id, "x", provider=text)),
        ("trace_id", lambda text: service.append_user_message(id, "x", trace_id=text)),
        ("idempotency_key", lambda text: service.append_user_message(id, "x", idempotency_key=text)),
        ("title", lambda text: service.create_conversation("n", title=text)),
        ("metadata.a[0].b", lambda text: service.create_conversation("n", metadata={"a": [{"b": text}]})),
        ("of metadata.a", lambda text: service.create_conversation("n", metadata={"a": {text: 1}})),
        ("conversation_id", lambda text: service.append_user_message(text, "x")),
        ("conversation_id", lambda text: service.get_conversation(text)),
        ("conversation_id", lambda text: service.get_messages(text)),
        ("conversation_id", lambda text: service.close_conversation(text)),
    ]


def test_a_character_that_cannot_be_kept_is_refused_with_its_place_and_position(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    with unchanged():
        for text, reason in UNSTORABLE.items():
            for place, take in takers_of_text(ctx, conversation.id):
                with pytest.raises(longmind.InvalidInput) as refusal:
                    take(text)
                assert f"{place} has " in refusal.value.message, place
                assert reason in refusal.value.message, place


def test_a_session_id_with_a_control_character_is_refused_with_its_position(
    ctx: longmind.Context, unchanged: Unchanged
) -> None:
    with unchanged():
        for session in ("a\x00b", "a\x1bb", "a\ud83d"):
            with pytest.raises(longmind.InvalidInput, match=r"session_id .* at position 1"):
                ctx.conversations.create_conversation("n", session_id=session)


@pytest.mark.parametrize("letter", ["x", "é", "語", "🙂"])
def test_a_message_may_have_a_mebibyte_and_not_one_byte_more(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged, letter: str
) -> None:
    room = MESSAGE_LIMIT - AROUND_ONE_TEXT
    width = len(letter.encode())
    fits = letter * (room // width) + "x" * (room % width)
    ctx.conversations.append_user_message(conversation.id, fits)
    assert ctx.conversations.get_messages(conversation.id)[0].text == fits
    with unchanged():
        with pytest.raises(
            longmind.LimitExceeded, match=r"^content \(written as JSON\) is limited to 1,048,576 bytes"
        ) as refusal:
            ctx.conversations.append_user_message(conversation.id, fits + "x")
        assert (refusal.value.limit, refusal.value.given) == (MESSAGE_LIMIT, MESSAGE_LIMIT + 1)
        assert refusal.value.status == 422


def test_every_kind_of_message_has_the_same_limit(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    half = [{"type": "text", "text": "x" * (MESSAGE_LIMIT // 2)}]
    with unchanged():
        for content in ("x" * MESSAGE_LIMIT, half * 2):
            for append in (service.append_user_message, service.append_assistant_turn, service.append_system_message):
                with pytest.raises(longmind.LimitExceeded, match=r"^content"):
                    append(id, content)
            with pytest.raises(longmind.LimitExceeded, match=r"^content"):
                service.append_tool_result(id, "1", content)
            with pytest.raises(longmind.LimitExceeded, match=r"^user_content"):
                service.append_turn(id, user_content=content, assistant={"content": "Hi"})
            with pytest.raises(longmind.LimitExceeded, match=r"^assistant\.content"):
                service.append_turn(id, user_content="Hi", assistant={"content": content})


@pytest.mark.conforms("A1.22")
def test_metadata_may_have_64_kibibytes_and_not_one_byte_more(ctx: longmind.Context, unchanged: Unchanged) -> None:
    room = METADATA_LIMIT - len('{"k":""}')
    fits = {"k": "é" * (room // 2) + "x" * (room % 2)}
    conversation = ctx.conversations.create_conversation("n", metadata=fits)
    read = ctx.conversations.get_conversation(conversation.id)
    assert read is not None
    assert read.metadata == fits
    with (
        unchanged(),
        pytest.raises(longmind.LimitExceeded, match=r"^metadata \(written as JSON\) is limited to 65,536 bytes"),
    ):
        ctx.conversations.create_conversation("n", metadata={"k": fits["k"] + "x"})


def test_metadata_that_is_not_json_is_refused_with_its_place(ctx: longmind.Context, unchanged: Unchanged) -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    wrong: list[tuple[Any, str]] = [
        ({"a": float("nan")}, "metadata.a"),
        ({"a": [1, float("inf")]}, "metadata.a[1]"),
        ({"a": {"b": float("-inf")}}, "metadata.a.b"),
        ({"a": {1, 2}}, "metadata.a"),
        ({"a": b"bytes"}, "metadata.a"),
        ({"a": object()}, "metadata.a"),
        ({"a": 1 + 2j}, "metadata.a"),
        ({"a": iter([])}, "metadata.a"),
        ({1: "a"}, "metadata"),
        ({None: "a"}, "metadata"),
        ({"a": {(1, 2): "b"}}, "metadata.a"),
        ({"a": 10**5000}, "metadata"),
        ([("a", 1)], "metadata"),
        ("{}", "metadata"),
        (5, "metadata"),
    ]
    with unchanged():
        for metadata, place in wrong:
            with pytest.raises(longmind.InvalidInput, match=f"^{re.escape(place)} "):
                ctx.conversations.create_conversation("n", metadata=metadata)
        for endless in (cycle, {"a": deep(100)}, {"a": deep(100_000)}):
            with pytest.raises(longmind.LimitExceeded, match="depth of metadata"):
                ctx.conversations.create_conversation("n", metadata=endless)
    assert ctx.conversations.create_conversation("n", metadata={"a": deep(99)}).metadata == {"a": deep(99)}


def test_arguments_of_a_tool_that_are_not_json_are_refused_with_their_place(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle

    def forms(arguments: Any) -> Iterator[Any]:
        yield [{"type": "tool_use", "id": "1", "name": "n", "arguments": arguments}]
        yield [longmind.ToolUseBlock(id="1", name="n", arguments=arguments)]

    with unchanged():
        for value in (float("nan"), {1}, b"bytes", object(), {1: 2}):
            for content in forms({"a": value}):
                with pytest.raises(longmind.InvalidInput, match=r"^content\[0\]\.arguments\.a"):
                    service.append_assistant_turn(id, content)
                with pytest.raises(longmind.InvalidInput, match=r"^assistant\.content\[0\]\.arguments\.a"):
                    service.append_turn(id, user_content="Hi", assistant={"content": content})
        for endless in (cycle, {"a": deep(200)}):
            for content in forms(endless):
                with pytest.raises(longmind.LimitExceeded, match="depth of content"):
                    service.append_assistant_turn(id, content)


def test_titles_and_labels_have_their_limits(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    assert service.create_conversation("n", title="é" * 1_000).title == "é" * 1_000
    longest = "é" * 255
    kept = service.append_user_message(id, "x", trace_id=longest, idempotency_key=longest)
    assert (kept.trace_id, kept.idempotency_key) == (longest, longest)
    with unchanged():
        with pytest.raises(longmind.LimitExceeded, match="title is limited to 1,000 characters"):
            service.create_conversation("n", title="é" * 1_001)
        takers: dict[str, Callable[[Any], object]] = {
            "trace_id": lambda label: service.append_user_message(id, "x", trace_id=label),
            "idempotency_key": lambda label: service.append_user_message(id, "x", idempotency_key=label),
            "model": lambda label: service.append_assistant_turn(id, "x", model=label),
            "tool_name": lambda label: service.append_tool_result(id, "1", "x", tool_name=label),
        }
        for name, take in takers.items():
            with pytest.raises(longmind.LimitExceeded, match=f"{name} is limited to 255 characters"):
                take("x" * 256)
            for wrong in ("", "  ", 5, ["x"]):
                with pytest.raises(longmind.InvalidInput, match=name):
                    take(wrong)


def test_a_value_that_unfolds_without_end_is_refused_at_once(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    # Each level holds the one below twice: to visit all of them would take longer than anybody waits.
    bottoms: list[Any] = ["x", []]
    for folded in bottoms:
        for _ in range(60):
            folded = [folded, folded]
        block = {"type": "tool_use", "id": "1", "name": "n", "arguments": {"a": folded}}
        with unchanged():
            with pytest.raises(longmind.LimitExceeded, match=r"^metadata \(written as JSON\) .* at least"):
                ctx.conversations.create_conversation("n", metadata={"a": folded})
            with pytest.raises(longmind.LimitExceeded, match=r"^content \(written as JSON\) .* at least"):
                ctx.conversations.append_assistant_turn(conversation.id, [block])
            with pytest.raises(longmind.LimitExceeded, match=r"^payload \(written as JSON\) .* at least"):
                ctx.jobs.enqueue("unfold", {"a": folded})


def test_a_text_that_is_held_many_times_is_measured_before_it_is_read_many_times(
    ctx: longmind.Context, unchanged: Unchanged
) -> None:
    with unchanged(), pytest.raises(longmind.LimitExceeded, match="metadata"):
        ctx.conversations.create_conversation("n", metadata={"a": ["x" * 60_000] * 10_000_000})
