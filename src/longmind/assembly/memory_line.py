"""Lines of memory blocks as prompts show them: sanitised, under a title."""

from __future__ import annotations

from collections.abc import Iterable

from longmind.assembly.sanitiser import sanitise
from longmind.assembly.sections import Piece
from longmind.models.block import BlockScope

CORE_TITLES: dict[BlockScope, str] = {"user": "About the user", "agent": "About the user, for this agent"}
ARCHIVAL_TITLE = "What archival memory has on this"


def sanitise_line(line: str) -> str:
    """Return a sanitised line without its list marker."""
    return sanitise(line).removeprefix("- ").strip()


def sanitise_lines(lines: Iterable[str]) -> list[str]:
    """Return sanitised lines without those that are empty then."""
    return [shown for shown in map(sanitise_line, lines) if shown]


def make_line_pieces(title: str, lines: Iterable[str]) -> list[Piece]:
    """Return one piece per line of a block, so that each may be dropped alone."""
    return [Piece({"title": title, "text": text}) for text in sanitise_lines(lines)]
