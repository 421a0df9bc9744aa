"""One memory behind every surface: whichever is used first, the others find what it was told."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from mcp import Client as McpClient

import longmind
from longmind.mcp.server import make_server
from longmind.settings import load_caller
from tests.cli.command_calls import Call, caller
from tests.server.live_server import Client, serving

FACT = "Ada keeps bees."
SURFACES = ("command line", "ipc", "mcp", "rest", "python")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], database_url: str, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("LONGMIND_URL", database_url)
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    return caller(capsys)


@pytest.fixture
def engine(call: Call, database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=None) as engine:
        yield engine


@pytest.fixture
def server(engine: longmind.Engine) -> Iterator[Client]:
    """A server in single-user mode."""
    with serving(engine) as client:
        yield client


@pytest.fixture
def ctx(engine: longmind.Engine) -> longmind.Context:
    """The context that `longmind mcp` makes."""
    own = load_caller({})
    return engine.context(tenant_id=own.tenant, app_id=own.app, user_id=own.user)


def use_mcp(ctx: longmind.Context, tool: str, arguments: dict[str, Any]) -> str:
    async def talk() -> str:
        async with McpClient(make_server(lambda _: ctx)) as client:
            result = await client.call_tool(tool, arguments)
            return " ".join(getattr(each, "text", "") for each in result.content)

    return anyio.run(talk)


@pytest.mark.parametrize("first", SURFACES)
def test_what_one_surface_was_told_all_find(
    call: Call, server: Client, ctx: longmind.Context, database_url: str, first: str
) -> None:
    note = {"type": "fact", "content": FACT}
    fact = {"text": FACT, "category": {"name": "pets", "kind": "FACT"}}

    def use_rest() -> None:
        space = server.post("/ai-memory/default-space", {}).json["id"]
        assert server.post(f"/ai-memory/spaces/{space}/atoms", fact).status in (200, 201)

    def use_python() -> None:
        with longmind.Memory(url=database_url, embedder=None) as memory:
            memory.add(FACT, key="bees")

    tell: dict[str, Callable[[], object]] = {
        "command line": lambda: call("memory", "add", FACT),
        "ipc": lambda: call("tool", "memory_store", json.dumps(note)),
        "mcp": lambda: use_mcp(ctx, "memory_store", note),
        "rest": use_rest,
        "python": use_python,
    }
    tell[first]()
    with longmind.Memory(url=database_url, embedder=None) as memory:
        assert [item.text for item in memory.search("bees", quotes=False)] == [FACT]
        assert len(memory.ctx.memory.list_memory_spaces()) == 1
    assert FACT in call("search", "bees").out
    assert FACT in call("tool", "memory_search", "query=bees").out
    assert "Ada keeps bees" in use_mcp(ctx, "recall_by_topic", {"query": "bees"})
    assert FACT in use_mcp(ctx, "memory_search", {"query": "bees"})
    space = server.post("/ai-memory/default-space", {}).json["id"]
    assert FACT in server.post(f"/ai-memory/spaces/{space}/recall/topic", {"query": "bees"}).body.decode()
    assert FACT in server.post("/tools/memory_search", {"query": "bees"}).body.decode()


@pytest.mark.conforms("B1.8")
def test_over_rest_a_connection_is_a_session_of_the_memory_tools(server: Client) -> None:
    where = urlsplit(server.address)

    def store(connection: http.client.HTTPConnection, number: int) -> tuple[int, Any]:
        body = json.dumps({"type": "fact", "content": f"Fact {number}."})
        connection.request("POST", "/tools/memory_store", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    sessions = set()
    for round in range(2):
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
        try:
            stored = [store(connection, 100 * round + number) for number in range(20)]
            assert {status for status, _ in stored} == {200}
            sessions |= {entry["session_id"] for _, entry in stored}
            assert store(connection, 100 * round + 20)[0] == 429
        finally:
            connection.close()
    assert len(sessions) == 2
