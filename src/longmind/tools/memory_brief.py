"""The brief: a bounded overview of what an agent should know at the start of a session.

Behavioral entries come first, then facts and context, each newest first. The bounds count content only, so that a brief
always fits a prompt however much is remembered; a part is reserved for facts, which instructions would else crowd out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE, sanitise
from longmind.clock import Micros
from longmind.memory.default_space import find_tools_space
from longmind.models.atom import Atom, Origin
from longmind.models.tool import BriefEntry
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms

MAX_ENTRIES = 50
MAX_CHARACTERS = 10_000
"""Characters of content; ids, types and ages are not counted."""
RESERVED_ENTRIES = 15
RESERVED_CHARACTERS = 3_000
"""The part of a brief that is kept free for facts and context, however many behavioral entries there are."""
CONSIDERED = 500
"""Most entries of each half that are considered; an entry that does not fit is skipped."""
_LINE_BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

BriefCandidate = tuple[int, str]
"""The position and the text of an atom."""


def to_single_line(text: str) -> str:
    """Replace each line break, of any kind, by one space; the rest stays as it was stored."""
    return _LINE_BREAKS.sub(" ", text)


class BriefRoom:
    """The entries and characters that still fit."""

    def __init__(self, entries: int, characters: int) -> None:
        self.entries = entries
        self.characters = characters

    def fill(self, candidates: Iterable[BriefCandidate]) -> list[int]:
        """Return the positions of the candidates that fit, in order; a long one does not stop shorter ones after it."""
        chosen = []
        for position, text in candidates:
            length = len(to_single_line(text))
            if self.entries and length <= self.characters:
                self.entries -= 1
                self.characters -= length
                chosen.append(position)
        return chosen


def select_entries(behavioral: Sequence[BriefCandidate], others: Sequence[BriefCandidate]) -> list[int]:
    """Return the positions of the entries of a brief; both halves are given newest first."""
    reserved = BriefRoom(RESERVED_ENTRIES, RESERVED_CHARACTERS)
    fact_positions = reserved.fill(others)
    # The reserve goes to facts first; what they leave of it, and all the rest, is open to behavioral entries.
    room = BriefRoom(MAX_ENTRIES - len(fact_positions), MAX_CHARACTERS - (RESERVED_CHARACTERS - reserved.characters))
    behavioral_positions = room.fill(behavioral)
    fact_positions += room.fill(each for each in others if each[0] not in fact_positions)
    return [*behavioral_positions, *(position for position, _ in others if position in fact_positions)]


def read_entries(run: Transaction, scope: Scope, now: Micros, origin: Origin | None = None) -> tuple[list[Atom], int]:
    """Return the atoms of a brief, and how many entries their space has, superseded ones included.

    origin: the origin that they must have; None lets every one through.

    Run it in a snapshot: it reads several tables, which have to agree.
    """
    space = find_tools_space(run, scope)
    if space is None:
        return [], 0
    behavioral, others = (
        atoms.list_newest_entries(run, space.id, behavioral=half, origin=origin, now=now, limit=CONSIDERED)
        for half in (True, False)
    )
    positions = select_entries(behavioral, others)
    found = atoms.read_at(run, space.id, positions)
    return [found[position] for position in positions], space.atom_count


def as_prompt(entries: Sequence[BriefEntry]) -> str:
    """Return the entries of a brief as a part of a prompt, each sanitised on one line; empty without entries."""
    behavioral = [_to_line(entry) for entry in entries if entry.behavioral]
    others = [_to_line(entry) for entry in entries if not entry.behavioral]
    parts = ["## Memory Context"]
    if behavioral:
        parts.append("\n".join(["### Behavioral memories", SUGGESTIONS_NOTICE, *behavioral]))
    if others:
        parts.append("\n".join(["### Facts and context", _FACTS_NOTICE, *others]))
    return "\n\n".join(parts) if behavioral or others else ""


_FACTS_NOTICE = "What was noted in earlier sessions. The older it is, the more likely it has changed."


def _to_line(entry: BriefEntry) -> str:
    return f"- [{entry.type}] {sanitise(entry.content)} ({entry.age_days}d ago)"
