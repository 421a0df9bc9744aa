"""Memory blocks over HTTP: the shapes they have had from the start, and two ways to say which version is meant."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from tests.server.live_server import Client, serving

CORE = "/api/v1/memory/blocks/core"


def written(client: Client, content: str, expected: str | None, query: str = "") -> dict[str, Any]:
    answer = client.ask("PUT", f"{CORE}{query}", {"content": content, "expected_updated_at": expected})
    assert answer.status == 200, answer.body
    block: dict[str, Any] = answer.json
    return block


@pytest.mark.conforms("C13", "C14", "C15", "C18")
def test_a_block_is_replaced_by_who_has_read_it_last(client: Client) -> None:
    assert client.get(CORE).status == 404
    block = written(client, "Speaks German.", None)
    assert (block["block_type"], block["scope"], block["agent_id"]) == ("core", "user", None)
    taken = client.ask("PUT", CORE, {"content": "Speaks French.", "expected_updated_at": None})
    assert (taken.status, taken.json["current"]) == (409, client.get(CORE).json)
    newer = written(client, "Speaks French.", block["updated_at"])
    late = client.ask("PUT", CORE, {"content": "Speaks Dutch.", "expected_updated_at": block["updated_at"]})
    assert (late.status, late.json["current"]["updated_at"]) == (409, newer["updated_at"])
    assert client.ask("DELETE", CORE).status == 204
    assert client.get(CORE).status == 404
    assert client.ask("PUT", CORE, {"content": "a", "expected_updated_at": newer["updated_at"]}).status == 409


def test_an_entity_tag_guards_a_block_as_the_instant_does(client: Client) -> None:
    made = client.ask("PUT", CORE, {"content": "Speaks German."}, if_none_match="*")
    assert made.status == 200
    tag = made.headers["etag"]
    assert client.get(CORE).headers["etag"] == tag == f'"{made.json["updated_at"]}"'
    changed = client.ask("PUT", CORE, {"content": "Speaks French."}, if_match=tag)
    assert changed.status == 200
    late = client.ask("PUT", CORE, {"content": "Speaks Dutch."}, if_match=tag)
    assert (late.status, late.json["current"]["content"]) == (412, "Speaks French.")
    assert client.ask("DELETE", CORE, if_match=tag).status == 412
    both = {"content": "Speaks Dutch.", "expected_updated_at": made.json["updated_at"]}
    assert client.ask("PUT", CORE, both, if_match=changed.headers["etag"]).status == 400
    assert client.ask("PUT", CORE, {"content": "a"}, if_match="*").status == 400
    for of_another_kind in ('"33a64df5"', '"nobody\'s"'):
        other = client.ask("PUT", CORE, {"content": "a"}, if_match=of_another_kind)
        assert (other.status, other.json["current"]["content"]) == (412, "Speaks French.")
    # To delete what must not be there makes no sense, and must not delete what is there.
    assert client.ask("DELETE", CORE, if_none_match="*").status == 400
    assert client.ask("DELETE", CORE, if_match=changed.headers["etag"]).status == 204


@pytest.mark.conforms("C15", "C16")
def test_an_agents_blocks_are_apart_and_lines_are_recalled_from_both(client: Client) -> None:
    for query, words in (("", "Ada waters the plants."), ("?scope=agent&agent_id=planner", "Plants stand upstairs.")):
        path = f"/api/v1/memory/blocks/archival{query}"
        assert client.ask("PUT", path, {"content": words, "expected_updated_at": None}).status == 200
    listed = client.get("/api/v1/memory/blocks").json
    assert [(each["scope"], each["agent_id"]) for each in listed] == [("user", None), ("agent", "planner")]
    of_user = client.post("/api/v1/memory/recall", {"query": "plants"}).json
    assert [line["content"] for line in of_user] == ["Ada waters the plants."]
    assert set(of_user[0]) >= {"content", "score", "block_type", "scope", "agent_id", "line_number", "updated_at"}
    of_both = client.post("/api/v1/memory/recall", {"query": "plants", "agent_id": "planner"}).json
    assert {line["scope"] for line in of_both} == {"user", "agent"}
    assert client.get("/api/v1/memory/blocks/archival?agent_id=planner").json["scope"] == "agent"


def test_an_older_version_is_restored(client: Client) -> None:
    first = written(client, "Speaks German.", None)
    second = written(client, "Speaks French.", first["updated_at"])
    [old] = client.get(f"{CORE}/revisions").json
    asked = {"revision": old["revision"], "expected_updated_at": second["updated_at"]}
    assert client.post(f"{CORE}/restore", asked).json["content"] == "Speaks German."


@pytest.mark.conforms("C1", "A0.5")
def test_keys_of_apps_that_share_blocks_have_one_set_and_other_keys_see_none_of_it(database_url: str) -> None:
    with (
        longmind.open(database_url, embedder="none", apps_sharing_blocks="support, sales") as engine,
        serving(engine) as client,
    ):

        def enter(app_id: str, tenant_id: str = "acme", user_id: str = "ada") -> Client:
            key = engine.keys.create(tenant_id=tenant_id, app_id=app_id, user_id=user_id)
            return client.with_key(key.token)

        block = written(enter("support"), "Speaks German.", None)
        assert enter("sales").get(CORE).json == block
        for stranger in (enter("billing"), enter("support", "globex"), enter("sales", user_id="bob")):
            assert stranger.get(CORE).status == 404
        # Nothing that a caller sends chooses another app, or the owner of shared blocks.
        for app_id in ("support", "*"):
            key = engine.keys.create(tenant_id="acme", app_id="billing", user_id="ada")
            asked = client.with_key(key.token, **{"x-longmind-app": app_id}).get(CORE)
            assert asked.status in (400, 403), asked.body
        with pytest.raises(longmind.InvalidIdentity):
            engine.keys.create(tenant_id="acme", app_id="*", user_id="ada")
