"""Agents as JSON: registered once for the app, invoked for each user with arguments in place of `$variables`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import longmind
from longmind.models.content import ToolUseBlock
from longmind.providers.testing import ScriptedModel
from tests.server.live_server import serving

OWNER: dict[str, Any] = {"tenant_id": "acme", "app_id": "support"}
RECALL = {"type": "RECALL_BY_TOPIC", "name": "recallMemory", "memorySpaceId": "$userMemorySpaceId"}
SUPPORT = {
    "name": "supportAgent",
    "model": "scripted:model",
    "systemPrompt": "You help customers.",
    "tools": [RECALL, "lookup_refund"],
}
LOOKUP = {"name": "lookup_refund", "description": "Looks up a refund."}


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=None) as engine:
        engine.register_tool(LOOKUP, lambda ctx, arguments: f"refund of {ctx.scope.user_id}")
        yield engine


def user(engine: longmind.Engine, name: str = "ada", **more: Any) -> longmind.Context:
    return engine.context(**{**OWNER, "user_id": name, **more})


def admin(engine: longmind.Engine) -> longmind.Context:
    return user(engine, "root", capabilities={"admin"})


def space_of(ctx: longmind.Context, fact: str) -> str:
    space = ctx.memory.create_memory_space("support")
    ctx.memory.add_atom(space.id, {"text": fact, "category": {"name": "diet", "kind": "FACT"}})
    return space.id


def script() -> ScriptedModel:
    calls = [
        ToolUseBlock(id="1", name="recallMemory", arguments={"query": "vegetarian vegan"}),
        ToolUseBlock(id="2", name="lookup_refund", arguments={}),
    ]
    return ScriptedModel([calls, "Done."])


@pytest.mark.conforms("A8.2")
def test_one_agent_serves_every_user_with_a_space_of_their_own(engine: longmind.Engine) -> None:
    admin(engine).agents.register(SUPPORT)
    for name, fact in (("ada", "User is vegetarian"), ("bob", "User is vegan")):
        ctx = user(engine, name)
        arguments = {"userMemorySpaceId": space_of(ctx, fact), "userMessage": "What do I eat?"}
        model = script()
        result = ctx.agents.invoke("supportAgent", arguments=arguments, model=model)
        assert (result.status, result.text) == ("completed", "Done.")
        assert [each.result for each in result.tool_invocations] == [fact, f"refund of {name}"]
        assert (model.requests[0].system or "").startswith("You help customers.")
        begun = ctx.conversations.get_conversation(result.appended_messages[0].conversation_id)
        assert begun is not None
        assert (begun.namespace, begun.status) == ("supportAgent", "open")
        again = ctx.agents.invoke(
            "supportAgent",
            arguments={**arguments, "userMessage": "And now?"},
            conversation_id=begun.id,
            model=ScriptedModel(["Still that."]),
        )
        assert again.appended_messages[0].conversation_id == begun.id
        assert len(ctx.conversations.list_conversations()) == 1


def test_an_agent_that_names_a_space_of_another_user_learns_nothing(engine: longmind.Engine) -> None:
    ada, bob = user(engine, "ada"), user(engine, "bob")
    hers = space_of(ada, "User is vegetarian")
    admin(engine).agents.register({**SUPPORT, "memory": {"memorySpaceId": "$userMemorySpaceId"}})
    admin(engine).agents.register({**SUPPORT, "name": "withoutMemory"})
    with pytest.raises(longmind.NotFound):
        bob.agents.invoke(
            "supportAgent", arguments={"userMemorySpaceId": hers, "userMessage": "Hi."}, model=ScriptedModel(["Hi."])
        )
    assert bob.conversations.list_conversations() == []
    result = bob.agents.invoke(
        "withoutMemory", arguments={"userMemorySpaceId": hers, "userMessage": "Hi."}, model=script()
    )
    assert result.tool_invocations[0].is_error
    assert "User is" not in result.tool_invocations[0].result


def test_the_memory_of_an_agent_is_in_its_prompt(engine: longmind.Engine) -> None:
    memory = {"memorySpaceId": "$space", "alwaysOnCategoryNames": ["diet"], "recallLimit": 2}
    definition = {**SUPPORT, "tools": [], "memory": memory, "userText": "$question", "namespace": "support-chat"}
    memory["recallQuery"] = "$question"
    admin(engine).agents.register(definition)
    ctx, model = user(engine), ScriptedModel(["You are vegetarian."])
    arguments = {"space": space_of(ctx, "User is vegetarian"), "question": "What do I eat?"}
    result = ctx.agents.invoke("supportAgent", arguments=arguments, model=model)
    assert result.text == "You are vegetarian."
    system = model.requests[0].system
    assert system is not None
    assert system.startswith("You help customers.\n\n")
    assert "User is vegetarian" in system
    assert ctx.conversations.list_conversations()[0].namespace == "support-chat"


def test_agents_are_listed_replaced_and_removed(engine: longmind.Engine) -> None:
    root, ada = admin(engine), user(engine)
    first = root.agents.register(SUPPORT)
    assert first.definition.tools == [RECALL, "lookup_refund"]
    assert (first.tenant_id, first.app_id, first.definition.max_cycles) == ("acme", "support", 8)
    replaced = root.agents.register(longmind.AgentDefinition(name="supportAgent", model="other:model"))
    assert replaced.created_at == first.created_at
    assert ada.agents.get("supportAgent") == replaced
    for name in ("a", "b", "c"):
        root.agents.register({**SUPPORT, "name": name})
    page = ada.agents.list(limit=2)
    assert ([each.name for each in page], page.next_cursor) == (["a", "b"], "b")
    rest = ada.agents.list(limit=2, cursor=page.next_cursor)
    assert ([each.name for each in rest], rest.next_cursor) == (["c", "supportAgent"], None)
    root.agents.remove("a")
    root.agents.remove("a")
    assert ada.agents.get("a") is None
    kinds = [(each.kind, each.data["agentName"]) for each in engine.follow() if each.kind.startswith("agent.")]
    assert kinds == [
        ("agent.registered", "supportAgent"),
        ("agent.registered", "supportAgent"),
        ("agent.registered", "a"),
        ("agent.registered", "b"),
        ("agent.registered", "c"),
        ("agent.removed", "a"),
    ]


def test_agents_belong_to_one_app_of_one_tenant_and_outlive_their_administrator(engine: longmind.Engine) -> None:
    root = admin(engine)
    root.agents.register(SUPPORT)
    for other in ({"tenant_id": "umbrella"}, {"app_id": "sales"}):
        stranger = user(engine, "root", capabilities={"admin"}, **other)
        assert stranger.agents.get("supportAgent") is None
        assert stranger.agents.list() == []
        stranger.agents.remove("supportAgent")
        with pytest.raises(longmind.NotFound):
            stranger.agents.invoke("supportAgent", arguments={"userMessage": "Hi."})
    root.admin.delete_user_data(confirm=True)
    assert user(engine).agents.get("supportAgent") is not None


def test_only_an_administrator_registers_and_removes(engine: longmind.Engine) -> None:
    ada = user(engine)
    with pytest.raises(longmind.Forbidden):
        ada.agents.register(SUPPORT)
    with pytest.raises(longmind.Forbidden):
        ada.agents.remove("supportAgent")
    assert ada.agents.list() == []


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ("supportAgent", "definition must be a dict or AgentDefinition, not str."),
        ({"name": "a"}, "definition.model: Field required."),
        ({"name": "a b", "model": "m"}, "The name of an agent is 'a b'."),
        ({"name": "a", "model": " "}, "definition.model is blank."),
        ({"name": "a", "model": "m", "memory": {}}, "definition.memory.memorySpaceId: Field required."),
        ({"name": "a", "model": "m", "tools": [{"type": "RECALL"}]}, "tools[0].type is 'RECALL'."),
        ({"name": "a", "model": "m", "tools": [" "]}, "definition.tools[0] is blank."),
        ({"name": "a", "model": "m", "maxCycles": 0}, "definition.maxCycles"),
        ({"name": "a", "model": "m", "mood": "good"}, "definition.mood"),
        ({"name": "a", "model": "m", "systemPrompt": "a\x00b"}, "definition"),
    ],
)
def test_what_is_no_agent_is_refused(engine: longmind.Engine, definition: Any, said: str) -> None:
    with pytest.raises(longmind.InvalidInput) as raised:
        admin(engine).agents.register(definition)
    assert said in raised.value.message
    assert raised.value.hint or "must" in raised.value.message
    assert admin(engine).agents.list() == []


def test_a_definition_has_a_limit(engine: longmind.Engine) -> None:
    with pytest.raises(longmind.LimitExceeded):
        admin(engine).agents.register({**SUPPORT, "systemPrompt": "x" * 65_536})


def test_an_invocation_is_refused_before_anything_is_written(engine: longmind.Engine) -> None:
    admin(engine).agents.register(SUPPORT)
    ctx = user(engine)
    for given, said in (
        ({}, "The agent 'supportAgent' needs the arguments 'userMessage', 'userMemorySpaceId'."),
        ({"arguments": ["x"]}, "arguments must be a dict"),
        ({"arguments": {"userMessage": 7, "userMemorySpaceId": "ms_1"}}, "'userMessage' must be a text, not int."),
        ({"idempotency_key": "k"}, "An idempotency key counts within a conversation"),
    ):
        with pytest.raises(longmind.InvalidInput) as raised:
            ctx.agents.invoke("supportAgent", **given)
        assert said in raised.value.message
    with pytest.raises(longmind.NotFound, match="'nobody'"):
        ctx.agents.invoke("nobody")
    assert ctx.conversations.list_conversations() == []
    admin(engine).agents.register({**SUPPORT, "tools": ["no_such_tool"]})
    with pytest.raises(longmind.InvalidInput, match="No tool 'no_such_tool' is registered"):
        ctx.agents.invoke("supportAgent", arguments={"userMessage": "Hi."}, model=ScriptedModel(["Hi."]))
    # A conversation that nobody has the id of is not left open.
    assert [each.status for each in ctx.conversations.list_conversations()] == ["closed"]


def test_an_asynchronous_program_invokes_agents_too(database_url: str) -> None:
    async def main() -> None:
        async with longmind.open_async(database_url, embedder=None) as engine:
            root = engine.context(**OWNER, user_id="root", capabilities={"admin"})
            await root.agents.register({**SUPPORT, "tools": []})
            heard = []

            async def listen(text: str) -> None:
                heard.append(text)

            ada = engine.context(**OWNER, user_id="ada")
            result = await ada.agents.invoke(
                "supportAgent", arguments={"userMessage": "Hi."}, model=ScriptedModel(["Hello!"]), on_text=listen
            )
            assert (result.text, "".join(heard)) == ("Hello!", "Hello!")

    asyncio.run(main())


@pytest.mark.conforms("A8.2")
def test_agents_are_registered_and_invoked_over_http(engine: longmind.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [script(), ScriptedModel(["Hello!"])]
    monkeypatch.setattr("longmind.providers.model_pool.choose_model", lambda name, *_: models.pop(0))
    with serving(engine) as client:
        made = client.post("/ai-agents", SUPPORT)
        assert (made.status, made.json["definition"]["systemPrompt"]) == (201, "You help customers."), made.body
        assert client.get("/ai-agents/supportAgent").json == made.json
        assert client.get("/ai-agents").json == {"items": [made.json], "nextCursor": None}
        space = client.post("/ai-memory/spaces", {"name": "support"}).json["id"]
        fact = {"text": "User is vegetarian", "category": {"name": "diet", "kind": "FACT"}}
        client.post(f"/ai-memory/spaces/{space}/atoms", fact)
        arguments = {"userMemorySpaceId": space, "userMessage": "What do I eat?"}
        answer = client.post("/ai-agents/supportAgent/invoke", {"arguments": arguments})
        assert (answer.status, answer.json["status"]) == (200, "completed"), answer.body
        assert [each["result"] for each in answer.json["toolInvocations"]] == [
            "User is vegetarian",
            "refund of default",
        ]
        client.post("/ai-agents", {**SUPPORT, "model": "scripted:other"})
        streamed = client.post("/ai-agents/supportAgent/invoke", {"arguments": arguments}, accept="text/event-stream")
        events = streamed.body.decode().split("\n\n")
        assert events[0].startswith("event: text\n")
        result = next(each for each in events if each.startswith("event: result"))
        assert json.loads(result.partition("data: ")[2])["status"] == "completed"
        assert client.post("/ai-agents/supportAgent/invoke", {"arguments": {}}).status == 400
        assert client.post("/ai-agents/nobody/invoke", {}).status == 404
        assert client.ask("DELETE", "/ai-agents/supportAgent").status == 204
        assert client.get("/ai-agents/supportAgent").status == 404
        key = engine.keys.create(tenant_id="local", app_id="ipc", user_id="ada")
        mine = client.with_key(key.token)
        assert mine.post("/ai-agents", SUPPORT).status == 403
