"""Tools that a turn names: those that the host registered, and recall tools from an agent's JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import longmind
from longmind.models.content import ToolUseBlock
from longmind.providers.testing import ScriptedModel
from tests.server.live_server import serving

OWNER: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}
LOOKUP = longmind.Tool("lookup_refund", "Looks up a refund.", {"type": "object", "properties": {"order": {}}})
RECALL = {"type": "RECALL_BY_TOPIC", "name": "recallMemory", "memorySpaceId": "$userMemorySpaceId"}


def call(name: str, **arguments: Any) -> list[Any]:
    return [ToolUseBlock(id="call_1", name=name, arguments=arguments)]


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=None) as engine:
        yield engine


@pytest.fixture
def ada(engine: longmind.Engine) -> longmind.Context:
    return engine.context(**OWNER, session_id="s1")


def fill_space(ctx: longmind.Context) -> str:
    space = ctx.memory.create_memory_space("support")
    ctx.memory.add_atom(space.id, {"text": "User is vegetarian", "category": {"name": "diet", "kind": "FACT"}})
    return space.id


def test_a_registered_tool_runs_for_the_user_of_the_turn(engine: longmind.Engine, ada: longmind.Context) -> None:
    seen = []

    def look_up(ctx: longmind.Context, arguments: dict[str, Any]) -> dict[str, Any]:
        seen.append((ctx.scope.user_id, ctx.scope.session_id, ctx.blocks.get("core"), arguments))
        return {"state": "on its way"}

    engine.register_tool(LOOKUP, look_up)
    conversation = ada.conversations.create_conversation("support-chat")
    model = ScriptedModel([call("lookup_refund", order=1043), "It is on its way."])
    result = ada.conversations.run_turn(conversation.id, model=model, user_text="My refund?", tools=["lookup_refund"])
    assert (result.status, result.text) == ("completed", "It is on its way.")
    assert [(each.name, each.result) for each in result.tool_invocations] == [
        ("lookup_refund", '{"state": "on its way"}')
    ]
    assert seen == [("ada", "s1", None, {"order": 1043})]
    assert model.requests[0].tools == (LOOKUP,)


def test_an_error_of_a_registered_tool_goes_to_the_model(engine: longmind.Engine, ada: longmind.Context) -> None:
    def fail(ctx: Any, arguments: Any) -> str:
        raise LookupError("There is no such order.")

    engine.register_tool({"name": "lookup_refund"}, fail)
    conversation = ada.conversations.create_conversation("support-chat")
    result = ada.conversations.run_turn(
        conversation.id,
        model=ScriptedModel([call("lookup_refund"), "I found nothing."]),
        user_text="My refund?",
        tools=["lookup_refund"],
    )
    assert (result.status, result.tool_invocations[0].is_error) == ("completed", True)
    assert result.tool_invocations[0].result == "LookupError: There is no such order."


def test_recall_tools_in_json_are_bound_to_the_arguments_of_the_turn(ada: longmind.Context) -> None:
    space_id = fill_space(ada)
    conversation = ada.conversations.create_conversation("support-chat")
    result = ada.conversations.run_turn(
        conversation.id,
        model=ScriptedModel([call("recallMemory", query="vegetarian"), "You are vegetarian."]),
        user_text="Did I say what I eat?",
        tools=[RECALL],
        tool_arguments={"userMemorySpaceId": space_id},
    )
    assert [each.result for each in result.tool_invocations] == ["User is vegetarian"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tools": ["no_such_tool"]}, "No tool 'no_such_tool' is registered; the registered tools are: none."),
        ({"tools": "lookup_refund"}, "tools must be a list of tools"),
        ({"tools": [{"type": "RECALL_BY_MOOD", "name": "x", "memorySpaceId": "y"}]}, "tools[0].type is"),
        ({"tools": [RECALL], "tool_arguments": ["ms_1"]}, "tool_arguments must be a dict, not list."),
        ({"tools": [LOOKUP]}, "The tool 'lookup_refund' has no handler."),
        ({"tools": [RECALL, RECALL]}, "Two tools have the name 'recallMemory'."),
    ],
)
def test_what_is_no_tool_is_refused_before_anything_is_written(
    given: dict[str, Any], said: str, ada: longmind.Context
) -> None:
    conversation = ada.conversations.create_conversation("support-chat")
    with pytest.raises(longmind.InvalidInput) as raised:
        ada.conversations.run_turn(conversation.id, model=ScriptedModel(["Hello."]), user_text="Hi.", **given)
    assert said in raised.value.message
    assert ada.conversations.get_messages(conversation.id) == []


def test_only_a_tool_with_a_function_can_be_registered(engine: longmind.Engine) -> None:
    for tool, function, said in (
        ("lookup_refund", print, "tool is a str."),
        ({"description": "No name."}, print, "tool has no name."),
        (LOOKUP, "print", "function must be a function, not str."),
    ):
        with pytest.raises(longmind.InvalidInput) as raised:
            engine.register_tool(tool, function)  # type: ignore[arg-type]
        assert said in raised.value.message


def test_a_tool_that_is_registered_again_replaces_the_first(engine: longmind.Engine, ada: longmind.Context) -> None:
    engine.register_tool(LOOKUP, lambda ctx, arguments: "old")
    engine.register_tool(LOOKUP, lambda ctx, arguments: "new")
    conversation = ada.conversations.create_conversation("support-chat")
    model = ScriptedModel([call("lookup_refund"), "Done."])
    result = ada.conversations.run_turn(conversation.id, model=model, user_text="Hi.", tools=["lookup_refund"])
    assert result.tool_invocations[0].result == "new"


def test_an_asynchronous_engine_awaits_its_tools_on_the_loop_of_the_program(database_url: str) -> None:
    async def main() -> None:
        async with longmind.open_async(database_url, embedder=None) as engine:
            here = asyncio.get_running_loop()

            async def look_up(ctx: longmind.AsyncContext, arguments: dict[str, Any]) -> str:
                assert asyncio.get_running_loop() is here
                listed = await ctx.conversations.list_conversations()
                return f"{len(listed)} of {ctx.scope.user_id}"

            engine.register_tool(LOOKUP, look_up)
            ada = engine.context(**OWNER)
            conversation = await ada.conversations.create_conversation("support-chat")
            model = ScriptedModel([call("lookup_refund"), "Done."])
            result = await ada.conversations.run_turn(
                conversation.id, model=model, user_text="Hi.", tools=["lookup_refund"]
            )
            assert [(each.result, each.is_error) for each in result.tool_invocations] == [("1 of ada", False)]

    asyncio.run(main())


@pytest.mark.conforms("A8.1", "A8.2")
def test_over_http_a_turn_uses_registered_tools_and_recall_tools(
    engine: longmind.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([call("lookup_refund", order=1), call("recallMemory", query="vegetarian"), "All done."])
    monkeypatch.setattr("longmind.providers.model_pool.choose_model", lambda *_: model)
    engine.register_tool(LOOKUP, lambda ctx, arguments: f"{ctx.scope.user_id}: {arguments['order']}")
    with serving(engine) as client:
        space = client.post("/ai-memory/spaces", {"name": "personal"}).json["id"]
        fact = {"text": "User is vegetarian", "category": {"name": "diet", "kind": "FACT"}}
        client.post(f"/ai-memory/spaces/{space}/atoms", fact)
        path = f"/ai-conversations/{client.post('/ai-conversations', {'namespace': 'chat'}).json['id']}/run"
        asked = {
            "model": "scripted:model",
            "userText": "Hello?",
            "tools": ["lookup_refund", RECALL],
            "toolArguments": {"userMemorySpaceId": space},
        }
        answer = client.post(path, asked)
        assert (answer.status, answer.json["status"]) == (200, "completed"), answer.body
        assert [each["result"] for each in answer.json["toolInvocations"]] == ["default: 1", "User is vegetarian"]
        for tools in (["sh"], [{"name": "sh", "parameters": {}}], "lookup_refund"):
            assert client.post(path, {**asked, "tools": tools}).status == 400
