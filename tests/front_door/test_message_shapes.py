"""Messages in the shapes of OpenAI, Anthropic and others, and what the ledger holds of them."""

from __future__ import annotations

from typing import Any

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest

import longmind

PIXEL = "iVBORw0KGgo="


def stored(memory: longmind.Memory, content: object) -> list[tuple[str, Any]]:
    """The roles and contents of the rows that become of it, texts alone as texts."""
    added = memory.add(content, wait=False)
    rows = memory.ctx.conversations.find_messages(added.message_ids)
    assert len(rows) == len(added.message_ids)
    return [
        (
            row.role,
            row.content[0].text
            if len(row.content) == 1 and isinstance(row.content[0], longmind.TextBlock)
            else [block.model_dump(by_alias=False, exclude_none=True) for block in row.content],
        )
        for row in sorted(rows, key=lambda each: each.sequence)
    ]


def call(id: str = "call-1", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "trains", "arguments": arguments}


def result(content: Any, id: str = "call-1", *, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error}


@pytest.fixture
def memory(sqlite_url: str) -> Any:
    with longmind.Memory("ada", url=sqlite_url, embedder=None) as memory:
        memory.engine.stop_workers()
        yield memory


SHAPES: dict[str, tuple[Any, list[tuple[str, Any]]]] = {
    "a text": ("Hello.", [("user", "Hello.")]),
    "a message": ({"role": "user", "content": "Hello."}, [("user", "Hello.")]),
    "OpenAI, chat completions": (
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "When is the train?"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call-1",
                        "type": "function",
                        "function": {"name": "trains", "arguments": '{"to": "Graz"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call-1", "content": "At 9:10."},
            {"role": "assistant", "content": "At ten past nine.", "refusal": None},
        ],
        [
            ("system", "Be brief."),
            ("user", "When is the train?"),
            ("assistant", [call(to="Graz")]),
            ("tool", [result("At 9:10.")]),
            ("assistant", "At ten past nine."),
        ],
    ),
    "OpenAI, image and file": (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "https://example.com/cat.png", "detail": "low"}},
                {"type": "file", "file": {"filename": "report.pdf", "file_data": "…"}},
                {"type": "input_audio", "input_audio": {"data": "…", "format": "wav"}},
            ],
        },
        [
            (
                "user",
                [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image", "url": "https://example.com/cat.png", "mime_type": "image/*"},
                    {"type": "text", "text": "[file report.pdf]"},
                    {"type": "text", "text": "[audio]"},
                ],
            )
        ],
    ),
    "OpenAI, the call before tool_calls": (
        [
            {"role": "assistant", "content": None, "function_call": {"name": "trains", "arguments": "{}"}},
            {"role": "function", "name": "trains", "content": "At 9:10."},
        ],
        [("assistant", [call("trains")]), ("tool", [result("At 9:10.", "trains")])],
    ),
    "OpenAI, responses": (
        [
            {"role": "user", "content": [{"type": "input_text", "text": "When?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call-1",
                "name": "trains",
                "arguments": '{"to":"Graz"}',
            },
            {"type": "function_call_output", "call_id": "call-1", "output": "At 9:10."},
            {
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "At ten past nine.", "annotations": []}],
            },
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://example.com/a.png"}]},
        ],
        [
            ("user", "When?"),
            ("assistant", [call(to="Graz")]),
            ("tool", [result("At 9:10.")]),
            ("assistant", "At ten past nine."),
            ("user", [{"type": "image", "url": "https://example.com/a.png", "mime_type": "image/*"}]),
        ],
    ),
    "Anthropic": (
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "When is the train?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                    {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "…"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "call-1", "name": "trains", "input": {"to": "Graz"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call-1", "content": [{"type": "text", "text": "At 9:10."}]},
                    {"type": "text", "text": "And the next?"},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "No.", "is_error": True}],
            },
            {"role": "assistant", "content": "At 9:40."},
        ],
        [
            (
                "user",
                [
                    {"type": "text", "text": "When is the train?"},
                    {"type": "image", "url": f"data:image/png;base64,{PIXEL}", "mime_type": "image/png"},
                    {"type": "image", "url": "https://example.com/cat.png", "mime_type": "image/*"},
                ],
            ),
            ("assistant", [{"type": "text", "text": "I look."}, call(to="Graz")]),
            ("tool", [result([{"type": "text", "text": "At 9:10."}])]),
            ("user", "And the next?"),
            ("tool", [result("No.", is_error=True)]),
            ("assistant", "At 9:40."),
        ],
    ),
    "a thought alone says nothing": (
        [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "…"}]},
            {"role": "assistant", "content": ""},
        ],
        [("user", "Hello.")],
    ),
    "arguments that are no JSON": (
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call-1", "function": {"name": "trains", "arguments": "to Graz"}}],
        },
        [("assistant", [{"type": "text", "text": ""}, call(input="to Graz")])],
    ),
    "a result that is no text": (
        {"role": "tool", "tool_call_id": "call-1", "content": {"at": "9:10"}},
        [("tool", [result('{"at": "9:10"}')])],
    ),
    "LangChain": (
        [{"type": "human", "content": "Hello."}, {"type": "ai", "content": "Hello!"}],
        [("user", "Hello."), ("assistant", "Hello!")],
    ),
    "several speakers are named": (
        [
            {"role": "user", "name": "Bob", "content": "I live in Graz."},
            {"role": "user", "name": "Eve", "content": "I live in Linz."},
            {"role": "assistant", "content": "Both are nice."},
        ],
        [("user", "Bob: I live in Graz."), ("user", "Eve: I live in Linz."), ("assistant", "Both are nice.")],
    ),
    "one speaker is the user": (
        [{"role": "user", "name": "Ada", "content": "I live in Graz."}],
        [("user", "I live in Graz.")],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_becomes_rows_of_the_ledger(shape: str, memory: longmind.Memory) -> None:
    given, rows = SHAPES[shape]
    assert stored(memory, given) == rows


def test_answers_of_the_sdks_are_taken_as_they_are(memory: longmind.Memory) -> None:
    completion = openai.types.chat.ChatCompletion.model_validate(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "At ten past nine."}}
            ],
        }
    )
    message = anthropic.types.Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "At ten past nine."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    response = openai.types.responses.Response.model_validate(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "output": [
                {
                    "id": "m",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "At ten past nine.", "annotations": []}],
                }
            ],
        }
    )
    question = {"role": "user", "content": "When is the train?"}
    for answer in (completion, completion.choices[0].message, message, response, response.output[0]):
        assert stored(memory, [question, answer]) == [
            ("user", "When is the train?"),
            ("assistant", "At ten past nine."),
        ]
        assert stored(memory, answer) == [("assistant", "At ten past nine.")]


