"""The brief: what an agent should know at the start of a session, within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE, harmless
from longmind.clock import Micros
from longmind.models.atom import Atom
from longmind.models.tool import Brief, BriefEntry
from longmind.store.database import Transaction
from longmind.store.tables import atoms, spaces

MOST_ENTRIES = 50
MOST_CHARACTERS = 10_000
"""Of content: what stands around it is not counted."""
RESERVED_ENTRIES = 15
RESERVED_CHARACTERS = 3_000
"""What is left to facts and context, however much there is that tells how to behave."""
CONSIDERED = 500
"""How many entries of each half are looked at: those that do not fit are passed over."""
_LINE_BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

Candidate = tuple[int, str]
"""The position and the text of an atom."""


def single_line(text: str) -> str:
    """The text as a brief has it, each line break of whatever kind made one space; all else is as it was stored."""
    return _LINE_BREAKS.sub(" ", text)


class Room:
    """What still fits."""

    def __init__(self, entries: int, characters: int) -> None:
        self.entries = entries
        self.characters = characters

    def fill(self, candidates: Iterable[Candidate]) -> list[int]:
        """Take what fits, in order; one that is too long keeps nobody else out."""
        taken = []
        for position, text in candidates:
            length = len(single_line(text))
            if self.entries and length <= self.characters:
                self.entries -= 1
                self.characters -= length
                taken.append(position)
        return taken


def chosen(behavioral: Sequence[Candidate], others: Sequence[Candidate]) -> list[int]:
    """The positions of what makes up a brief, of the two halves, each newest first."""
    reserved = Room(RESERVED_ENTRIES, RESERVED_CHARACTERS)
    kept = reserved.fill(others)
    room = Room(MOST_ENTRIES - len(kept), MOST_CHARACTERS - (RESERVED_CHARACTERS - reserved.characters))
    first = room.fill(behavioral)
    kept += room.fill(each for each in others if each[0] not in kept)
    return [*first, *(position for position, _ in others if position in kept)]


def gather(run: Transaction, group: str, now: Micros) -> tuple[list[Atom], int]:
    """The atoms of a brief, and how many entries the group has in all, superseded ones too. All seen at once."""
    space_id = spaces.find_id(run, group, "group")
    space = None if space_id is None else spaces.get(run, space_id)
    if space is None:
        return [], 0
    behavioral, others = (
        atoms.list_newest_entries(run, space.id, behavioral=half, now=now, limit=CONSIDERED) for half in (True, False)
    )
    positions = chosen(behavioral, others)
    there = atoms.read_at(run, space.id, positions)
    return [there[position] for position in positions], space.atom_count


def as_prompt(brief: Brief) -> str:
    """A brief as a part of a prompt: text of memories is data there, on one line each; nothing when it is empty."""
    behavioral = [_line(entry) for entry in brief.entries if entry.behavioral]
    others = [_line(entry) for entry in brief.entries if not entry.behavioral]
    parts = ["## Memory Context"]
    if behavioral:
        parts.append("\n".join(["### Behavioral memories", SUGGESTIONS_NOTICE, *behavioral]))
    if others:
        parts.append("\n".join(["### Facts and context", _JUDGE, *others]))
    return "\n\n".join(parts) if behavioral or others else ""


_JUDGE = "What was noted in earlier sessions. The older it is, the more likely it has changed."


def _line(entry: BriefEntry) -> str:
    return f"- [{entry.type}] {harmless(entry.content)} ({entry.age_days}d ago)"
