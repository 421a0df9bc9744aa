"""Views of atoms as entries of the memory tools, and the mapping of ids and types between the two.

An entry's type is a category of that name, with the kind that decides how the platform treats it. Atoms that came into
the group another way, by extraction or from the app, have a type too: it follows from their kind.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence

from longmind.assembly.sanitiser import shorten
from longmind.clock import Micros, to_micros
from longmind.models.atom import Atom, AtomKind
from longmind.models.recall import Hit, Passage
from longmind.models.tool import BriefEntry, EntryType, FoundEntry, FoundPassage, Provenance, StoredEntry

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
PASSAGE_LENGTH = 2_000
"""Characters of one quoted message, as many as an entry may have."""
PASSAGES_LENGTH = 40_000
"""Characters of all quoted messages of an answer, which has a limit of its own."""
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
    """Return hits as entries with their relevance from 0 to 1; without a query it is 0, and nothing is weak."""
    return [
        FoundEntry(
            id=to_entry_id(hit.atom.id),
            type=to_entry_type(hit.atom),
            content=hit.atom.text,
            behavioral=hit.atom.behavioral,
            tags=hit.atom.tags,
            created_at=hit.atom.created_at,
            relevance_score=hit.score if has_query else 0.0,
            weak=has_query and hit.weak,
        )
        for hit in hits
    ]


def to_found_passages(passages: Iterable[Passage]) -> list[FoundPassage]:
    """Return the messages of passages, best first, as many as an answer has room for; a long text is cut."""
    found: list[FoundPassage] = []
    room = PASSAGES_LENGTH
    for passage in passages:
        for message in passage.messages:
            text = shorten(message.text, PASSAGE_LENGTH)
            room -= len(text)
            if room < 0:
                return found
            found.append(
                FoundPassage(
                    conversation_id=passage.conversation_id,
                    message_id=message.id,
                    role=message.role,
                    text=text,
                    said_at=message.said_at,
                    relevance_score=passage.score,
                    weak=passage.weak,
                )
            )
    return found


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
