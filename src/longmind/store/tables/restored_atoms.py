"""Restoring: an older version of a fact holds again, once the newer one was deleted."""

from __future__ import annotations

from longmind.clock import Micros
from longmind.errors import Conflict, NotFound
from longmind.models.atom import Atom
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atom_versions, atoms, restated_atoms, spaces
from longmind.store.tables.ledger import record_change


def restore(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> Atom:
    """Take back that an atom was superseded. One that holds already is left as it is.

    Raise Conflict if the version that superseded it is still there, or if the atom was archived.
    """
    atom = _get_restorable(run, atom_id)
    if atom.superseded_by is None:
        return atom
    space_id = atom.memory_space_id
    change = spaces.begin_change(run, space_id, now)
    # Refused in the statement itself while the newer version exists.
    if run.one("restore_atom", id=atom_id, revision=change.revision, now=now):
        if atom.supersedes is not None:
            # The deleted version may have ended older ones too.
            atom_versions.settle_ends(run, space_id, atom_id, change.revision, now, undoing=True)
        restated_atoms.release_taken_key(run, atom_id, change.revision, now)
        record_change(run, scope, "atom.restored", now, space_id=space_id, atom_id=atom_id)
    # Look again, now that the space is held: another process may have restored or archived it in between.
    atom = _get_restorable(run, atom_id)
    if atom.superseded_by is not None:
        raise _explain_superseded(run, atom_id)
    return atom


def _get_restorable(run: Transaction, atom_id: str) -> Atom:
    atom = atoms.get(run, atom_id)
    if atom is None:
        raise NotFound("atom", atom_id)
    if atom.status == "ARCHIVED":
        raise Conflict(
            f"Atom {atom_id!r} was archived and cannot be restored.", hint="Add what is true now as a new atom."
        )
    return atom


def _explain_superseded(run: Transaction, atom_id: str) -> Conflict:
    head = atoms.find_newest_version(run, atom_id)
    newest = atoms.get(run, head)
    if newest is not None and newest.superseded_by is not None:
        hint = f"The newest remaining version is {head!r}: restore that one."
    else:
        hint = f"Its newest version is {head!r}: delete that one first."
    return Conflict(f"Atom {atom_id!r} is superseded by a version that still exists.", hint=hint)
