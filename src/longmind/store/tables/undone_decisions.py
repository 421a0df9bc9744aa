"""Undo of decisions: the atoms that one has changed get back the fields that they had before.

Invariants:

- An undo is all or nothing, in a transaction that holds the space. It is refused if an atom of the decision was changed
  in the same fields since, was archived or superseded since, or is gone: what came later would rest on nothing.
- An atom that the decision had added is archived, so that it is known to have been there; extraction does not learn it
  again from the same messages. The new atom of a `supersede` stays unless the caller takes it back too.
- An undo is a decision itself, and is not undone. Repeating it changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from longmind.clock import Micros
from longmind.errors import Conflict, NotFound
from longmind.models.atom import Atom
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atom_decisions, atoms, restated_atoms, spaces
from longmind.store.tables.atom_decisions import (
    AtomFields,
    DecisionOrigin,
    DecisionPlace,
    FieldChanges,
    NewDecision,
    StoredDecision,
    find_changes,
    take_fields,
)
from longmind.store.tables.atom_rows import decode_list
from longmind.store.tables.ledger import record_change

_ADDS = frozenset({"add", "supersede"})
"""Actions that add the atom that they are about."""
_GROWING = frozenset({"entity_ids"})
"""Fields that an undo takes its own part out of, since entities may be merged at any time."""


@dataclass
class Undo:
    """The result of an undo."""

    id: str
    """The decision that records it."""
    taken_back: list[Atom] = field(default_factory=list)
    """The atoms that were archived by it, as they were before."""


def undo(run: Transaction, scope: Scope, decision_id: str, take_back: bool, now: Micros) -> Undo:
    """Take a decision back. One that was taken back already is left as it is.

    take_back: archive the new atom of a decision that has replaced others.

    Raise Conflict, which names what to do first, if something rests on the decision since.
    """
    decision = _get_undoable(run, decision_id)
    if decision.undone_by is not None and not _leaves_new(run, decision, take_back):
        return Undo(decision.undone_by)
    change = spaces.begin_change(run, decision.space_id, now)
    # Look again, now that the space is held: another process may have undone it in between.
    decision = _get_undoable(run, decision_id)
    is_rest = decision.undone_by is not None
    if decision.undone_by is not None and not _leaves_new(run, decision, take_back):
        return Undo(decision.undone_by)
    archives_new = decision.action == "add" or (take_back and decision.action == "supersede")
    before = _read_atoms(run, decision)
    after = {
        atom_id: _restore(run, decision, atom, changes, archives_new and atom_id == decision.atom_id, is_rest, now)
        for atom_id, (atom, changes) in before.items()
    }
    fields = {atom_id: take_fields(atom) for atom_id, (atom, _) in before.items()}
    undone = find_changes(fields, after)
    for atom_id in undone:
        atom_decisions.put_fields(run, atom_id, fields[atom_id], after[atom_id], change.revision, now)
        restated_atoms.release_taken_key(run, atom_id, change.revision, now)
    taken_back = [before[decision.atom_id][0]] if archives_new else []
    undo_id = _record(run, scope, decision, undone, bool(taken_back), change.revision, now)
    return Undo(undo_id, taken_back)


def _get_undoable(run: Transaction, decision_id: str) -> StoredDecision:
    decision = atom_decisions.find(run, decision_id)
    if decision is None:
        raise NotFound("decision", decision_id)
    if decision.undoes is not None:
        raise Conflict(
            f"Decision {decision_id!r} is an undo, which is not undone.",
            hint="Add what is true as a new atom, or run the extraction of a newer message.",
        )
    return decision


def _leaves_new(run: Transaction, decision: StoredDecision, take_back: bool) -> bool:
    """Return whether an undo has left the new atom, which is to be taken back now."""
    if not take_back or decision.action != "supersede":
        return False
    atom = atoms.get(run, decision.atom_id)
    return atom is not None and atom.status == "ACTIVE"


def _read_atoms(run: Transaction, decision: StoredDecision) -> dict[str, tuple[Atom, FieldChanges]]:
    """Return the atoms that a decision has changed, each with its changes; raise Conflict if one is gone."""
    found: dict[str, tuple[Atom, FieldChanges]] = {}
    for atom_id, changes in atom_decisions.read_changes(run, decision.id).items():
        atom = atoms.get(run, atom_id)
        if atom is not None:
            found[atom_id] = (atom, changes)
    if len(found) < decision.atoms:
        raise Conflict(
            f"Decision {decision.id!r} cannot be undone: an atom that it has changed was deleted since.",
            hint="Archive what is wrong, and add what is true as a new atom.",
        )
    return found


def _restore(
    run: Transaction,
    decision: StoredDecision,
    atom: Atom,
    changes: FieldChanges,
    archives: bool,
    is_rest: bool,
    now: Micros,
) -> AtomFields:
    """Return the fields that an atom has after the undo; raise Conflict if it was changed since."""
    current = take_fields(atom)
    is_new = decision.action in _ADDS and atom.id == decision.atom_id
    if is_rest:
        # All else was restored before, and may have changed again since.
        changes = {}
    if not changes and not is_new:
        return current
    expected = {name: after for name, (_, after) in changes.items() if name not in _GROWING}
    if is_new or changes.keys() != {"valid_to"}:
        # Of an older version in the chain only the end was moved; it was superseded before.
        expected.setdefault("superseded_by", None)
    if not is_new or archives:
        expected.setdefault("status", "ACTIVE")
    if is_new and archives:
        expected.setdefault("supersedes", None)
        expected["source_message_ids"] = decode_list(decision.source_message_ids)
    if any(current[name] != value for name, value in expected.items()):
        raise _explain_later(run, decision, atom)
    fields = current | {name: old for name, (old, _) in changes.items() if name not in _GROWING}
    for name in _GROWING & changes.keys():
        old, new = changes[name]
        fields[name] = [each for each in current[name] if each in old or each not in new]
    if archives:
        fields |= {"status": "ARCHIVED", "archived_at": now}
    return fields


def _explain_later(run: Transaction, decision: StoredDecision, atom: Atom) -> Conflict:
    """Return the error for an atom that was changed after a decision about it."""
    later = atom_decisions.find_later(run, decision, atom.id)
    if later is not None:
        hint = f"Undo the decision {later!r} first."
    elif atom.status != "ACTIVE":
        hint = "It was archived, so that there is nothing to undo; add what is true as a new atom."
    elif atom.superseded_by is not None:
        newest = atoms.find_newest_version(run, atom.id)
        hint = f"It rests on newer versions: supersede or delete the newest, {newest!r}, instead."
    else:
        hint = "Archive what is wrong, and add what is true as a new atom."
    return Conflict(
        f"Decision {decision.id!r} cannot be undone: atom {atom.id!r} was changed since.",
        hint=hint,
    )


def _record(
    run: Transaction,
    scope: Scope,
    decision: StoredDecision,
    undone: dict[str, FieldChanges],
    took_back: bool,
    revision: int,
    now: Micros,
) -> str:
    """Write the decision that an undo is, and announce what has changed."""
    because = "It was undone, and the new fact taken back." if took_back else "It was undone."
    new = NewDecision(
        "undo",
        decision.atom_id,
        because,
        decode_list(decision.source_message_ids),
        DecisionOrigin(decision.source_conversation_id, decision.extraction_version),
        undoes=decision.id,
    )
    # An atom that was left as it is belongs to it too, so that it is listed with the atom.
    about: dict[str, FieldChanges] = {decision.atom_id: {}} | undone
    place = DecisionPlace(revision, 0)
    undo_id = atom_decisions.record(run, decision.space_id, place, new, about, now)
    atom_decisions.note_undone(run, decision.id, undo_id, now)
    space_id = decision.space_id
    for atom_id, changes in undone.items():
        if changes.get("status") == ("ACTIVE", "ARCHIVED"):
            record_change(run, scope, "atom.archived", now, space_id=space_id, atom_id=atom_id)
        elif changes.keys() & {"status", "superseded_at", "superseded_by"}:
            record_change(run, scope, "atom.restored", now, space_id=space_id, atom_id=atom_id)
    record_change(
        run, scope, "decision.undone", now, space_id=space_id, decision_id=decision.id, atom_ids=sorted(about)
    )
    return undo_id
