"""Blocks are read and replaced as a whole, and nobody overwrites what they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import longmind
from longmind.blocks import Blocks
from longmind.clock import to_micros
from tests.clock import SettableClock


@pytest.mark.conforms("C1", "C2", "C5", "C15")
@pytest.mark.parametrize("agent_id", [None, "planner"])
@pytest.mark.parametrize("block_type", ["core", "archival"])
def test_both_types_exist_in_both_scopes(blocks: Blocks, block_type: Any, agent_id: str | None) -> None:
    assert blocks.get(block_type, agent_id=agent_id) is None
    made = blocks.update(block_type, "Likes tea.", None, agent_id=agent_id)

    assert made == blocks.get(block_type, agent_id=agent_id)
    assert made.model_dump() == {
        "id": made.id,
        "block_type": block_type,
        "content": "Likes tea.",
        "scope": "user" if agent_id is None else "agent",
        "agent_id": agent_id,
        "created_at": "2026-03-01T09:30:00.000000Z",
        "updated_at": "2026-03-01T09:30:00.000000Z",
        "version": 1,
    }
    assert made.id.startswith("blk_")
    assert blocks.list() == [made]

    changed = blocks.update(block_type, "Likes coffee.", made.updated_at, agent_id=agent_id)
    assert (changed.content, changed.id, changed.version) == ("Likes coffee.", made.id, 2)
    assert changed.created_at == made.created_at
    assert blocks.list() == [changed]


@pytest.mark.conforms("C13", "C18")
def test_who_has_not_seen_the_last_write_is_told_what_there_is(blocks: Blocks) -> None:
    first = blocks.update("core", "one", None)
    second = blocks.update("core", "two", first.updated_at)
    with pytest.raises(longmind.BlockConflict) as caught:
        blocks.update("core", "three", first.updated_at)
    assert caught.value.status == 409
    assert caught.value.current == second == blocks.get("core")


@pytest.mark.conforms("C14")
def test_to_make_a_block_that_is_there_is_a_conflict(blocks: Blocks) -> None:
    made = blocks.update("core", "one", None)
    with pytest.raises(longmind.BlockConflict) as caught:
        blocks.update("core", "two", None)
    assert caught.value.current == made == blocks.get("core")


@pytest.mark.conforms("C14")
def test_to_change_a_block_that_is_not_there_is_a_conflict(blocks: Blocks) -> None:
    with pytest.raises(longmind.BlockConflict) as caught:
        blocks.update("core", "one", "2026-03-01T09:30:00Z")
    assert caught.value.current is None
    assert blocks.list() == []


@pytest.mark.conforms("C14")
def test_what_was_read_has_to_be_said(blocks: Blocks) -> None:
    update: Any = blocks.update
    with pytest.raises(TypeError, match="expected_updated_at"):
        update("core", "one")


@pytest.mark.conforms("C18", "T16")
def test_updated_at_grows_though_the_clock_stands_or_goes_back(blocks: Blocks, clock: SettableClock) -> None:
    seen = [blocks.update("core", "0", None)]
    for number in range(1, 5):
        clock.advance(0 if number < 3 else -60)
        seen.append(blocks.update("core", str(number), seen[-1].updated_at))
    instants = [to_micros(block.updated_at) for block in seen]
    assert instants == list(range(instants[0], instants[0] + 5))
    for block in seen[:-1]:
        with pytest.raises(longmind.BlockConflict):
            blocks.update("core", "late", block.updated_at)


@pytest.mark.conforms("T16")
def test_a_block_made_anew_is_newer_than_the_one_that_was_deleted(blocks: Blocks, clock: SettableClock) -> None:
    old = blocks.update("core", "old", None)
    blocks.delete("core")
    clock.advance(-60)
    new = blocks.update("core", "new", None)
    assert new.updated_at > old.updated_at
    assert new.version > old.version
    assert new.id != old.id
    with pytest.raises(longmind.BlockConflict):
        blocks.update("core", "late", old.updated_at)


IN_ANOTHER_FORM: list[Callable[[str], Any]] = [
    lambda text: text,
    lambda text: text.replace("Z", "+00:00"),
    # Without a zone it is UTC.
    lambda text: text.removesuffix("Z"),
    lambda text: datetime.fromisoformat(text),
    lambda text: datetime.fromisoformat(text).astimezone(timezone(timedelta(hours=5, minutes=30))),
    lambda text: datetime.fromisoformat(text).astimezone(timezone(timedelta(hours=-8))).isoformat(),
    lambda text: datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None),
    lambda text: text.replace("-", "").replace(":", ""),
]


@pytest.mark.conforms("C18", "T16")
@pytest.mark.parametrize("form", IN_ANOTHER_FORM)
def test_the_same_instant_is_the_same_in_any_form(blocks: Blocks, clock: SettableClock, form: Any) -> None:
    clock.advance(0.123456)
    made = blocks.update("core", "one", None)
    assert blocks.update("core", "two", form(made.updated_at)).version == 2


@pytest.mark.conforms("T16")
@pytest.mark.parametrize("wrong", [1772357400.0, 1772357400, True, "", "soon", "yesterday", b"x"])
def test_what_is_no_instant_is_refused(blocks: Blocks, wrong: Any) -> None:
    made = blocks.update("core", "one", None)
    with pytest.raises(longmind.InvalidInput):
        blocks.update("core", "two", wrong)
    assert blocks.get("core") == made


@pytest.mark.conforms("C15")
def test_blocks_are_listed_by_scope(blocks: Blocks) -> None:
    for agent_id in ("writer", None, "planner"):
        for block_type in ("archival", "core"):
            blocks.update(block_type, "x", None, agent_id=agent_id)

    def listed(*arguments: Any, **named: Any) -> list[tuple[str | None, str]]:
        return [(block.agent_id, block.block_type) for block in blocks.list(*arguments, **named)]

    users = [(None, "core"), (None, "archival")]
    planners, writers = ([(agent, "core"), (agent, "archival")] for agent in ("planner", "writer"))
    assert listed() == listed("all") == users + planners + writers
    assert listed("user") == users
    assert listed("agent") == planners + writers
    assert listed("agent", "planner") == planners
    assert listed(agent_id="writer") == users + writers
    assert listed(agent_id="nobody") == users


@pytest.mark.conforms("C21")
def test_the_scope_of_the_user_takes_no_agent(blocks: Blocks) -> None:
    with pytest.raises(longmind.InvalidInput, match="no agent"):
        blocks.list("user", agent_id="planner")


@pytest.mark.conforms("C5")
def test_an_agent_of_the_context_is_not_meant_unless_it_is_named(engine: longmind.Engine) -> None:
    planner = engine.context(tenant_id="acme", app_id="support", user_id="ada", agent_id="planner").blocks
    made = planner.update("core", "Likes tea.", None)
    assert (made.scope, made.agent_id) == ("user", None)
    assert planner.get("core", agent_id="planner") is None


@pytest.mark.conforms("C5")
@pytest.mark.parametrize("agent_id", ["", "  ", "*", "a\nb", 7, "x" * 256])
def test_what_cannot_be_an_agent_is_refused(blocks: Blocks, agent_id: Any) -> None:
    for call in (
        lambda: blocks.get("core", agent_id=agent_id),
        lambda: blocks.update("core", "x", None, agent_id=agent_id),
        lambda: blocks.recall("x", agent_id=agent_id),
        lambda: blocks.user_memory(agent_id),
        lambda: blocks.set_sleep_time(True, agent_id=agent_id),
    ):
        with pytest.raises(longmind.InvalidIdentity):
            call()
    assert blocks.list() == []


@pytest.mark.conforms("C1")
def test_users_agents_apps_and_tenants_have_their_own(engine: longmind.Engine) -> None:
    whose: list[dict[str, Any]] = [
        {"tenant_id": tenant, "app_id": app, "user_id": user}
        for tenant in ("acme", "other")
        for app in ("support", "sales")
        for user in ("ada", "bob")
    ]
    for owner in whose:
        for agent_id in (None, "planner", "writer"):
            content = f"{owner} {agent_id}"
            engine.context(**owner).blocks.update("core", content, None, agent_id=agent_id)
    for owner in whose:
        own = engine.context(**owner).blocks
        assert [block.content for block in own.list()] == [f"{owner} {agent}" for agent in (None, "planner", "writer")]
        own.delete("core")
    assert engine.context(**whose[0]).blocks.list("user") == []


@pytest.mark.conforms("C15")
def test_a_deleted_block_is_gone_with_what_it_held_before(blocks: Blocks) -> None:
    made = blocks.update("core", "one", None)
    blocks.update("core", "two", made.updated_at)
    kept = blocks.update("core", "of the agent", None, agent_id="planner")
    with pytest.raises(longmind.BlockConflict):
        blocks.delete("core", expected_updated_at=made.updated_at)
    blocks.delete("core")
    assert blocks.get("core") is None
    assert blocks.revisions("core") == []
    assert blocks.list() == [kept]
    with pytest.raises(longmind.NotFound):
        blocks.delete("core")
    assert blocks.update("core", "anew", None).content == "anew"
    assert blocks.revisions("core") == []


def test_every_change_of_a_block_is_told_without_its_words(engine: longmind.Engine, blocks: Blocks) -> None:
    before = engine.last_cursor()
    made = blocks.update("core", "secret one", None, agent_id="planner")
    blocks.update("core", "secret two", made.updated_at, agent_id="planner")
    blocks.delete("core", agent_id="planner")
    changes = list(engine.follow(before))
    assert [change.kind for change in changes] == ["block.created", "block.updated", "block.deleted"]
    assert changes[1].data == {
        "blockId": made.id,
        "version": 2,
        "writtenBy": "app",
        "blockType": "core",
        "agentId": "planner",
    }
    assert "secret" not in repr(changes)


@pytest.mark.parametrize("block_type", ["Core", "", None, 1, "working"])
def test_an_unknown_type_is_refused(blocks: Blocks, block_type: Any) -> None:
    with pytest.raises(longmind.InvalidInput, match="'core' or 'archival'"):
        blocks.get(block_type)
