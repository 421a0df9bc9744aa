"""Rows of atoms: from a validated atom to the columns that are inserted, and from a row back to an Atom.

Recall and bulk inserts spend much of their time here. So rows are taken apart by hand, columns that all atoms of a bulk
lack are sent once, and the atoms of a bulk are made as copies of the first with what differs put in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from longmind.clock import Micros, to_iso
from longmind.models.atom import BEHAVIORAL_KINDS, Atom, AtomKind, Category
from longmind.runtime.gc_pause import pause_collection
from longmind.scope import Scope
from longmind.store.database import Row
from longmind.store.text_hash import hash_text
from longmind.validation.text import decode_json


class PreparedAtom(NamedTuple):
    """An atom that was validated and encoded, but is not stored yet. Instants are microseconds, lists are tuples."""

    id: str
    text: str
    search_context: tuple[str, ...]
    speaker: str | None
    category_name: str
    kind: str
    importance: int
    confidence: float
    valid_from: Micros
    valid_to: Micros | None
    source_conversation_id: str | None
    source_message_ids: tuple[str, ...]
    entity_ids: tuple[str, ...]
    tags: tuple[str, ...]
    origin: str
    trust: str
    created_at: Micros
    decision: str | None = None
    because: str | None = None
    precision: str | None = None
    extraction_version: str | None = None
    evidence: tuple[str, ...] = ()
    slot_subject: str | None = None
    slot_attribute: str | None = None
    slot_value: str | None = None
    metadata: str = "{}"
    """JSON of the app's own."""
    key: str | None = None


Slot = tuple[str, str, str]
"""Subject, attribute and value, of a fact that has one value at a time."""


class AtomRows(NamedTuple):
    """Atoms to be inserted, with their columns in lists of equal length."""

    atoms: Sequence[PreparedAtom]
    columns: dict[str, Sequence[Any]]
    shared: dict[str, Any]
    """Columns that have the same value in every row."""


_COLUMNS = (
    "id", "space_id", "position", "tenant_id", "app_id", "user_id", "text", "category_name", "kind", "importance",
    "confidence", "valid_from", "valid_to", "status", "source_conversation_id", "source_message_ids", "entity_ids",
    "tags", "metadata", "key", "supersedes", "superseded_by", "superseded_at", "archived_at", "last_confirmed_at",
    "origin", "trust", "session_id", "group", "run_id", "agent_id", "created_at", "updated_at", "decision", "because",
    "precision", "extraction_version", "evidence", "slot_subject", "slot_attribute", "slot_value",
)  # fmt: skip
"""The order of a row; the fragment atom_columns has the same."""
POSITION = _COLUMNS.index("position")
LIST_FIELDS = ("source_message_ids", "entity_ids", "tags", "evidence")
"""Fields with a list, which a caller may change: two atoms must never share one."""
_RARE_COLUMNS = ("key", *_COLUMNS[_COLUMNS.index("decision") :])
"""Columns that few atoms fill: those of extraction, and the key."""
_PLAIN_FIELDS = frozenset(_COLUMNS).intersection(Atom.model_fields) - {
    "valid_from",
    "valid_to",
    "created_at",
    "metadata",
    *LIST_FIELDS,
}
"""Fields that have the values of their columns as they are."""
_RECORDED_LATER = {
    "superseded_at": ("superseded_at", "superseded_by"),
    "archived_at": ("archived_at",),
    "last_confirmed_at": ("last_confirmed_at",),
}
"""Columns that are filled after an atom was added, by the column that says when."""

_encode = json.JSONEncoder(ensure_ascii=False).encode


def encode_list(members: Sequence[str]) -> str:
    """Return a list of ids or tags as the JSON that its column holds."""
    return _encode(members) if members else "[]"


def decode_list(stored: str) -> list[str]:
    """Return the list that a column holds as JSON; raise StoreError if it is damaged."""
    return decode_json(stored, list)


def to_atom(row: Row) -> tuple[int, Atom]:
    """Return the position and the atom of a row. Only the search index has a use for the position."""
    (
        id, space_id, position, tenant_id, app_id, user_id, text, category_name, kind, importance, confidence,
        valid_from, valid_to, status, source_conversation_id, source_message_ids, entity_ids, tags, metadata, key,
        supersedes, superseded_by, superseded_at, archived_at, last_confirmed_at, origin, trust, session_id, group,
        run_id, agent_id, created_at, updated_at, decision, because, precision, extraction_version, evidence, _,
        _, _,
    ) = row  # fmt: skip
    created = to_iso(created_at)
    fields = {
        "id": id,
        "memory_space_id": space_id,
        "tenant_id": tenant_id,
        "app_id": app_id,
        "user_id": user_id,
        "text": text,
        "category": _make_category(category_name, kind),
        "importance": importance,
        "confidence": confidence,
        "valid_from": created if valid_from == created_at else to_iso(valid_from),
        "valid_to": valid_to if valid_to is None else to_iso(valid_to),
        "status": status,
        "source_conversation_id": source_conversation_id,
        "source_message_ids": [] if source_message_ids == "[]" else decode_list(source_message_ids),
        "entity_ids": [] if entity_ids == "[]" else decode_list(entity_ids),
        "tags": [] if tags == "[]" else decode_list(tags),
        "metadata": {} if metadata == "{}" else decode_json(metadata, dict),
        "key": key,
        "behavioral": kind in BEHAVIORAL_KINDS,
        "supersedes": supersedes,
        "superseded_by": superseded_by,
        "superseded_at": superseded_at if superseded_at is None else to_iso(superseded_at),
        "archived_at": archived_at if archived_at is None else to_iso(archived_at),
        "last_confirmed_at": last_confirmed_at if last_confirmed_at is None else to_iso(last_confirmed_at),
        "origin": origin,
        "trust": trust,
        "session_id": session_id,
        "group": group,
        "run_id": run_id,
        "agent_id": agent_id,
        "created_at": created,
        "updated_at": created if updated_at == created_at else to_iso(updated_at),
        "decision": decision,
        "because": because,
        "precision": precision,
        "extraction_version": extraction_version,
        "evidence": decode_list(evidence) if evidence else [],
    }
    return position, Atom.from_trusted(fields)


