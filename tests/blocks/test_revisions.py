"""Whatever a block held before can be had back."""

from __future__ import annotations

import pytest

import longmind
from longmind.blocks import Blocks
from longmind.store.tables.blocks import MARKED_REVISIONS_KEPT, REVISIONS_KEPT
from tests.blocks.model_calls import update_memory


@pytest.mark.conforms("T17")
def test_every_replacement_keeps_what_was_there(blocks: Blocks) -> None:
    made = [blocks.update("core", "0", None)]
    for number in range(1, 4):
        made.append(blocks.update("core", str(number), made[-1].updated_at))
    found = blocks.revisions("core")
    assert [(each.revision, each.content) for each in found] == [(3, "2"), (2, "1"), (1, "0")]
    assert [each.updated_at for each in found] == [block.updated_at for block in reversed(made[:-1])]
    assert [each.replaced_at for each in found] == [block.updated_at for block in reversed(made[1:])]
    assert not any(each.shrunk for each in found)


@pytest.mark.conforms("T17")
def test_a_revision_is_restored_by_compare_and_set(blocks: Blocks) -> None:
    first = blocks.update("archival", "one", None, agent_id="planner")
    second = blocks.update("archival", "two", first.updated_at, agent_id="planner")
    with pytest.raises(longmind.BlockConflict):
        blocks.restore("archival", 1, first.updated_at, agent_id="planner")
    with pytest.raises(longmind.NotFound):
        blocks.restore("archival", 2, second.updated_at, agent_id="planner")
    with pytest.raises(longmind.NotFound):
        blocks.restore("archival", 1, None)
    restored = blocks.restore("archival", 1, second.updated_at, agent_id="planner")
    assert (restored.content, restored.version, restored.id) == ("one", 3, first.id)
    assert [each.content for each in blocks.revisions("archival", agent_id="planner")] == ["two", "one"]


@pytest.mark.conforms("T17")
def test_so_many_revisions_are_kept_and_no_more(blocks: Blocks) -> None:
    block = blocks.update("core", "0", None)
    for number in range(1, REVISIONS_KEPT + 6):
        block = blocks.update("core", str(number), block.updated_at)
    kept = blocks.revisions("core", limit=REVISIONS_KEPT + MARKED_REVISIONS_KEPT)
    assert [each.revision for each in kept] == list(range(REVISIONS_KEPT + 5, 5, -1))


@pytest.mark.conforms("T17")
def test_when_a_model_wipes_a_block_what_was_there_is_marked_and_outlives_the_rest(
    ctx: longmind.Context, blocks: Blocks
) -> None:
    good = "Allergic to nuts.\nLives in Graz.\nPrefers tea."
    block = blocks.update("core", good, None)
    answer = update_memory(ctx, content="Prefers tea.", expected_updated_at=block.updated_at)
    assert "less than half" in answer
    (marked,) = blocks.revisions("core")
    assert (marked.content, marked.shrunk) == (good, True)

    wiped = blocks.get("core")
    for number in range(REVISIONS_KEPT + 1):
        assert wiped is not None
        wiped = blocks.update("core", f"Prefers tea. {number}", wiped.updated_at)
    assert wiped is not None
    assert [each.content for each in blocks.revisions("core", limit=120) if each.shrunk] == [good]
    assert blocks.restore("core", marked.revision, wiped.updated_at).content == good


@pytest.mark.conforms("T17")
def test_what_the_app_cuts_it_means_to_cut(blocks: Blocks) -> None:
    block = blocks.update("core", "x" * 100, None)
    blocks.update("core", "x", block.updated_at)
    assert [each.shrunk for each in blocks.revisions("core")] == [False]


def test_who_wrote_a_revision_is_told(ctx: longmind.Context, blocks: Blocks) -> None:
    block = blocks.update("core", "one", None)
    update_memory(ctx, content="two", expected_updated_at=block.updated_at)
    update_memory(ctx, edit="add_line", content="three")
    assert [each.written_by for each in blocks.revisions("core")] == ["tool", "app"]
