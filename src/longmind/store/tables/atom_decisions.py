"""Decisions of extraction: their reasons, and the fields of atoms that they have changed.

A decision is written in the transaction that carries it out. It keeps, for each atom that it changes, the fields that
differ with their values before and after: ids, figures and instants, never a text. Invariants:

- Decisions of a space are in one order, by the revision that the change took and by their place in it.
- A decision that is about an atom is deleted with it. Of a decision that has also changed another atom, only what it
  says of that one is deleted; `atoms` then counts more rows than are left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from longmind.clock import Micros, to_iso, to_micros
from longmind.ids import new_id
from longmind.models.atom import Atom
from longmind.models.decision import AtomDecision, DecisionAction
from longmind.store.database import Transaction
from longmind.store.tables.atom_rows import decode_list, encode_list

AtomFields = dict[str, Any]
"""The fields of an atom that a decision may change, as the columns hold them; lists are lists."""
FieldChanges = dict[str, tuple[Any, Any]]
"""By field, its value before and after."""

_INSTANTS = ("archived_at", "valid_to", "superseded_at", "last_confirmed_at")
_LISTS = ("source_message_ids", "entity_ids")
_PLAIN = ("status", "supersedes", "superseded_by", "confidence", "importance", "trust")
DECIDED_FIELDS = frozenset((*_INSTANTS, *_LISTS, *_PLAIN))
_BEYOND_ALL_REVISIONS = 2**62


@dataclass(frozen=True)
class DecisionOrigin:
    """The extraction that decides: steps that are about a known atom do not say it themselves."""

    conversation_id: str | None = None
    extraction_version: str | None = None


class DecisionPlace(NamedTuple):
    """The place of a decision in its space."""

    revision: int
    ordinal: int


@dataclass(frozen=True)
class NewDecision:
    """A decision to be written, but for what it has changed."""

    action: DecisionAction
    atom_id: str
    because: str
    source_message_ids: Sequence[str]
    origin: DecisionOrigin
    undoes: str | None = None


class StoredDecision(NamedTuple):
    """A row of a decision."""

    id: str
    space_id: str
    revision: int
    ordinal: int
    action: DecisionAction
    atom_id: str
    because: str
    source_conversation_id: str | None
    source_message_ids: str
    extraction_version: str | None
    decided_at: Micros
    atoms: int
    undoes: str | None
    undone_by: str | None
    undone_at: Micros | None
    changed: str | None
    """The ids of the atoms that it has changed, with commas between; None if all of them were deleted."""

    @property
    def place(self) -> DecisionPlace:
        """The place of the decision in its space."""
        return DecisionPlace(self.revision, self.ordinal)


class UndoneChange(NamedTuple):
    """A change of an atom that was undone, with the messages that had led to it."""

    action: str
    decided_atom_id: str
    source_message_ids: frozenset[str]
    atom_id: str


def take_fields(atom: Atom) -> AtomFields:
    """Return the fields of an atom that decisions change."""
    fields: AtomFields = {name: getattr(atom, name) for name in _PLAIN}
    for name in _INSTANTS:
        instant = getattr(atom, name)
        fields[name] = None if instant is None else to_micros(instant)
    return fields | {name: list(getattr(atom, name)) for name in _LISTS}


def find_changes(before: Mapping[str, AtomFields], after: Mapping[str, AtomFields]) -> dict[str, FieldChanges]:
    """Return what differs, by atom; an atom that is gone, or without a difference, is left out."""
    found = {
        atom_id: {name: (old, after[atom_id][name]) for name, old in fields.items() if old != after[atom_id][name]}
        for atom_id, fields in before.items()
        if atom_id in after
    }
    return {atom_id: changes for atom_id, changes in found.items() if changes}


def record(
    run: Transaction,
    space_id: str,
    place: DecisionPlace,
    new: NewDecision,
    changes: Mapping[str, FieldChanges],
    now: Micros,
) -> str:
    """Write a decision with what it has changed, and return its id. `changes` has the atom that it is about."""
    decision_id = new_id("dec", now)
    run.send(
        "insert_decision",
        id=decision_id,
        space_id=space_id,
        revision=place.revision,
        ordinal=place.ordinal,
        action=new.action,
        atom_id=new.atom_id,
        because=new.because,
        source_conversation_id=new.origin.conversation_id,
        source_message_ids=encode_list(list(new.source_message_ids)),
        extraction_version=new.origin.extraction_version,
        decided_at=now,
        atoms=len(changes),
        undoes=new.undoes,
    )
    for atom_id, fields in changes.items():
        run.send("insert_decision_atom", decision_id=decision_id, atom_id=atom_id, changes=json.dumps(fields))
    return decision_id


def find(run: Transaction, decision_id: str) -> StoredDecision | None:
    """Return a decision; None when there is none in a live space of the scope."""
    row = run.one("get_decision", id=decision_id)
    return StoredDecision(*row) if row else None


def read_changes(run: Transaction, decision_id: str) -> dict[str, FieldChanges]:
    """Return what a decision has changed, by atom, without the atoms that were deleted since."""
    return {
        atom_id: {name: (before, after) for name, (before, after) in json.loads(changes).items()}
        for atom_id, changes in run.all("atoms_of_decision", decision_id=decision_id)
    }


def list_newest_first(
    run: Transaction, space_id: str, *, atom_id: str | None, before: DecisionPlace | None, limit: int
) -> list[tuple[DecisionPlace, AtomDecision]]:
    """Return decisions of a space, or only those about an atom, that come before the one that was listed last."""
    revision, ordinal = before or DecisionPlace(_BEYOND_ALL_REVISIONS, 0)
    page = {"space_id": space_id, "revision": revision, "ordinal": ordinal, "limit": limit}
    rows = (
        run.all("list_decisions", **page)
        if atom_id is None
        else run.all("list_decisions_about", atom_id=atom_id, **page)
    )
    found = [StoredDecision(*row) for row in rows]
    return [(each.place, to_decision(each)) for each in found]


def read_every(run: Transaction) -> Iterator[AtomDecision]:
    """Yield all decisions of a user, those of deleted spaces too. Only inside of `read_snapshot`."""
    return (to_decision(StoredDecision(*row)) for row in run.each("every_decision"))


def find_later(run: Transaction, decision: StoredDecision, atom_id: str) -> str | None:
    """Return the newest decision about an atom that was made after another one and still holds."""
    row = run.one("newest_decision_about", atom_id=atom_id, revision=decision.revision, ordinal=decision.ordinal)
    return row[0] if row else None


def list_undone_from(run: Transaction, space_id: str, conversation_id: str) -> list[UndoneChange]:
    """Return the changes that were decided on after a conversation and undone since."""
    rows = run.all("undone_from_conversation", space_id=space_id, conversation_id=conversation_id)
    return [UndoneChange(action, about, frozenset(decode_list(messages)), id) for action, about, messages, id in rows]


def put_fields(
    run: Transaction, atom_id: str, before: AtomFields, fields: AtomFields, revision: int, now: Micros
) -> None:
    """Give an atom other fields, and unlink it from the entities that it no longer mentions."""
    encoded = {name: encode_list(value) if name in _LISTS else value for name, value in fields.items()}
    run.send("put_decided_fields", id=atom_id, **encoded, revision=revision, now=now)
    for entity_id in before["entity_ids"]:
        if entity_id not in fields["entity_ids"]:
            run.send("unlink_atom", entity_id=entity_id, atom_id=atom_id)


def note_undone(run: Transaction, decision_id: str, undone_by: str, now: Micros) -> None:
    """Note which decision took another one back."""
    run.send("note_undone", id=decision_id, undone_by=undone_by, now=now)


def forget_atom(run: Transaction, atom_id: str) -> None:
    """Delete what decisions say of an atom, and the decisions about it."""
    run.send("forget_atom_in_decisions", atom_id=atom_id)
    run.send("forget_decisions_about", atom_id=atom_id)


def to_decision(stored: StoredDecision) -> AtomDecision:
    """Return a stored decision as callers see it."""
    changed = stored.changed.split(",") if stored.changed else []
    return AtomDecision(
        id=stored.id,
        memory_space_id=stored.space_id,
        action=stored.action,
        atom_id=stored.atom_id,
        changed_atom_ids=[each for each in changed if each != stored.atom_id],
        because=stored.because,
        source_conversation_id=stored.source_conversation_id,
        source_message_ids=decode_list(stored.source_message_ids),
        extraction_version=stored.extraction_version,
        decided_at=to_iso(stored.decided_at),
        undoes=stored.undoes,
        undone_by=stored.undone_by,
        undone_at=None if stored.undone_at is None else to_iso(stored.undone_at),
    )
