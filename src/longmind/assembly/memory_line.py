"""What memory blocks say in a prompt: their lines, each harmless, and what they are told as."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.assembly.sanitiser import sanitise
from longmind.assembly.sections import Piece
from longmind.models.block import BlockScope

CORE_TITLES: dict[BlockScope, str] = {"user": "About the user", "agent": "About the user, for this agent"}
ARCHIVAL_TITLE = "What archival memory has on this"


def shown_line(line: str) -> str:
    """A line as a model sees it, without the mark of a list that it may have already."""
    return sanitise(line).removeprefix("- ").strip()


def shown_lines(lines: Iterable[str]) -> list[str]:
    """Lines as a model sees them, without those in which there is nothing to see."""
    return [shown for shown in map(shown_line, lines) if shown]


def make_line_pieces(title: str, lines: Iterable[str]) -> list[Piece]:
    """Lines of a block, each of which may be left out of a prompt alone."""
    return [Piece({"title": title, "text": text}) for text in shown_lines(lines)]
