"""What sleep-time memory makes of blocks: facts that are new go in, changed ones take the place of what they change.

What is stable and matters goes into the core block while it has room, what is specific into the archival one. Lines
are compared with facts in the way in which extraction compares atoms. Nothing is dropped to make room.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from longmind.assembly.sanitiser import one_line
from longmind.blocks.validation import fits
from longmind.clock import Micros
from longmind.extraction.candidate import Candidate
from longmind.extraction.reconcile.decisions import Add, KnownAtom, Reinforce, Skip, Supersede, decide
from longmind.extraction.reconcile.known_atoms import to_known_atom
from longmind.language.statement import parse_statement
from longmind.models.atom import AtomKind
from longmind.models.block import BlockType, split_lines
from longmind.store.tables.blocks import StoredBlock

CORE_IMPORTANCE = 4
ARCHIVAL_IMPORTANCE = 3
"""What matters less, such as a question or a request of the day, is not kept in blocks, unless it changes a line."""
_BULLET = re.compile(r"\s*(?:[-*+\u2022\u2013]|\d{1,2}[.)])\s+")
"""What people put before the items of a list."""
_VERB_FIRST = re.compile(r"(?:[A-Z][a-z]+(?:s|ed)|Does(?:n't| not)|Can(?:not|'t)?|Went|Never|Always)\b(?!:)")
"""How a note begins that says what the user is or does: "Lives in Graz.", "Is vegan.", "Moved to Oslo."."""
_STABLE: frozenset[AtomKind] = frozenset({"FACT", "PREFERENCE", "RULE"})


@dataclass
class Draft:
    """The lines of a block while they are changed, each with when it was said."""

    block_type: BlockType
    lines: list[tuple[str, Micros]]
    before: str | None

    @classmethod
    def of(cls, block_type: BlockType, kept: StoredBlock | None) -> Draft:
        if kept is None:
            return cls(block_type, [], None)
        times = iter(kept.line_times)
        content = kept.block.content
        # Blank lines have no time of their own, and keep their place.
        lines = [(line, next(times) if line.strip() else 0) for line in split_lines(content)] if content else []
        return cls(block_type, lines, content)

    @property
    def content(self) -> str:
        return "\n".join(line for line, _ in self.lines)

    @property
    def changed(self) -> bool:
        return self.content != (self.before or "")

    @property
    def said_at(self) -> dict[str, Micros]:
        return {line: time for line, time in self.lines if line.strip()}

    def take(self, lines: list[tuple[str, Micros]]) -> bool:
        """Have these lines instead, if they fit."""
        if not fits(self.block_type, "\n".join(line for line, _ in lines)):
            return False
        self.lines = lines
        return True

    def add(self, text: str, said_at: Micros) -> bool:
        kept = list(self.lines)
        while kept and not kept[-1][0].strip():
            kept.pop()
        return self.take([*kept, (text, said_at)])

    def replace(self, place: int, text: str, said_at: Micros, also: frozenset[int]) -> bool:
        new = (_bullet_of(self.lines[place][0]) + text, said_at)
        return self.take([new if at == place else line for at, line in enumerate(self.lines) if at not in also])


@dataclass
class Merge:
    """Two blocks and what became of the facts that were offered to them."""

    core: Draft
    archival: Draft
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("added", "replaced", "known", "skipped", "left_out"), 0)
    )

    @property
    def drafts(self) -> tuple[Draft, Draft]:
        return self.core, self.archival


def merge(core: StoredBlock | None, archival: StoredBlock | None, facts: Sequence[tuple[Candidate, Micros]]) -> Merge:
    """Offer facts to the blocks in the order in which they were said."""
    made = Merge(Draft.of("core", core), Draft.of("archival", archival))
    for candidate, said_at in facts:
        text = one_line(candidate.text)
        made.counts[_offer(made, replace(candidate, text=text), said_at)] += 1
    return made


def _offer(made: Merge, candidate: Candidate, said_at: Micros) -> str:
    # Only the user's own word goes into what every prompt repeats.
    if candidate.trust != "user" or not candidate.text:
        return "skipped"
    decision = decide(candidate, [known for draft in made.drafts for known in _known(draft, candidate)], said_at)
    match decision:
        case Reinforce():
            return "known"
        case Skip():
            return "skipped"
        case Supersede():
            return "replaced" if _replace(made, decision, candidate, said_at) else "left_out"
        case Add() if decision.superseded_by is not None:
            return "skipped"  # a newer value is there
        case Add() if candidate.importance < ARCHIVAL_IMPORTANCE:
            return "skipped"
        case Add():
            return "added" if _add(made, candidate, said_at) else "left_out"


def _add(made: Merge, candidate: Candidate, said_at: Micros) -> bool:
    over = candidate.valid_to is not None and candidate.valid_to <= said_at
    lasting = candidate.kind in _STABLE and candidate.importance >= CORE_IMPORTANCE and not over
    return (lasting and made.core.add(candidate.text, said_at)) or made.archival.add(candidate.text, said_at)


def _replace(made: Merge, decision: Supersede, candidate: Candidate, said_at: Micros) -> bool:
    name, place = _read_id(decision.atom_id)
    others = [_read_id(each) for each in decision.also]
    own, other = made.drafts if name == "core" else reversed(made.drafts)
    if not own.replace(place, candidate.text, said_at, frozenset(at for of, at in others if of == name)):
        return False
    outdated = {at for of, at in others if of == other.block_type}
    return other.take([line for at, line in enumerate(other.lines) if at not in outdated])


def _known(draft: Draft, candidate: Candidate) -> list[KnownAtom]:
    return [
        _line_as_known(line, time, f"{draft.block_type}:{place}", candidate)
        for place, (line, time) in enumerate(draft.lines)
        if line.strip()
    ]


def _line_as_known(line: str, time: Micros, id: str, candidate: Candidate) -> KnownAtom:
    """A line as if it were an atom that the user has told."""
    kind = _kind_of(line, candidate)
    # A line says itself when something happened: what counts is whether it says the same.
    began = candidate.valid_from if kind == "EPISODE" and candidate.valid_from is not None else time
    as_told = Candidate(_of_the_user(line), "", kind, "user", (), valid_from=began)
    atom = KnownAtom.from_candidate(as_told, id, time).atom.model_copy(update={"origin": "app"})
    return replace(to_known_atom(atom, None), said_at=time)


def _of_the_user(line: str) -> str:
    """A line as extraction would word it: who writes notes by hand leaves out whom they are about."""
    said = line.strip()
    said = said.removeprefix(_bullet_of(said))
    return f"User {said[0].lower()}{said[1:]}" if _VERB_FIRST.match(said) else said


def _bullet_of(line: str) -> str:
    found = _BULLET.match(line)
    return found[0] if found else ""


def _kind_of(line: str, candidate: Candidate) -> AtomKind:
    statement = parse_statement(line)
    if statement.main.planned or statement.main.hedged:
        return "INTENTION"
    if candidate.kind == "INTENTION" or (candidate.kind == "EPISODE" and not statement.is_past):
        return "EPISODE" if statement.is_past else "FACT"
    return candidate.kind


def _read_id(id: str) -> tuple[str, int]:
    block_type, _, place = id.partition(":")
    return block_type, int(place)
