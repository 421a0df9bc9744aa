"""The section of a context with what memory blocks hold: core memory, and what archival memory has on the query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from longmind.assembly.memory_line import ARCHIVAL_TITLE, CORE_TITLES, make_line_pieces
from longmind.assembly.sections import Piece, Section
from longmind.clock import Micros
from longmind.models.block import Block, BlockLine, MemoryPolicy


class BlockMemory(Protocol):
    """Memory blocks, as a context sees them."""

    def choose_agent(self, agent_id: str | None) -> str | None: ...

    def read_core(self, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None) -> list[Block]: ...

    def find_reminders(
        self, text: str, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None
    ) -> list[BlockLine]: ...


def make_user_memory_section(core: Iterable[Block], archival: Iterable[BlockLine], said: Iterable[Piece]) -> Section:
    """The lines of blocks, what matters most first, each once and none that is said in the same words elsewhere."""
    lines = [piece for block in core for piece in make_line_pieces(CORE_TITLES[block.scope], block.entries)]
    lines += make_line_pieces(ARCHIVAL_TITLE, (line.content for line in archival))
    once: dict[str, Piece] = {}
    for piece in lines:
        once.setdefault(normalise_wording(piece), piece)
    elsewhere = set(map(normalise_wording, said))
    return Section("user_memory", "lines", tuple(piece for words, piece in once.items() if words not in elsewhere))


def normalise_wording(piece: Piece) -> str:
    """What is compared to tell whether two lines say the same."""
    return str(piece.fields["text"]).casefold()
