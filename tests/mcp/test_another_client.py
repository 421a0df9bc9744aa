"""A client that is not of the official SDK and shares no code with it: chuk-mcp, over both transports."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import anyio
import pytest

import longmind
from tests.mcp.clients import program
from tests.server.live_server import serving

pytest.importorskip("chuk_mcp", reason="chuk-mcp is not installed")


async def remember(transport: Any) -> None:
    client = import_module("chuk_mcp.client.client").MCPClient(transport)
    await client.initialize()
    assert {"memory_store", "recall_by_topic", "update_memory"} <= {tool.name for tool in await client.list_tools()}
    stored = await client.call_tool("memory_store", {"type": "preference", "content": "Ada prefers short answers."})
    assert not stored.isError
    found = await client.call_tool("memory_search", {"query": "answers"})
    assert "Ada prefers short answers." in found.content[0]["text"]
    wrong = await client.call_tool("memory_search", {"limit": 1000})
    assert wrong.isError
    assert "limit: Input should be less than or equal to 100" in wrong.content[0]["text"]
    skill = await client.read_resource("longmind://skill")
    assert "# Memory tools" in skill.contents[0].text
    brief = await client.get_prompt("memory_brief")
    assert "Ada prefers short answers." in str(brief)


@pytest.mark.slow
def test_it_remembers_through_the_program(sqlite_url: str) -> None:
    stdio = import_module("chuk_mcp.transports.stdio")

    async def talk() -> None:
        started = program(sqlite_url, "--user", "ada")
        how = stdio.StdioParameters(command=started.command, args=started.args, env=started.env)
        async with stdio.StdioTransport(how) as transport:
            await remember(transport)

    anyio.run(talk)


def test_it_remembers_over_http_with_a_key(sqlite_url: str) -> None:
    http = import_module("chuk_mcp.transports.http")

    async def talk(address: str, key: str) -> None:
        parameters = http.StreamableHTTPParameters(url=f"{address}/mcp", bearer_token=key)
        async with http.StreamableHTTPTransport(parameters) as transport:
            await remember(transport)

    with longmind.open(sqlite_url, embedder=None) as engine, serving(engine) as server:
        key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada").token
        anyio.run(talk, server.address, key)
