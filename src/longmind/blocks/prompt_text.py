"""How blocks reach a model: as data, each line harmless, under the notice that they are suggestions."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.assembly.memory_line import ARCHIVAL_TITLE, CORE_TITLES, shown_lines
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.models.block import Block, BlockLine

USER_MEMORY = "user_memory"


def user_memory_of(blocks: Sequence[Block]) -> str:
    """The section with core memory, or nothing where there is none."""
    sections = "\n".join(section for section in map(_section, blocks) if section)
    return f"<{USER_MEMORY}>\n{SUGGESTIONS_NOTICE}\n{sections}\n</{USER_MEMORY}>" if sections else ""


def reminder_of(lines: Sequence[BlockLine]) -> str:
    """What is put beside a message of the user that brings archival memory to mind, or nothing.

    It stands between no tags: how a prompt sets off what the application says is for the prompt to decide.
    """
    told = listed([line.content for line in lines])
    return f"{SUGGESTIONS_NOTICE}\n{ARCHIVAL_TITLE}:\n{told}" if told else ""


def listed(lines: Sequence[str]) -> str:
    """Lines of memory as a list that can be nothing else."""
    return "\n".join(f"- {line}" for line in shown_lines(lines))


def _section(block: Block) -> str:
    lines = listed(block.entries)
    # The time is what a model has to name when it replaces the whole block.
    return f"{CORE_TITLES[block.scope]} (core, updated_at {block.updated_at}):\n{lines}" if lines else ""
