"""Entries of one group, user and tenant are nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from tests.tools.conftest import OWNER
from tests.tools.test_storing import contents, refusal

OTHERS: dict[str, dict[str, Any]] = {
    "another group": {**OWNER, "group": "others"},
    "another user": {**OWNER, "user_id": "bob"},
    "another tenant": {**OWNER, "tenant_id": "umbrella"},
    "another app": {**OWNER, "app_id": "sales"},
}


@pytest.mark.conforms("B5.3")
@pytest.mark.parametrize("who", OTHERS)
def test_entries_of_others_are_neither_found_nor_changed(engine: longmind.Engine, who: str) -> None:
    ours = engine.context(**OWNER, session_id="s").tools
    theirs = engine.context(**OTHERS[who], session_id="s").tools
    entry = ours.memory_store("fact", "Uses macOS.", tags=["os"])
    for found in (theirs.memory_search(), theirs.memory_search("macOS"), theirs.memory_search(tags=["os"])):
        assert found.results == []
    assert (theirs.memory_brief().entry_count, theirs.session_brief()) == (0, "")
    assert refusal(theirs, "memory_delete", {"id": entry.id}).code == "HANDLER_ERROR"
    error = refusal(theirs, "memory_store", {"type": "fact", "content": "Mine.", "supersedes": entry.id})
    assert error.message == f"Entry {entry.id!r} not found."
    assert contents(ours.memory_search()) == ["Uses macOS."]
    assert {line.outcome for line in ours.audit()} == {"routed"}


@pytest.mark.conforms("B5.3")
@pytest.mark.parametrize("who", OTHERS)
def test_the_quota_of_others_is_their_own(engine: longmind.Engine, who: str) -> None:
    ours = engine.context(**OWNER, session_id="s").tools
    theirs = engine.context(**OTHERS[who], session_id="s").tools
    for number in range(20):
        ours.memory_store("fact", f"Fact {number}")
    assert refusal(ours, "memory_store", {"type": "fact", "content": "More."}).code == "RATE_LIMITED"
    assert theirs.memory_store("fact", "Ours.")


def test_without_a_group_it_is_the_one_called_default(engine: longmind.Engine) -> None:
    engine.context(**OWNER).tools.memory_store("fact", "Uses macOS.")
    named = engine.context(**OWNER, group="default").tools
    assert contents(named.memory_search()) == ["Uses macOS."]


def test_other_memory_of_the_user_is_not_the_groups(engine: longmind.Engine, ctx: longmind.Context) -> None:
    space = ctx.memory.create_memory_space("default")
    atom = ctx.memory.add_atom(space.id, {"text": "Mine alone.", "category": {"name": "x", "kind": "FACT"}})
    team = engine.context(**OWNER, group="team").tools
    assert team.memory_search("alone").results == []
    assert refusal(team, "memory_delete", {"id": atom.id}).code == "HANDLER_ERROR"
    assert ctx.memory.get_atom(atom.id) is not None


@pytest.mark.conforms("B2.1", "B4.1")
def test_without_a_group_the_tools_and_all_else_share_the_default_space(ctx: longmind.Context) -> None:
    entry = ctx.tools.memory_store("fact", "Ada has a bird.")
    space = ctx.memory.open_default_space()
    ctx.memory.add_atom(space.id, {"text": "Ada has a cat.", "category": {"name": "pets", "kind": "FACT"}})
    assert {hit.atom.text for hit in ctx.memory.recall_by_topic(space.id, "pets of Ada").hits} == {
        "Ada has a bird.",
        "Ada has a cat.",
    }
    assert contents(ctx.tools.memory_search()) == ["Ada has a cat.", "Ada has a bird."]
    assert ctx.tools.memory_brief().entry_count == 2
    # A fact of the user does not go without consent; the agent's own note does.
    cat = ctx.tools.memory_search("cat").results[0].id
    assert refusal(ctx.tools, "memory_delete", {"id": cat}).code == "CONFIRMATION_DENIED"
    assert ctx.tools.memory_delete(entry.id).deleted
    assert len(ctx.memory.list_memory_spaces()) == 1


def test_tools_keep_a_space_of_their_own_where_no_space_is_the_default(ctx: longmind.Context) -> None:
    for name in ("home", "work"):
        ctx.memory.create_memory_space(name)
    ctx.tools.memory_store("fact", "Ada has a bird.")
    assert ("group", "default") in {(each.kind, each.name) for each in ctx.memory.list_memory_spaces()}
    # It stays theirs, as in databases from before the space was shared.
    ctx.memory.create_memory_space("default")
    assert contents(ctx.tools.memory_search()) == ["Ada has a bird."]


@pytest.mark.conforms("B5.3")
@pytest.mark.parametrize(
    "group", ["-team", "_team", "team one", "../team", "team/one", "t\u00e9am", "team\u200b", "a.b"]
)
def test_a_group_has_a_plain_name(engine: longmind.Engine, group: str) -> None:
    tools = engine.context(**OWNER, group=group).tools
    for call in (tools.memory_search, tools.memory_brief, tools.audit, lambda: tools.memory_store("fact", "x")):
        with pytest.raises(longmind.ToolError) as caught:
            call()
        assert (caught.value.code, caught.value.field) == ("VALIDATION_FAILED", "group")
    assert tools.session_brief() == ""


@pytest.mark.parametrize("group", ["a", "9", "Team-1_b", "A" * 255])
def test_plain_names_are_fine(engine: longmind.Engine, group: str) -> None:
    assert engine.context(**OWNER, group=group).tools.memory_store("fact", "x").group == group


def test_a_space_that_was_put_away_is_made_anew(ctx: longmind.Context) -> None:
    ctx.tools.memory_store("fact", "Uses macOS.")
    (space,) = ctx.memory.list_memory_spaces()
    ctx.memory.delete_memory_space(space.id)
    assert ctx.tools.memory_brief().entry_count == 0
    ctx.tools.memory_store("fact", "Uses Linux.")
    assert contents(ctx.tools.memory_search()) == ["Uses Linux."]
