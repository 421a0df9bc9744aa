"""Entries of the memory tools are atoms: how the one is told as the other.

A type is a category of the same name with the kind that the platform treats it by. Atoms of a group that came in
another way, by extraction or from the app, have a type as well: it follows from their kind.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence

from longmind.clock import Micros, to_micros
from longmind.models.atom import Atom, AtomKind
from longmind.models.recall import Hit
from longmind.models.tool import BriefEntry, EntryType, FoundEntry, Provenance, StoredEntry

KIND_OF: dict[EntryType, AtomKind] = {
    "preference": "PREFERENCE",
    "fact": "FACT",
    "instruction": "RULE",
    "correction": "RULE",
    "context": "INTENTION",
}
KINDS_OF: dict[EntryType, tuple[AtomKind, ...]] = {
    "preference": ("PREFERENCE",),
    "fact": ("FACT", "PATTERN"),
    "instruction": ("RULE",),
    "correction": ("RULE",),
    "context": ("INTENTION", "EPISODE"),
}
"""Every kind has a type; a rule is a correction if its category says so, and else an instruction."""
_DAY = 24 * 3600 * 1_000_000
_ATOM_ID = re.compile(r"\batom_[0-9a-f]{32}\b")
_DIGITS = re.compile(r"[0-9a-f]{32}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def entry_id(atom_id: str) -> str:
    """`atom_` and 32 digits, shown as `mem-` and a UUID; the same digits, so that each can be had from the other."""
    digits = atom_id.removeprefix("atom_")
    if digits == atom_id:
        return atom_id
    return f"mem-{uuid.UUID(digits) if _DIGITS.fullmatch(digits) else digits}"


def atom_id(given: str) -> str:
    """The atom that an entry's id stands for; what is no such id stands for itself, and leads nowhere."""
    digits = given.removeprefix("mem-")
    if digits == given:
        return given
    return f"atom_{digits.replace('-', '') if _UUID.fullmatch(digits) else digits}"


def told_of_entries(message: str) -> str:
    """A message about atoms, as one about entries."""
    return _ATOM_ID.sub(lambda found: entry_id(found[0]), message).replace("Atom 'mem-", "Entry 'mem-")


def type_of(atom: Atom) -> EntryType:
    if atom.category.kind == "RULE":
        return "correction" if atom.category.name == "correction" else "instruction"
    return next(type for type, kinds in KINDS_OF.items() if atom.category.kind in kinds)


def stored(atom: Atom) -> StoredEntry:
    return StoredEntry(
        id=entry_id(atom.id),
        type=type_of(atom),
        content=atom.text,
        behavioral=atom.behavioral,
        tags=atom.tags,
        supersedes=None if atom.supersedes is None else entry_id(atom.supersedes),
        superseded_by=None if atom.superseded_by is None else entry_id(atom.superseded_by),
        session_id=atom.session_id,
        group=atom.group or "",
        created_at=atom.created_at,
    )


def found(hits: Sequence[Hit], *, asked: bool) -> list[FoundEntry]:
    """Hits as entries, with a relevance that is a half at the middle hit; without a question there is none to have."""
    scores = sorted(hit.score for hit in hits)
    middle = (scores[(len(scores) - 1) // 2] + scores[len(scores) // 2]) / 2 if scores else 0.0
    return [
        FoundEntry(
            id=entry_id(hit.atom.id),
            type=type_of(hit.atom),
            content=hit.atom.text,
            behavioral=hit.atom.behavioral,
            tags=hit.atom.tags,
            created_at=hit.atom.created_at,
            relevance_score=hit.score / (hit.score + middle) if asked and hit.score > 0 else 0.0,
        )
        for hit in hits
    ]


def provenance(atom: Atom) -> Provenance:
    return Provenance(session_id=atom.session_id, group=atom.group, origin=atom.origin, trust=atom.trust)


def in_brief(atom: Atom, content: str, now: Micros, *, with_provenance: bool) -> BriefEntry:
    entry = {
        "id": entry_id(atom.id),
        "type": type_of(atom),
        "content": content,
        "behavioral": atom.behavioral,
        "tags": atom.tags,
        "age_days": max(0, now - to_micros(atom.created_at)) // _DAY,
    }
    return BriefEntry.model_validate(entry | (provenance(atom).as_json() if with_provenance else {}))
