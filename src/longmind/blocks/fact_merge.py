"""Merge of facts into memory blocks: new facts are added, and changed ones replace the lines that they change.

Stable and important facts go into the core block while it has room, specific ones into the archival block. Each line is
treated as an atom, and extraction's own rules decide whether a fact confirms, replaces or adds to it. Invariants:

- Nothing is dropped to make room: a fact that does not fit is left out and counted.
- Only facts in the user's own words are merged: blocks reach prompts, and a document must not speak for the user.
- A line that changes keeps its place and its bullet; lines that no fact concerns stay exactly as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from longmind.assembly.sanitiser import one_line
from longmind.blocks.validation import fits
from longmind.clock import Micros
from longmind.extraction.candidate import Candidate
from longmind.extraction.consolidation.profile_order import STABLE_KINDS
from longmind.extraction.reconcile.decisions import Add, KnownAtom, Reinforce, Skip, Supersede, decide
from longmind.extraction.reconcile.known_atoms import to_known_atom
from longmind.language.statement import parse_statement
from longmind.models.atom import AtomKind
from longmind.models.block import BlockType, split_lines
from longmind.store.tables.blocks import StoredBlock

CORE_IMPORTANCE = 4
ARCHIVAL_IMPORTANCE = 3
"""A less important fact, such as a question or a request of the day, only enters a block if it changes a line."""
_BULLET = re.compile(r"\s*(?:[-*+\u2022\u2013]|\d{1,2}[.)])\s+")
"""The marks that people put before the items of a list."""
_VERB_FIRST = re.compile(r"(?:[A-Z][a-z]+(?:s|ed)|Does(?:n't| not)|Can(?:not|'t)?|Went|Never|Always)\b(?!:)")
"""The beginning of a note without a subject, which is about the user: "Lives in Graz.", "Is vegan."."""


@dataclass
class BlockDraft:
    """The lines of a block while facts are merged into it, each with the time at which it was said."""

    block_type: BlockType
    lines: list[tuple[str, Micros]]
    before: str | None
    """The content before the merge; None if there is no block yet."""

    @classmethod
    def from_stored(cls, block_type: BlockType, stored: StoredBlock | None) -> BlockDraft:
        """Return a draft of a stored block, or an empty one."""
        if stored is None:
            return cls(block_type, [], None)
        times = iter(stored.line_times)
        content = stored.block.content
        # Blank lines have no time of their own, but keep their place.
        lines = [(line, next(times) if line.strip() else 0) for line in split_lines(content)] if content else []
        return cls(block_type, lines, content)

    @property
    def content(self) -> str:
        """The text of the block."""
        return "\n".join(line for line, _ in self.lines)

    @property
    def changed(self) -> bool:
        """True if the merge has changed the text."""
        return self.content != (self.before or "")

    @property
    def said_at(self) -> dict[str, Micros]:
        """The time of each line by its text."""
        return {line: time for line, time in self.lines if line.strip()}

    def try_lines(self, lines: list[tuple[str, Micros]]) -> bool:
        """Use these lines if they keep within the limits of the block; return whether they do."""
        if not fits(self.block_type, "\n".join(line for line, _ in lines)):
            return False
        self.lines = lines
        return True

    def add(self, text: str, said_at: Micros) -> bool:
        """Append a line, in place of blank lines at the end; return whether it fits."""
        lines = list(self.lines)
        while lines and not lines[-1][0].strip():
            lines.pop()
        return self.try_lines([*lines, (text, said_at)])

    def replace(self, place: int, text: str, said_at: Micros, also: frozenset[int]) -> bool:
        """Replace the line at a place and remove those in `also`; return whether the result fits."""
        new = (_find_bullet(self.lines[place][0]) + text, said_at)
        return self.try_lines([new if at == place else line for at, line in enumerate(self.lines) if at not in also])


@dataclass
class BlockMerge:
    """Two blocks, and counts of the facts that were added, replaced a line, were known, skipped or left out."""

    core: BlockDraft
    archival: BlockDraft
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("added", "replaced", "known", "skipped", "left_out"), 0)
    )

    @property
    def drafts(self) -> tuple[BlockDraft, BlockDraft]:
        """Both drafts, the core block first."""
        return self.core, self.archival


def merge_facts(
    core: StoredBlock | None, archival: StoredBlock | None, facts: Sequence[tuple[Candidate, Micros]]
) -> BlockMerge:
    """Merge facts into the blocks in the order in which they were said."""
    merged = BlockMerge(BlockDraft.from_stored("core", core), BlockDraft.from_stored("archival", archival))
    for candidate, said_at in facts:
        text = one_line(candidate.text)
        merged.counts[_merge_fact(merged, replace(candidate, text=text), said_at)] += 1
    return merged


def _merge_fact(merged: BlockMerge, candidate: Candidate, said_at: Micros) -> str:
    """Merge one fact, and return the count that it belongs to."""
    # Blocks reach prompts as what is known about the user, so nobody else's words may enter them.
    if candidate.trust != "user" or not candidate.text:
        return "skipped"
    # Lines of both blocks are candidates: a fact must not be added to one block while the other has it.
    decision = decide(candidate, [known for draft in merged.drafts for known in _list_known(draft, candidate)], said_at)
    match decision:
        case Reinforce():
            return "known"
        case Skip():
            return "skipped"
        case Supersede():
            return "replaced" if _replace(merged, decision, candidate, said_at) else "left_out"
        case Add() if decision.superseded_by is not None:
            return "skipped"  # the block has a newer value
        case Add() if candidate.importance < ARCHIVAL_IMPORTANCE:
            return "skipped"
        case Add():
            return "added" if _add(merged, candidate, said_at) else "left_out"


def _add(merged: BlockMerge, candidate: Candidate, said_at: Micros) -> bool:
    is_over = candidate.valid_to is not None and candidate.valid_to <= said_at
    is_lasting = candidate.kind in STABLE_KINDS and candidate.importance >= CORE_IMPORTANCE and not is_over
    return (is_lasting and merged.core.add(candidate.text, said_at)) or merged.archival.add(candidate.text, said_at)


def _replace(merged: BlockMerge, decision: Supersede, candidate: Candidate, said_at: Micros) -> bool:
    name, place = _parse_id(decision.atom_id)
    others = [_parse_id(each) for each in decision.also]
    own, other = merged.drafts if name == "core" else reversed(merged.drafts)
    if not own.replace(place, candidate.text, said_at, frozenset(at for of, at in others if of == name)):
        return False
    # The fact may outdate lines of the other block too: both blocks must not contradict each other.
    outdated = {at for of, at in others if of == other.block_type}
    return other.try_lines([line for at, line in enumerate(other.lines) if at not in outdated])


def _list_known(draft: BlockDraft, candidate: Candidate) -> list[KnownAtom]:
    """Return the lines of a draft as atoms that a candidate can be compared with."""
    return [
        _to_known(line, time, f"{draft.block_type}:{place}", candidate)
        for place, (line, time) in enumerate(draft.lines)
        if line.strip()
    ]


def _to_known(line: str, time: Micros, id: str, candidate: Candidate) -> KnownAtom:
    """Return a line as an atom in the user's words."""
    kind = _choose_kind(line, candidate)
    # The text of an episode dates it. With equal starts, only the texts decide whether both say the same.
    began = candidate.valid_from if kind == "EPISODE" and candidate.valid_from is not None else time
    statement = Candidate(_to_statement(line), "", kind, "user", (), valid_from=began)
    atom = KnownAtom.from_candidate(statement, id, time).atom.model_copy(update={"origin": "app"})
    return replace(to_known_atom(atom, None), said_at=time)


def _to_statement(line: str) -> str:
    """Return a line as extraction words statements: notes written by hand often leave out their subject."""
    text = line.strip()
    text = text.removeprefix(_find_bullet(text))
    return f"User {text[0].lower()}{text[1:]}" if _VERB_FIRST.match(text) else text


def _find_bullet(line: str) -> str:
    found = _BULLET.match(line)
    return found[0] if found else ""


def _choose_kind(line: str, candidate: Candidate) -> AtomKind:
    # A line has no kind of its own. It gets the one in which it can be compared with the candidate.
    statement = parse_statement(line)
    if statement.main.planned or statement.main.hedged:
        return "INTENTION"
    if candidate.kind == "INTENTION" or (candidate.kind == "EPISODE" and not statement.is_past):
        return "EPISODE" if statement.is_past else "FACT"
    return candidate.kind


def _parse_id(id: str) -> tuple[str, int]:
    """Return the block and the place of the line that an id of `_list_known` names."""
    block_type, _, place = id.partition(":")
    return block_type, int(place)
