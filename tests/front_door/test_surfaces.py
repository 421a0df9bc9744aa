"""One memory: what the front door writes is what the engine, the command line, REST and MCP see, and the reverse."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp import Client

import longmind
from tests.cli.command_calls import caller
from tests.mcp.clients import program
from tests.server.live_server import serving

FACT = {"text": "User plays the cello.", "category": {"name": "hobby", "kind": "FACT"}}


def test_the_engine_sees_it_and_is_seen(memory: longmind.Memory, database_url: str) -> None:
    memory.add("I live in Graz.")
    with longmind.open(database_url, embedder=None) as engine:
        ctx = engine.context(tenant_id="local", app_id="ipc", user_id="ada")
        space = ctx.memory.open_default_space()
        assert space == memory.space
        assert [atom.text for atom in ctx.memory.list_atoms(space.id)] == ["User lives in Graz."]
        ctx.memory.add_atom(space.id, FACT)
        conversation = ctx.conversations.create_conversation("chat")
        ctx.conversations.append_user_message(conversation.id, "My sister is called Anna.")
        ctx.conversations.close_conversation(conversation.id)
        engine.work()
    assert {fact.text for fact in memory.facts()} >= {"User lives in Graz.", "User plays the cello."}
    assert len(memory.facts()) == 3


def test_the_command_line_sees_it_and_is_seen(
    memory: longmind.Memory,
    database_url: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LONGMIND_URL", database_url)
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    longmind_command = caller(capsys)
    memory.add("I live in Graz.")
    assert "User lives in Graz." in longmind_command("memory", "list", "--user", "ada").out
    assert longmind_command("memory", "add", "User plays the cello.", "--user", "ada").code == 0
    assert {fact.text for fact in memory.facts()} == {"User lives in Graz.", "User plays the cello."}
    assert len(memory.ctx.memory.list_memory_spaces()) == 1


def test_a_server_for_one_user_sees_it_and_is_seen(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGMIND_USER", "ada")
    with longmind.Memory(url=database_url, embedder=None) as memory, serving(memory.engine) as client:
        memory.add("I live in Graz.")
        space = client.post("/ai-memory/default-space", {}).json
        assert space["id"] == memory.space.id
        listed = client.get(f"/ai-memory/spaces/{space['id']}/atoms").json
        assert "User lives in Graz." in json.dumps(listed)
        assert client.post(f"/ai-memory/spaces/{space['id']}/atoms", FACT).status == 201
        said: dict[str, Any] = {
            "namespace": "chat",
            "messages": [{"role": "user", "content": "My name is Ada."}],
            "extract": True,
        }
        jobs = client.post("/ai-conversations/messages", said).json["jobs"]
        assert client.post(f"/jobs/{jobs[0]['id']}/run", {}).json["status"] == "succeeded"
        assert {fact.text for fact in memory.facts()} == {
            "User lives in Graz.",
            "User plays the cello.",
            "User's name is Ada.",
        }


def test_an_agent_over_mcp_sees_it_and_is_seen(memory: longmind.Memory, database_url: str) -> None:
    memory.add("I live in Graz.")

    async def talk() -> None:
        async with Client(program(database_url, "--user", "ada")) as client:
            found = await client.call_tool("memory_search", {"query": "Graz"})
            assert "User lives in Graz." in "".join(getattr(each, "text", "") for each in found.content)
            found = await client.call_tool("recall_by_topic", {"query": "Graz"})
            assert "User lives in Graz" in "".join(getattr(each, "text", "") for each in found.content)
            await client.call_tool("memory_store", {"type": "fact", "content": "User plays the cello."})

    anyio.run(talk)
    assert {fact.text for fact in memory.facts()} == {"User lives in Graz.", "User plays the cello."}
    assert len(memory.ctx.memory.list_memory_spaces()) == 1
