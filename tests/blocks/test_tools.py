"""The tools by which a model keeps and finds memory."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import longmind
from longmind.blocks import Blocks
from tests.blocks.model_calls import archival, core, recall_memory, tools, update_memory


@pytest.mark.conforms("C12")
def test_a_model_makes_a_block_and_is_told_when_it_was_written(ctx: longmind.Context, blocks: Blocks) -> None:
    answer = update_memory(ctx, edit="replace_all", content="Likes tea.", expected_updated_at=None)
    block = blocks.get("core")
    assert block is not None
    assert block.content == "Likes tea."
    assert answer.startswith("Done.")
    assert block.updated_at in answer


@pytest.mark.conforms("C12", "C13")
def test_a_model_that_is_late_is_shown_what_there_is(ctx: longmind.Context, blocks: Blocks) -> None:
    first = blocks.update("core", "Likes tea.", None)
    second = blocks.update("core", "Likes coffee.", first.updated_at)
    for late in (None, first.updated_at):
        answer = update_memory(ctx, content="Likes milk.", expected_updated_at=late)
        assert answer.startswith("Not done.")
        assert second.updated_at in answer
        assert "- Likes coffee." in answer
    assert blocks.get("core") == second
    assert update_memory(ctx, content="Likes milk.", expected_updated_at=second.updated_at).startswith("Done.")


@pytest.mark.conforms("C12", "C14")
def test_a_model_that_does_not_say_what_it_has_read_is_told_to(ctx: longmind.Context, blocks: Blocks) -> None:
    assert "expected_updated_at is missing" in update_memory(ctx, content="Likes milk.")
    assert blocks.list() == []


@pytest.mark.conforms("C12")
def test_lines_are_added_replaced_and_removed_and_the_rest_stays(ctx: longmind.Context) -> None:
    for line in ("Likes tea.", "Lives in <Graz>.", "Likes tea."):
        assert update_memory(ctx, edit="add_line", content=line).startswith("Done.")
    assert core(ctx) == ["Likes tea.", "Lives in <Graz>."]
    # Named as it stands in the prompt.
    answer = update_memory(ctx, edit="replace_line", line="- Lives in &lt;Graz&gt;.", content="Lives in\nOslo.")
    assert answer.startswith("Done.")
    assert core(ctx) == ["Likes tea.", "Lives in Oslo."]
    assert update_memory(ctx, edit="remove_line", line="Likes tea.").startswith("Done.")
    assert core(ctx) == ["Lives in Oslo."]
    assert "Copy the line exactly" in update_memory(ctx, edit="remove_line", line="Likes tea.")


def test_lines_that_a_model_only_copies_stay_as_they_were(ctx: longmind.Context, blocks: Blocks) -> None:
    block = blocks.update("core", "Uses <b> & {{x}}.\nLikes tea.", None)
    shown = [line.removeprefix("- ") for line in blocks.user_memory().splitlines() if line.startswith("- ")]
    answer = update_memory(
        ctx, content="\n".join([f"- {shown[0]}", "Likes milk."]), expected_updated_at=block.updated_at
    )
    assert answer.startswith("Done.")
    assert core(ctx) == ["Uses <b> & {{x}}.", "Likes milk."]


@pytest.mark.conforms("C12")
def test_the_scope_of_the_agent_is_there_where_an_agent_is(ctx: longmind.Context, engine: longmind.Engine) -> None:
    assert update_memory(ctx, "planner", scope="agent", edit="add_line", content="Books aisle seats.") != ""
    assert (core(ctx), core(ctx, "planner")) == ([], ["Books aisle seats."])
    assert "scope is 'agent'" in update_memory(ctx, scope="agent", edit="add_line", content="x")
    planner = engine.context(tenant_id="acme", app_id="support", user_id="ada", agent_id="planner")
    update_memory(planner, scope="agent", edit="add_line", content="Asks first.")
    update_memory(planner, edit="add_line", content="Likes tea.")
    assert (core(ctx), core(ctx, "planner")) == (["Likes tea."], ["Books aisle seats.", "Asks first."])


@pytest.mark.conforms("C7")
def test_a_model_recalls_archival_memory(ctx: longmind.Context, blocks: Blocks) -> None:
    assert recall_memory(ctx, query="tyres") == "Archival memory has nothing about this."
    blocks.update("archival", "Favourite film is Alien", None)
    blocks.update("archival", "Volvo needs new tyres", None, agent_id="garage")
    assert "- [user, line 1] Favourite film is Alien" in recall_memory(ctx, query="film")
    assert "tyres" not in recall_memory(ctx, query="")
    assert "- [agent, line 1] Volvo needs new tyres" in recall_memory(ctx, "garage", query="tyres", limit=None)


@pytest.mark.conforms("C9")
def test_tools_work_whatever_the_policy_says_of_prompts(ctx: longmind.Context, blocks: Blocks) -> None:
    update_memory(ctx, block_type="archival", edit="add_line", content="Favourite film is Alien")
    assert archival(ctx) == ["Favourite film is Alien"]
    assert blocks.reminders("film", policy={"archival_mode": "off"}) == []
    assert "Alien" in recall_memory(ctx, query="film")


WRONG: list[dict[str, Any]] = [
    {"block_type": "working", "edit": "add_line", "content": "x"},
    {"edit": "append", "content": "x"},
    {"edit": "add_line"},
    {"edit": "add_line", "content": 7},
    {"edit": "add_line", "content": " \n "},
    {"edit": "replace_line", "content": "x"},
    {"edit": "remove_line", "line": None},
    {"edit": "replace_all", "content": None, "expected_updated_at": None},
    {"edit": "replace_all", "content": "x", "expected_updated_at": "soon"},
    {"edit": "replace_all", "content": "x" * 4_001, "expected_updated_at": None},
    {"edit": "add_line", "content": "x" * 4_001},
    {"edit": "add_line", "content": "a\x00b"},
    {"edit": "add_line", "content": "x", "scope": "everybody"},
    {"edit": "add_line", "content": "x", "user_id": "bob"},
]


@pytest.mark.parametrize("given", WRONG)
def test_a_model_that_asks_wrongly_is_told_what_to_do(ctx: longmind.Context, given: dict[str, Any]) -> None:
    answer = update_memory(ctx, **given)
    assert answer.startswith("Not done. ")
    assert len(answer) > 40
    assert ctx.blocks.list() == []


@pytest.mark.parametrize(
    "given", [{}, {"query": 7}, {"query": "x", "limit": 0}, {"query": "x", "limit": "3"}, {"q": "x"}]
)
def test_a_model_that_recalls_wrongly_is_told_what_to_do(ctx: longmind.Context, given: dict[str, Any]) -> None:
    assert recall_memory(ctx, **given).startswith("Not done. ")


def test_the_schemas_are_strict(ctx: longmind.Context) -> None:
    for bound in tools(ctx, "planner").values():
        schema = bound.tool.parameters
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == set(schema["properties"])
        assert bound.tool.description
    scope_of = {agent: tools(ctx, agent)["update_memory"].tool.parameters for agent in (None, "planner")}
    assert scope_of[None]["properties"]["scope"]["enum"] == ["user", None]
    assert scope_of["planner"]["properties"]["scope"]["enum"] == ["user", "agent", None]


@pytest.mark.conforms("C12", "T17")
def test_lines_that_many_models_add_at_once_are_all_there(ctx: longmind.Context) -> None:
    def add(name: int) -> None:
        for number in range(5):
            answer = update_memory(ctx, block_type="archival", edit="add_line", content=f"{name}.{number}")
            assert answer.startswith("Done."), answer

    threads = [threading.Thread(target=add, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(archival(ctx)) == sorted(f"{name}.{number}" for name in range(8) for number in range(5))
