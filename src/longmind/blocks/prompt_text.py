"""Text of blocks for prompts: sanitised lines, under a notice that they are suggestions and no commands."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.assembly.memory_line import ARCHIVAL_TITLE, CORE_TITLES, sanitise_lines
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.assembly.stated_lines import StatedLines
from longmind.models.block import Block, BlockLine

USER_MEMORY = "user_memory"


def build_user_memory(blocks: Sequence[Block], prompt: str = "") -> str:
    """Return the section with core memory; empty if there is none.

    Leaves out a block of which the prompt states every line. Any other stays whole, so that a model which replaces it
    sees all of it.
    """
    stated = StatedLines(prompt) if prompt and blocks else None
    shown = [block for block in blocks if stated is None or not stated.has_all(sanitise_lines(block.entries))]
    sections = "\n".join(section for section in map(_format_block, shown) if section)
    return f"<{USER_MEMORY}>\n{SUGGESTIONS_NOTICE}\n{sections}\n</{USER_MEMORY}>" if sections else ""


def build_reminder(lines: Sequence[BlockLine]) -> str:
    """Return the note that accompanies a message of the user with related archival memory; empty without lines.

    It has no tags around it: the prompt decides how to set off what the application adds.
    """
    entries = format_lines([line.content for line in lines])
    return f"{SUGGESTIONS_NOTICE}\n{ARCHIVAL_TITLE}:\n{entries}" if entries else ""


def format_lines(lines: Sequence[str]) -> str:
    """Return lines of memory as a sanitised list, which cannot be taken for anything else in a prompt."""
    return "\n".join(f"- {line}" for line in sanitise_lines(lines))


def _format_block(block: Block) -> str:
    lines = format_lines(block.entries)
    # A model has to pass this time when it replaces the whole block.
    return f"{CORE_TITLES[block.scope]} (core, updated_at {block.updated_at}):\n{lines}" if lines else ""
