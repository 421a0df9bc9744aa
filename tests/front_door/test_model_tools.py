"""The tools of a memory in the shapes of two vendors, and their calls in the shapes in which models make them."""

from __future__ import annotations

import json
from typing import Any

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest

import longmind

STORE = {"type": "fact", "content": "User drinks coffee black."}


def openai_call(name: str, arguments: Any) -> dict[str, Any]:
    return {"id": "call-1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_tools_come_in_the_shape_that_each_sdk_takes(memory: longmind.Memory) -> None:
    names = ["memory_store", "memory_search", "memory_brief", "memory_delete"]
    chat = memory.tools("openai")
    assert [each["function"]["name"] for each in chat] == names
    assert {tuple(each) for each in chat} == {("type", "function")}
    assert {tuple(each["function"]) for each in chat} == {("name", "description", "parameters")}
    flat = memory.tools("openai-responses")
    assert [each["name"] for each in flat] == names
    assert {tuple(each) for each in flat} == {("type", "name", "description", "parameters")}
    blocks = memory.tools("anthropic")
    assert [each["name"] for each in blocks] == names
    assert {tuple(each) for each in blocks} == {("name", "description", "input_schema")}
    assert all(each["input_schema"]["type"] == "object" for each in blocks)
    assert memory.tools() == chat
    wrong: Any = "gemini"
    with pytest.raises(longmind.InvalidInput, match="shape is 'gemini'"):
        memory.tools(wrong)


def test_a_call_of_each_shape_is_answered_in_the_same_shape(memory: longmind.Memory) -> None:
    answer = memory.run_tool(openai_call("memory_store", json.dumps(STORE)))
    assert (answer["role"], answer["tool_call_id"]) == ("tool", "call-1")
    assert json.loads(answer["content"])["content"] == STORE["content"]
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call-2",
        "name": "memory_search",
        "arguments": '{"query":"coffee"}',
    }
    answer = memory.run_tool(item)
    assert (answer["type"], answer["call_id"]) == ("function_call_output", "call-2")
    assert STORE["content"] in answer["output"]
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": {"query": "coffee"}}
    answer = memory.run_tool(block)
    assert (answer["type"], answer["tool_use_id"]) == ("tool_result", "toolu_1")
    assert STORE["content"] in answer["content"]
    assert "is_error" not in answer


def test_calls_of_the_sdks_are_taken_as_they_are(memory: longmind.Memory) -> None:
    called = openai.types.chat.ChatCompletionMessageFunctionToolCall.model_validate(
        openai_call("memory_store", json.dumps(STORE))
    )
    assert memory.run_tool(called)["tool_call_id"] == "call-1"
    block = anthropic.types.ToolUseBlock.model_validate(
        {"type": "tool_use", "id": "toolu_1", "name": "memory_brief", "input": {}}
    )
    assert STORE["content"] in memory.run_tool(block)["content"]
    item = openai.types.responses.ResponseFunctionToolCall(
        type="function_call", call_id="call-3", name="memory_brief", arguments=""
    )
    assert STORE["content"] in memory.run_tool(item)["output"]


def test_what_a_tool_stores_is_in_the_memory_and_the_other_way_round(memory: longmind.Memory) -> None:
    memory.add("I live in Graz.")
    memory.run_tool(openai_call("memory_store", json.dumps(STORE)))
    assert {fact.text for fact in memory.facts()} == {"User lives in Graz.", STORE["content"]}
    assert "User lives in Graz." in memory.run_tool(openai_call("memory_search", '{"query": "Graz"}'))["content"]
    assert len(memory.ctx.memory.list_memory_spaces()) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("memory_forge", "{}", "There is no tool 'memory_forge' here."),
        ("memory_store", "{", "not valid JSON"),
        pytest.param("memory_store", "[" * 100_000, "not valid JSON", id="too deep"),
        ("memory_store", "[]", "must be a JSON object"),
        ("memory_store", '{"content": "No type."}', "VALIDATION_FAILED"),
    ],
)
def test_what_a_model_does_wrong_is_told_to_the_model(
    memory: longmind.Memory, name: str, arguments: str, said: str
) -> None:
    assert said in memory.run_tool(openai_call(name, arguments))["content"]
    if arguments.startswith("{") and arguments != "{":
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": json.loads(arguments)}
        assert memory.run_tool(block)["is_error"] is True


def test_what_a_program_does_wrong_raises(memory: longmind.Memory) -> None:
    wrong: list[tuple[Any, str]] = [
        (None, "cannot be of the type NoneType"),
        ("memory_store", "cannot be of the type str"),
        ({}, "it has no fields"),
        ({"name": "memory_store"}, "no call of a tool"),
        ({"role": "assistant", "tool_calls": []}, "a whole message, and run_tool takes one call"),
        ({"type": "tool_use", "name": "memory_brief", "input": {}}, "The call has no 'id'"),
        ({"type": "function_call", "name": "memory_brief", "arguments": "{}"}, "The call has no 'call_id'"),
    ]
    for call, said in wrong:
        with pytest.raises(longmind.InvalidInput, match=said):
            memory.run_tool(call)


def test_in_a_named_space_tools_only_look_up(database_url: str) -> None:
    with longmind.Memory("ada", url=database_url, embedder=None, space="work") as memory:
        memory.add("I live in Graz.")
        assert [each["name"] for each in memory.tools("anthropic")] == [
            "recall_by_topic",
            "recall_by_entity",
            "recall_timeline",
        ]
        assert "User lives in Graz" in memory.run_tool(openai_call("recall_by_topic", '{"query": "Graz"}'))["content"]
