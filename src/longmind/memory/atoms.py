"""Operations on atoms.

Texts are indexed and embedded before the transaction begins, or, in a bulk, while the server works on the rows. The
rows of atoms and of their search index are written in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from longmind.clock import Instant, Micros
from longmind.errors import InvalidInput, LimitExceeded
from longmind.ids import random_halves
from longmind.memory.service_base import MemoryBase
from longmind.memory.validation import BULK_LIMIT, validate_atom, validate_instant, validate_name, validate_status
from longmind.models.atom import Atom, AtomInput, AtomStatus
from longmind.models.value import Page
from longmind.runtime.gc_pause import pause_collection
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms as store
from longmind.store.tables import restored_atoms as restoring
from longmind.store.tables import spaces
from longmind.store.tables.atom_rows import PreparedAtom, Slot
from longmind.store.tables.spaces import SpaceChange
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import LIMIT, AtomId, CategoryName, Limit, NumberCursor, SpaceId

if TYPE_CHECKING:
    # The functions below load it when they run: it brings numpy, which takes longer to load than all of the rest.
    from longmind.recall.index.index_batch import IndexBatch
    from longmind.recall.index.storage import IndexEntries


class Atoms(MemoryBase):
    """The facts of memory spaces."""

    def add_atom(self, memory_space_id: SpaceId, atom: AtomInput) -> Atom:
        """Add one fact and return it as stored. Raises InvalidInput and LimitExceeded like `add_atoms`."""
        return self.add_atoms(memory_space_id, [atom])[0]

    def add_atoms(self, memory_space_id: SpaceId, atoms: Sequence[AtomInput]) -> list[Atom]:
        """Add up to 100,000 facts in one transaction: all of them, or none.

        A text has at most 1,048,576 characters, a name 255 and a list 1,000 members. Sources and entities must exist. A
        fact that was deleted before may be recalled again once the app adds it.
        """
        if isinstance(atoms, str | dict) or not isinstance(atoms, Sequence):
            raise InvalidInput(f"atoms must be a list, not {type(atoms).__name__}.")
        if len(atoms) > BULK_LIMIT:
            raise LimitExceeded("atoms", limit=BULK_LIMIT, given=len(atoms), unit="at a time")
        space_id = validate_id("memory_space_id", memory_space_id)
        now = self._clock()
        # An empty list is no error, but the space must exist as for any other.
        if not atoms:
            self._database.read(self._scope, spaces.require, space_id)
            return []
        # All random halves at once: drawing them one by one takes longer than all of the checks.
        single, random = len(atoms) == 1, random_halves(len(atoms))
        with pause_collection():
            checked = [
                validate_atom(atom, now, "atom" if single else f"atoms[{place}]", next(random))
                for place, atom in enumerate(atoms)
            ]
        indexing = self._retriever.begin_indexing(checked)
        return self._database.write(self._scope, insert_atoms, self._scope, space_id, checked, indexing, now)

    def mine_patterns(self, memory_space_id: SpaceId) -> list[Atom]:
        """Find patterns in the episodes of a space now; return the new and changed ones."""
        return self._pipeline.pattern_finder.find_now(self._scope, validate_id("memory_space_id", memory_space_id))

    def get_atom(self, atom_id: AtomId) -> Atom | None:
        """Return an atom, or None if there is none with this id that the user may read."""
        checked = validate_id("atom_id", atom_id)
        found = self._find_by_id(lambda scope: self._database.read(scope, store.get, checked))
        return found[0] if found else None

    def supersede_atom(self, atom_id: AtomId, atom: AtomInput) -> Atom:
        """Replace a fact that has changed by a newer version; return the new atom.

        The older versions are kept, and end where the new one begins at the latest. A version that was superseded or
        has ended raises Conflict, which names the newest version.
        """
        now = self._clock()
        checked = validate_atom(atom, now)
        indexed = self._retriever.index([checked])
        old_id = validate_id("atom_id", atom_id)
        return self._database.write(self._scope, replace_atom, self._scope, old_id, checked, indexed, now)

    def archive_atom(self, atom_id: AtomId, *, rejected: bool = False) -> None:
        """Remove an atom from recall; it can still be listed. Archiving it again changes nothing.

        rejected: the fact is wrong or unwanted, so extraction does not learn it again.
        """
        checked = validate_id("atom_id", atom_id)
        self._database.write(self._scope, _archive, self._scope, checked, bool(rejected), self._clock())

    def delete_atom(self, atom_id: AtomId) -> None:
        """Delete an atom for good, from the store and the search index. Older versions stay superseded.

        Keyed hashes of the fact remain, so that extraction does not learn it again.
        """
        self._database.write(self._scope, remove_atom, self._scope, validate_id("atom_id", atom_id), self._clock())

    def restore_atom(self, atom_id: AtomId) -> Atom:
        """Restore the older version of a fact after the newer one was deleted; needs the capability `admin`.

        The atom gets back its own end. Raises Conflict if the newer version exists, which it names, or if this
        one was archived. A version that was never superseded, or is restored already, is returned unchanged.
        """
        self._scope.require("admin")
        checked = validate_id("atom_id", atom_id)
        return self._database.write(self._scope, restoring.restore, self._scope, checked, self._clock())

    def list_atoms(
        self,
        memory_space_id: SpaceId,
        *,
        category: CategoryName | None = None,
        status: AtomStatus | None = "ACTIVE",
        valid_at: Instant | None = None,
        limit: Limit = 100,
        cursor: NumberCursor | None = None,
    ) -> Page[Atom]:
        """List the atoms of a space, newest first.

        category: the name of a category. status: `ACTIVE`, `ARCHIVED` or None for both. valid_at: only facts that were
        true then. Pass `next_cursor` of the page as `cursor` for more.
        """
        most = LIMIT.check("limit", limit)
        listed = partial(
            store.list_newest_first,
            space_id=(space_id := validate_id("memory_space_id", memory_space_id)),
            category=None if category is None else validate_name("category", category),
            status=validate_status(status),
            valid_at=validate_instant("valid_at", valid_at),
            before=None if cursor is None else _read_cursor(cursor),
            limit=most + 1,
        )
        # One more than asked for shows whether there is a next page.
        found = self._read_space(space_id, lambda scope: self._database.read(scope, listed))
        return Page([atom for _, atom in found[:most]], str(found[most - 1][0]) if len(found) > most else None)


def insert_atoms(
    run: Transaction,
    scope: Scope,
    space_id: str,
    atoms: Sequence[PreparedAtom],
    indexing: IndexBatch,
    now: Micros,
) -> list[Atom]:
    """Write atoms and their index rows.

    `indexing` makes vectors; it advances while the server is busy with the rows. Few atoms are written row by row, many
    as a bulk.
    """
    from longmind.recall.index import storage as writing

    begun = spaces.ask_change(run, space_id, now, len(atoms))
    if len(atoms) < writing.SMALL:
        if len(atoms) == 1:
            # For a single atom this takes no longer than the server takes to begin the change.
            indexing.finish()
        added, change = store.add(run, scope, space_id, atoms, now, begun, indexing.advance)
        writing.write(run, space_id, change, indexing.finish())
    else:
        index = writing.BulkIndexWriter(run, space_id, begun(), len(atoms), indexing.model)

        def advance(until: int) -> None:
            index.put_vectors(indexing.vectors, until)
            indexing.advance(until)

        added, change = store.add(run, scope, space_id, atoms, now, begun, advance)
        index.finish(indexing.finish())
    _lift_tombstones(run, space_id, change, atoms)
    return added


def replace_atom(
    run: Transaction, scope: Scope, old_id: str, atom: PreparedAtom, indexed: IndexEntries, now: Micros
) -> Atom:
    """Write an atom and its index rows as the newer version of another."""
    from longmind.recall.index import storage as writing

    added, change = store.supersede(run, scope, old_id, atom, now)
    writing.write(run, added.memory_space_id, change, indexed)
    _lift_tombstones(run, added.memory_space_id, change, [atom])
    return added


def _archive(run: Transaction, scope: Scope, atom_id: str, rejected: bool, now: Micros) -> None:
    store.archive(run, scope, atom_id, now)
    if rejected:
        atom, slot = store.get_with_slot(run, atom_id)
        spaces.begin_change(run, atom.memory_space_id, now)
        _bury(run, atom.memory_space_id, atom, slot)


def remove_atom(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> None:
    """Delete an atom and its index rows, and leave a tombstone that keeps extraction from learning it again."""
    from longmind.recall.index import storage as writing

    atom, slot = store.get_with_slot(run, atom_id)
    space_id, position = store.delete(run, scope, atom_id, now)
    writing.scrub(run, space_id, position)
    _bury(run, space_id, atom, slot)
    # A pattern that loses an episode may no longer have enough evidence.
    if atom.category.kind == "EPISODE":
        from longmind.extraction.patterns import evidence

        evidence.remove_event(run, scope, space_id, atom_id, now)


def _bury(run: Transaction, space_id: str, atom: Atom, slot: Slot | None) -> None:
    """Keep extraction from learning an atom again, and passages from quoting what it was learned from."""
    from longmind.extraction import forgotten
    from longmind.recall.index import passage_storage

    forgotten.bury(run, space_id, forgotten.ForgettableFact(atom.text, slot, tuple(atom.source_message_ids)))
    passage_storage.forget_messages(run, atom.source_message_ids)


def _lift_tombstones(run: Transaction, space_id: str, change: SpaceChange, atoms: Sequence[PreparedAtom]) -> None:
    """Remove tombstones of facts that the app itself adds: it means them, even if they were deleted before."""
    if change.tombstone_key is not None:
        from longmind.extraction import forgotten

        forgotten.lift(run, space_id, change.tombstone_key, [forgotten.ForgettableFact(atom.text) for atom in atoms])


def _read_cursor(cursor: object) -> int:
    # A position has at most 19 digits; a longer number would not fit into a column.
    if isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() and len(cursor) < 19:
        return int(cursor)
    raise InvalidInput(f"cursor {cursor!r} is not valid.", hint="Pass next_cursor of the previous page.")
