"""The limits of blocks, at their edges: what is over is refused whole, and nothing is cut."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind.blocks import Blocks

ASTRAL = "\U0001f9e0"


@pytest.mark.conforms("C3", "C4", "C17")
@pytest.mark.parametrize(("block_type", "limit"), [("core", 4_000), ("archival", 8_000)])
@pytest.mark.parametrize("character", ["x", "é", "漢", ASTRAL])
def test_characters_are_counted_as_code_points(blocks: Blocks, block_type: Any, limit: int, character: str) -> None:
    made = blocks.update(block_type, character * limit, None)
    assert blocks.get(block_type) == made
    assert len(made.content) == limit
    with pytest.raises(longmind.LimitExceeded) as caught:
        blocks.update(block_type, character * (limit + 1), made.updated_at)
    assert caught.value.status == 422
    assert f"limited to {limit:,} characters; {limit + 1:,} were given" in caught.value.message
    assert blocks.get(block_type) == made


@pytest.mark.conforms("C3", "C17")
def test_a_core_block_has_twenty_entries_and_blank_lines_are_none(blocks: Blocks) -> None:
    twenty = "\n \n\n".join(f"entry {number}" for number in range(20)) + "\n\n"
    made = blocks.update("core", twenty, None)
    assert (made.content, len(made.entries)) == (twenty, 20)
    with pytest.raises(longmind.LimitExceeded) as caught:
        blocks.update("core", twenty + "one more", made.updated_at)
    assert "limited to 20 entries" in caught.value.message
    assert "21 were given" in caught.value.message
    assert blocks.get("core") == made


@pytest.mark.conforms("C4", "C17")
def test_an_archival_block_may_have_any_number_of_entries(blocks: Blocks) -> None:
    assert len(blocks.update("archival", "\n".join("x" * 4_000), None).entries) == 4_000


@pytest.mark.conforms("C17")
@pytest.mark.parametrize("line_break", ["\r\n", "\r", "\n"])
def test_a_line_break_is_one_character_however_it_came(blocks: Blocks, line_break: str) -> None:
    lines = ["x" * 199] * 20
    made = blocks.update("core", line_break.join(lines) + line_break, None)
    assert made.content == "\n".join(lines) + "\n"
    assert len(made.content) == 4_000
    with pytest.raises(longmind.LimitExceeded, match="4,001 were given"):
        blocks.update("core", line_break.join(lines) + line_break * 2, made.updated_at)


@pytest.mark.conforms("C17")
def test_a_tab_and_a_space_do_not_make_an_entry(blocks: Blocks) -> None:
    assert len(blocks.update("core", "\t\n" * 100 + "one", None).entries) == 1


@pytest.mark.parametrize("content", [None, 7, b"x", ["x"], "a\x00b", "\ud800"])
def test_what_is_no_text_is_refused(blocks: Blocks, content: Any) -> None:
    with pytest.raises(longmind.InvalidInput):
        blocks.update("core", content, None)
    assert blocks.list() == []


def test_an_empty_block_is_a_block(blocks: Blocks) -> None:
    assert blocks.get("core") != blocks.update("core", "", None) == blocks.get("core")