def to_slot(row: Row) -> Slot | None:
    """Return the slot of an atom's row, if it has one."""
    subject, attribute, value = row[-3:]
    return None if subject is None else (subject, attribute, value)


def to_known_row(row: Row, end: Micros | None, known_at: Micros) -> Row:
    """Return the row without what was recorded after an instant, and with the end that was known then."""
    known = dict(zip(_COLUMNS, row, strict=True))
    for when, columns in _RECORDED_LATER.items():
        if known[when] is not None and known[when] > known_at:
            known.update(dict.fromkeys(columns))
    known["valid_to"] = end
    known["status"] = "ACTIVE" if known["archived_at"] is None else "ARCHIVED"
    if known["updated_at"] > known_at:
        known["updated_at"] = max(known["created_at"], known["superseded_at"] or 0, known["archived_at"] or 0)
    return tuple(known.values())


def prepare_rows(
    scope: Scope,
    space_id: str,
    atoms: Sequence[PreparedAtom],
    conversation_ids: Sequence[str | None],
    supersedes: str | None = None,
) -> AtomRows:
    """Return the columns of atoms, but for their positions, which are known only once the space is held.

    conversation_ids: the conversation that each atom cites.
    supersedes: the version before, which is the same for all.
    """
    shared = {
        "space_id": space_id,
        "tenant_id": scope.tenant_id,
        "app_id": scope.app_id,
        "user_id": scope.user_id,
        "supersedes": supersedes,
        "session_id": scope.session_id,
        "group": scope.group,
        "run_id": scope.run_id,
        "agent_id": scope.agent_id,
    }
    columns: dict[str, Sequence[Any]] = {
        name: [atom[place] for atom in atoms] for place, name in enumerate(PreparedAtom._fields)
    }
    for name in _RARE_COLUMNS:
        if not any(columns[name]):
            # A column that all of the atoms lack is bound once.
            del columns[name]
            shared[name] = None
    if "evidence" in columns:
        columns["evidence"] = [encode_list(ids) for ids in columns["evidence"]]
    for name in ("search_context", "source_message_ids", "entity_ids", "tags"):
        # In a bulk there is often not one of them that has any.
        filled = any(columns[name])
        columns[name] = [encode_list(members) for members in columns[name]] if filled else ["[]"] * len(atoms)
    columns["source_conversation_id"] = conversation_ids
    columns["text_hash"] = list(map(hash_text, columns["text"]))
    return AtomRows(atoms, columns, shared)


def to_inserted_atoms(
    prepared: Sequence[PreparedAtom], columns: Mapping[str, Sequence[Any]], shared: Mapping[str, Any]
) -> list[Atom]:
    """Return atoms as they would be read back from the rows that were just inserted."""
    first_row = {**shared, **{name: column[0] for name, column in columns.items()}, "status": "ACTIVE"}
    first_row["updated_at"] = first_row["created_at"]
    first = to_atom(tuple([first_row.get(name) for name in _COLUMNS]))[1]
    if len(prepared) == 1:
        return [first]
    with pause_collection():
        # In a bulk an atom mostly differs from the first in little but its id and its text.
        every = [first.__dict__.copy() for _ in prepared]
        for name, values in _collect_differing(prepared, columns).items():
            for fields, value in zip(every, values, strict=True):
                fields[name] = value
        return list(map(Atom.from_trusted, every))


def _collect_differing(
    prepared: Sequence[PreparedAtom], columns: Mapping[str, Sequence[Any]]
) -> dict[str, Iterable[Any]]:
    """Return the fields in which the atoms differ, or must not share a list, each with the values of all atoms."""
    differing = {name for name, column in columns.items() if column.count(column[0]) < len(column)}
    found: dict[str, Iterable[Any]] = {name: columns[name] for name in differing.intersection(_PLAIN_FIELDS)}
    for name in LIST_FIELDS:
        found[name] = map(list, map(attrgetter(name), prepared))
    found["metadata"] = [{} if each == "{}" else decode_json(each, dict) for each in columns["metadata"]]
    if not differing.isdisjoint(("category_name", "kind")):
        found["category"] = map(_make_category, columns["category_name"], columns["kind"])
        found["behavioral"] = [kind in BEHAVIORAL_KINDS for kind in columns["kind"]]
    if not differing.isdisjoint(("created_at", "valid_from")):
        created = found["created_at"] = found["updated_at"] = list(map(to_iso, columns["created_at"]))
        found["valid_from"] = [
            known if begins == at else to_iso(begins)
            for known, begins, at in zip(created, columns["valid_from"], columns["created_at"], strict=True)
        ]
    if "valid_to" in differing:
        found["valid_to"] = [ends if ends is None else to_iso(ends) for ends in columns["valid_to"]]
    return found


# A space has few categories and many atoms, and a category is never changed.
@lru_cache(maxsize=4096)
def _make_category(name: str, kind: AtomKind) -> Category:
    return Category.from_trusted({"name": name, "kind": kind})
