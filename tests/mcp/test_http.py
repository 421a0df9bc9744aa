"""Over streamable HTTP: each request proves with its key whose it is, and nobody reaches what is another's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from mcp import Client

import longmind
from longmind.mcp.server import INSTRUCTIONS
from tests.mcp.clients import over_http
from tests.server.asgi_requests import SECRET, claims, signed
from tests.server.live_server import serving

PATIENCE = 60.0
"""Seconds: the first request has the server load the protocol, which takes its time on a busy machine."""


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=None, jwt_algorithm="HS256", jwt_secret=SECRET) as engine:
        yield engine


@pytest.fixture
def address(engine: longmind.Engine) -> Iterator[str]:
    with serving(engine) as client:
        yield client.address


@pytest.fixture
def ada(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada")


def key_of(engine: longmind.Engine, user: str, tenant: str = "acme", **more: Any) -> str:
    return engine.keys.create(tenant_id=tenant, app_id="support", user_id=user, **more).token


async def text_of(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(tool, arguments)
    return "".join(getattr(each, "text", "") for each in result.content)


@pytest.mark.parametrize("mode", ["legacy", pytest.param("auto", marks=pytest.mark.slow)])
def test_an_agent_remembers_and_recalls_over_http(
    engine: longmind.Engine, ada: longmind.Context, address: str, mode: str
) -> None:
    space = ada.memory.create_memory_space("personal")
    ada.memory.add_atom(space.id, {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}})

    async def talk() -> None:
        async with over_http(address, key_of(engine, "ada"), mode, **{"X-Longmind-Session": "monday"}) as client:
            assert "Ada lives in Graz" in await text_of(client, "recall_by_topic", {"query": "Where does Ada live?"})
            stored = await client.call_tool("memory_store", {"type": "fact", "content": "Ada has a cat."})
            assert stored.structured_content["session_id"] == "monday"
            found = await client.call_tool("memory_search", {"query": "cat"})
            assert [each["content"] for each in found.structured_content["results"]] == ["Ada has a cat."]
            assert "Ada has a cat." in str(await client.get_prompt("memory_brief"))

    anyio.run(talk)
    assert {each.content for each in ada.tools.memory_search().results} == {"Ada has a cat.", "Ada lives in Graz."}


@pytest.mark.conforms("B3.7", "A0.4")
@pytest.mark.parametrize("mode", ["legacy", pytest.param("auto", marks=pytest.mark.slow)])
def test_each_users_session_begins_with_their_own_brief(
    engine: longmind.Engine, ada: longmind.Context, address: str, mode: str
) -> None:
    ada.tools.memory_store("preference", "Prefers short answers.")

    async def read_instructions(user: str) -> str:
        async with over_http(address, key_of(engine, user), mode) as client:
            return str(client.instructions)

    assert "- [preference] Prefers short answers. (0d ago)" in anyio.run(read_instructions, "ada")
    assert anyio.run(read_instructions, "bob") == INSTRUCTIONS


def test_two_users_with_two_keys_see_nothing_of_each_other(
    engine: longmind.Engine, ada: longmind.Context, address: str
) -> None:
    space = ada.memory.create_memory_space("personal")
    secret = ada.memory.add_atom(space.id, {"text": "The vault is green.", "category": {"name": "x", "kind": "FACT"}})

    async def talk() -> None:
        async with over_http(address, key_of(engine, "ada")) as client:
            stored = await client.call_tool("memory_store", {"type": "fact", "content": "The vault code is 4711."})
            await client.call_tool("update_memory", _line("The vault is in Graz."))
        entry = stored.structured_content["id"]
        for key in (key_of(engine, "bob"), key_of(engine, "ada", tenant="other"), signed(sub="bob")):
            async with over_http(address, key) as client:
                told = [
                    await text_of(client, "memory_search", {"query": "vault code"}),
                    await text_of(client, "memory_search", {"include_superseded": True}),
                    await text_of(client, "memory_brief", {"include_provenance": True}),
                    await text_of(client, "recall_by_topic", {"query": "vault"}),
                    await text_of(client, "recall_by_topic", {"query": "vault", "space": space.id}),
                    await text_of(client, "recall_by_entity", {"entity": "vault", "space": "personal"}),
                    await text_of(client, "recall_timeline", {"space": space.id}),
                    await text_of(client, "memory_store", {"type": "fact", "content": "x", "supersedes": entry}),
                    await text_of(client, "memory_delete", {"id": entry}),
                    await text_of(client, "memory_delete", {"id": secret.id}),
                    await text_of(client, "update_memory", {**_line("Mine."), "edit": "replace_all"}),
                    str(await client.get_prompt("memory_brief")),
                    *[str(await client.read_resource(each.uri)) for each in (await client.list_resources()).resources],
                ]
                assert not [each for each in told if any(word in each for word in ("vault", "4711", "green", "Graz"))]

    anyio.run(talk)
    assert ada.memory.get_atom(secret.id) is not None
    assert {each.content for each in ada.tools.memory_search().results} == {
        "The vault code is 4711.",
        "The vault is green.",
    }
    core = ada.blocks.get("core")
    assert core is not None
    assert core.content == "The vault is in Graz."


def _line(line: str) -> dict[str, Any]:
    more = {"line": None, "expected_updated_at": None}
    return {"block_type": "core", "scope": None, "edit": "add_line", "content": line, **more}


def asked_for_tools(address: str, *headers: tuple[str, str]) -> httpx2.Response:
    accept = ("Accept", "application/json, text/event-stream")
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return httpx2.post(f"{address}/mcp", json=asked, headers=[accept, *headers], timeout=PATIENCE)


def bearer(token: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {token}"


def test_whoever_cannot_prove_who_they_are_is_not_answered(engine: longmind.Engine, address: str) -> None:
    good = key_of(engine, "ada")
    of_bob = bearer(key_of(engine, "bob"))
    assert asked_for_tools(address, bearer(good)).status_code == 200
    refused: dict[str, list[tuple[str, str]]] = {
        "no key": [],
        "a wrong key": [bearer(good[:-4] + "0000")],
        "no scheme": [("Authorization", good)],
        "an expired token": [bearer(signed(exp=1))],
        "another secret": [bearer(signed("another secret that is long enough for it"))],
        "alg none": [bearer(jwt.encode(claims(), "", algorithm="none"))],
    }
    for what, headers in refused.items():
        answer = asked_for_tools(address, *headers)
        assert answer.status_code == 401, what
        assert answer.headers["www-authenticate"].startswith("Bearer"), what
        assert answer.headers["content-type"] == "application/problem+json", what
        assert answer.json()["hint"], what
    for what, headers in {
        "another user": [of_bob, ("X-Longmind-User", "ada")],
        "two users": [of_bob, ("X-Longmind-User", "bob"), ("X-Longmind-User", "ada")],
        "two keys": [of_bob, bearer(good)],
    }.items():
        assert asked_for_tools(address, *headers).status_code in (400, 401, 403), what


def test_a_key_that_is_revoked_opens_nothing_from_the_next_request_on(engine: longmind.Engine, address: str) -> None:
    made = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")
    assert asked_for_tools(address, bearer(made.token)).status_code == 200
    engine.keys.revoke(made.token)
    assert asked_for_tools(address, bearer(made.token)).status_code == 401


@pytest.mark.conforms("B1.8")
@pytest.mark.parametrize("mode", ["legacy", pytest.param("auto", marks=pytest.mark.slow)])
def test_an_agent_that_names_no_session_has_one_for_as_long_as_it_is_connected(
    engine: longmind.Engine, address: str, mode: str
) -> None:
    async def talk() -> None:
        sessions: list[set[str]] = []
        for turn in range(2):
            async with over_http(address, key_of(engine, "ada"), mode) as client:
                stored = [
                    (await client.call_tool("memory_store", {"type": "fact", "content": f"Fact {turn}, {number}."}))
                    for number in range(20)
                ]
                sessions.append({each.structured_content["session_id"] for each in stored})
                refused = await text_of(client, "memory_store", {"type": "fact", "content": "More."})
                assert refused.startswith("This session has used up its 20 stores.")
        first, second = sessions
        assert len(first) == len(second) == 1
        assert first != second

    anyio.run(talk)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_no_sessions_to_listen_to_or_to_end(address: str, method: str) -> None:
    answer = httpx2.request(method, f"{address}/mcp", headers={"Accept": "text/event-stream"}, timeout=PATIENCE)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_request_that_is_too_large_is_refused(engine: longmind.Engine, address: str) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 17 * 1024 * 1024 + b'"}'
    headers = dict([bearer(key_of(engine, "ada")), ("Content-Type", "application/json")])
    assert httpx2.post(f"{address}/mcp", content=body, headers=headers, timeout=PATIENCE).status_code == 413
