"""Plants words from outside: as requests with a key, as an agent over MCP, and as somebody at the command line."""

from __future__ import annotations

import json

import anyio

import longmind
from harness.operation_calls import make_http_call
from tests.admin.conftest import run_here
from tests.admin.planted_words import Words, plant
from tests.mcp import clients as mcp
from tests.server.live_server import serving


def plant_from_outside(engine: longmind.Engine, url: str, user_id: str, word: Words) -> set[str]:
    """Gives the operations that were called over HTTP, and where words were given to them."""
    key = engine.keys.create(tenant_id="acme", app_id="support", user_id=user_id, name=word()).token
    headers = {f"X-Longmind-{name}": word() for name in ("Agent", "Group", "Session", "Run", "Client")}
    with serving(engine) as client:
        planted = plant(engine, make_http_call(client.with_key(key, **headers)), user_id, word, models=False)
        anyio.run(_as_an_agent, client.address, key, word)
    _at_the_command_line(url, user_id, word)
    return planted


async def _as_an_agent(address: str, key: str, word: Words) -> None:
    async with mcp.over_http(address, key, **{"X-Longmind-Session": word(), "X-Longmind-Agent": word()}) as agent:

        async def call(tool: str, **arguments: object) -> None:
            result = await agent.call_tool(tool, arguments)
            assert not result.is_error, result

        await call("memory_store", type="fact", content=word.sentence(), tags=[word()])
        await call("memory_search", query=word())
        line = {"edit": "add_line", "content": word(), "line": None, "expected_updated_at": None}
        await call("update_memory", block_type="archival", scope=None, **line)
        await agent.get_prompt("memory_brief")


def _at_the_command_line(url: str, user_id: str, word: Words) -> None:
    whose = ("--url", url, "--user", user_id, "--session", word(), "--group", word(), "--agent", word())

    def run(*arguments: str) -> str:
        done = run_here(*arguments, *whose)
        assert done.returncode == 0, done
        return done.stdout.strip()

    talk = json.loads(run("conversations", "create", word(), "--title", word(), "--json"))["id"]
    run("conversations", "append", talk, word.sentence(), "--key", word())
    run("conversations", "turn", talk, word(), word())
    run("memory", "create", space := word())
    run("memory", "bind", word(), "--space", space)
    run("memory", "add", word.sentence(), "--space", space, "--category", word(), "--tag", word())
    run("events", "record", word(), word(), "--data", json.dumps({word(): word()}), "--tag", word(), "--stage", word())
    run("events", "state", word(), "--set", json.dumps({word(): word()}))
    run("blocks", "write", "archival", word(), "--scope", "agent")
    named = ("--url", url, "--tenant", "acme", "--app", "support", "--user", user_id, "--name", word())
    assert run_here("keys", "create", *named).returncode == 0