def test_own_messages_and_turns_can_be_added_again(memory: longmind.Memory) -> None:
    rows = SHAPES["Anthropic"][1]
    first = memory.add(SHAPES["Anthropic"][0], wait=False)
    said = memory.ctx.conversations.find_messages(first.message_ids)
    assert stored(memory, sorted(said, key=lambda each: each.sequence)) == rows
    conversation = memory.ctx.conversations.create_conversation("chat")
    turn = memory.ctx.conversations.append_turn(conversation.id, user_content="Hello.", assistant={"content": "Hello!"})
    assert stored(memory, turn) == [("user", "Hello."), ("assistant", "Hello!")]


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, "A message cannot be None."),
    "an empty text": ("", "The text is empty."),
    "a blank text": (" \n", "The text is empty."),
    "a number": (7, "A message cannot be of the type int."),
    "bytes": (b"Hello.", "A message cannot be bytes."),
    "an empty list": ([], "The list of messages is empty."),
    "texts without a role": (["Hello.", "Hi!"], "messages[0] is a text without a role."),
    "a tuple of role and text": ([("user", "Hello.")], "messages[0] cannot be of the type tuple."),
    "an unknown role": ([{"role": "bot", "content": "Hi."}], "messages[0] has the unknown role 'bot'."),
    "no role": ([{"content": "Hi."}], "messages[0] has no 'role', only 'content'."),
    "no content": ([{"role": "user"}], "messages[0] has no 'content'."),
    "content None": ({"role": "user", "content": None}, "The message has content None."),
    "content in another field": ({"role": "user", "text": "Hi."}, "The message has no 'content'."),
    "empty content": ([{"role": "user", "content": " "}], "messages[0] is empty: its content has no text."),
    "content of a number": ({"role": "user", "content": 7}, "The message.content must be a text or a list"),
    "an unknown block": (
        {"role": "user", "content": [{"type": "smell"}]},
        "The message.content[0] has the unknown type 'smell'.",
    ),
    "a block without text": ({"role": "user", "content": [{"type": "text"}]}, "The message.content[0].text must be"),
    "an image without an address": ({"role": "user", "content": [{"type": "image"}]}, "is an image without"),
    "a tool without its call": ({"role": "tool", "content": "9:10"}, "a tool's message without the id of its call"),
    "a result without its call": (
        {"role": "user", "content": [{"type": "tool_result", "content": "9:10"}]},
        "is a result without the id of its call",
    ),
    "a call without a name": ({"role": "assistant", "tool_calls": [{"id": "1"}]}, "a call without the name of a tool"),
    "calls that are no list": ({"role": "assistant", "tool_calls": 7}, "tool_calls must be a list, not int."),
    "only thoughts": ([{"role": "assistant", "content": ""}], "There is nothing to remember"),
    "a time that is none": (
        [{"role": "user", "content": "Hi.", "created_at": "yesterday"}],
        "created_at 'yesterday' is not an ISO 8601 instant.",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_named_with_its_place_and_nothing_is_stored(mistake: str, memory: longmind.Memory) -> None:
    given, message = WRONG[mistake]
    with pytest.raises(longmind.InvalidInput) as refused:
        memory.add(given)
    assert message in refused.value.message
    assert memory.ctx.conversations.list_conversations() == []


def test_a_coroutine_that_was_not_awaited_is_named_as_one(memory: longmind.Memory) -> None:
    async def ask() -> str:
        return "Hello."

    answer = ask()
    with pytest.raises(longmind.InvalidInput, match="a coroutine, which was not awaited"):
        memory.add(answer)
    answer.close()
