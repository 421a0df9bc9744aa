"""Views of atoms as entries of the memory tools, and the mapping of ids and types between the two.

An entry's type is a category of that name, with the kind that decides how the platform treats it. Atoms that came into
the group another way, by extraction or from the app, have a type too: it follows from their kind.
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
"""Every kind has a type; a rule is a correction if its category is named so, and else an instruction."""
_DAY = 24 * 3600 * 1_000_000
_ATOM_ID = re.compile(r"\batom_[0-9a-f]{32}\b")
_DIGITS = re.compile(r"[0-9a-f]{32}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def to_entry_id(atom_id: str) -> str:
    """Return the id of an entry: `mem-` and a UUID of the 32 digits of the atom's id."""
    digits = atom_id.removeprefix("atom_")
    if digits == atom_id:
        return atom_id
    return f"mem-{uuid.UUID(digits) if _DIGITS.fullmatch(digits) else digits}"


def to_atom_id(given: str) -> str:
    """Return the atom id of an entry's id. Anything else is returned as it is, and no atom will be found for it."""
    digits = given.removeprefix("mem-")
    if digits == given:
        return given
    return f"atom_{digits.replace('-', '') if _UUID.fullmatch(digits) else digits}"


def to_entry_message(message: str) -> str:
    """Return a message about atoms as one about entries."""
    return _ATOM_ID.sub(lambda found: to_entry_id(found[0]), message).replace("Atom 'mem-", "Entry 'mem-")


def to_entry_type(atom: Atom) -> EntryType:
    """Return the type that an atom has as an entry."""
    if atom.category.kind == "RULE":
        return "correction" if atom.category.name == "correction" else "instruction"
    return next(type for type, kinds in KINDS_OF.items() if atom.category.kind in kinds)


def to_stored_entry(atom: Atom) -> StoredEntry:
    """Return the answer of memory_store."""
    return StoredEntry(
        id=to_entry_id(atom.id),
        type=to_entry_type(atom),
        content=atom.text,
        behavioral=atom.behavioral,
        tags=atom.tags,
        supersedes=None if atom.supersedes is None else to_entry_id(atom.supersedes),
        superseded_by=None if atom.superseded_by is None else to_entry_id(atom.superseded_by),
        session_id=atom.session_id,
        group=atom.group or "",
        created_at=atom.created_at,
    )


def to_found_entries(hits: Sequence[Hit], *, has_query: bool) -> list[FoundEntry]:
    """Return hits as entries with a relevance from 0 to 1, which is a half at the median hit.

    Scores of hits are not comparable between queries, so the relevance is relative to the hits of this one. Without a
    query it is 0.
    """
    scores = sorted(hit.score for hit in hits)
    median = (scores[(len(scores) - 1) // 2] + scores[len(scores) // 2]) / 2 if scores else 0.0
    return [
        FoundEntry(
            id=to_entry_id(hit.atom.id),
            type=to_entry_type(hit.atom),
            content=hit.atom.text,
            behavioral=hit.atom.behavioral,
            tags=hit.atom.tags,
            created_at=hit.atom.created_at,
            relevance_score=hit.score / (hit.score + median) if has_query and hit.score > 0 else 0.0,
        )
        for hit in hits
    ]


def to_provenance(atom: Atom) -> Provenance:
    """Return where an entry came from."""
    return Provenance(session_id=atom.session_id, group=atom.group, origin=atom.origin, trust=atom.trust)


def to_brief_entry(atom: Atom, content: str, now: Micros, *, with_provenance: bool) -> BriefEntry:
    """Return an entry of a brief, with its age in whole days."""
    entry = {
        "id": to_entry_id(atom.id),
        "type": to_entry_type(atom),
        "content": content,
        "behavioral": atom.behavioral,
        "tags": atom.tags,
        "age_days": max(0, now - to_micros(atom.created_at)) // _DAY,
    }
    return BriefEntry.model_validate(entry | (to_provenance(atom).as_json() if with_provenance else {}))
