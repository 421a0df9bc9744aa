"""The section of a working context with the lines of memory blocks: core memory, then archival lines on the query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from longmind.assembly.memory_line import ARCHIVAL_TITLE, CORE_TITLES, make_line_pieces
from longmind.assembly.sections import Piece, Section
from longmind.clock import Micros
from longmind.models.block import Block, BlockLine, MemoryPolicy


class ContextBlocks(Protocol):
    """The operations on memory blocks that a working context needs."""

    def choose_agent(self, agent_id: str | None) -> str | None: ...

    def read_core(self, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None) -> list[Block]: ...

    def find_reminders(
        self, text: str, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None
    ) -> list[BlockLine]: ...


def make_user_memory_section(core: Iterable[Block], archival: Iterable[BlockLine], said: Iterable[Piece]) -> Section:
    """Return the section with the lines of blocks, the most important first.

    Each line stands once, and not at all if another section shows it in the same words (`said`).
    """
    lines = [piece for block in core for piece in make_line_pieces(CORE_TITLES[block.scope], block.entries)]
    lines += make_line_pieces(ARCHIVAL_TITLE, (line.content for line in archival))
    once: dict[str, Piece] = {}
    for piece in lines:
        once.setdefault(normalise_wording(piece), piece)
    elsewhere = set(map(normalise_wording, said))
    return Section("user_memory", "lines", tuple(piece for words, piece in once.items() if words not in elsewhere))


def normalise_wording(piece: Piece) -> str:
    """Return the text of a line in the form by which lines are compared."""
    return str(piece.fields["text"]).casefold()
