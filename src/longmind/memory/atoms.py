"""Operations on atoms.

Texts are indexed and embedded before the transaction begins, or, in a bulk, while the server works on the rows. The
rows of atoms and of their search index are written in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from longmind.clock import Instant, Micros
from longmind.errors import InvalidInput, LimitExceeded
from longmind.ids import random_halves
from longmind.memory.atom_input import add_fields, keep_category
from longmind.memory.service_base import MemoryBase
from longmind.memory.validation import (
    BULK_LIMIT,
    validate_atom,
    validate_instant,
    validate_metadata_filter,
    validate_name,
    validate_names,
    validate_status,
)
from longmind.models.atom import Atom, AtomInput, AtomKind, AtomStatus, MetadataFilter, Trust
from longmind.models.value import Page
from longmind.runtime.gc_pause import pause_collection
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms as store
from longmind.store.tables import block_copies, restated_atoms, spaces
from longmind.store.tables import restored_atoms as restoring
from longmind.store.tables.atom_rows import PreparedAtom, Slot
from longmind.store.tables.spaces import SpaceChange
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import (
    LIMIT,
    AtomId,
    CategoryName,
    Confidence,
    Importance,
    Limit,
    MessageId,
    Name,
    NumberCursor,
    SpaceId,
)

if TYPE_CHECKING:
    # The functions below load it when they run: it brings numpy, which takes longer to load than all of the rest.
    from longmind.recall.index.index_batch import IndexBatch
    from longmind.recall.index.storage import IndexEntries

MOST_FORGOTTEN = 1_000
"""Messages that are taken out of quotes at a time."""


class Atoms(MemoryBase):
    """The facts of memory spaces."""

    def add_atom(
        self,
        memory_space_id: SpaceId,
        atom: AtomInput,
        *,
        kind: AtomKind | None = None,
        category: CategoryName | None = None,
        importance: Importance | None = None,
        confidence: Confidence | None = None,
        tags: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
        key: Name | None = None,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        trust: Trust | None = None,
    ) -> Atom:
        """Add one fact and return it as stored. Raises InvalidInput and LimitExceeded like `add_atoms`.

        memory_space_id: the id or the name of a space.
        atom: a text, or a `NewAtom` or a dict of its fields.
        kind, category: how the platform treats the fact, and the app's own word for it; by default `FACT` and `note`.
        importance: from 1 to 5, by default 3. confidence: from 0 to 1, by default 1.
        tags, metadata: the app's own, for filters; metadata has at most 64 keys and 16 KiB of JSON.
        key: the app's own name for the fact.
        valid_from, valid_to: the time in which it is true, by default from now on.
        trust: who stated it, by default the app. These keywords win over the fields of `atom`.

        A fact that is known already is reinforced and returned: one with the same text, category, speaker and trust
        that holds now. Letter case, white space and a full stop at the end make no difference; an `EPISODE` is the same
        only if it begins at the same instant. Under a `key` the space has one fact: another text supersedes it.
        """
        now = self._clock()
        atom = add_fields(
            atom,
            kind=kind,
            category=category,
            importance=importance,
            confidence=confidence,
            tags=list(tags) if isinstance(tags, tuple) else tags,
            metadata=metadata,
            key=key,
            valid_from=valid_from,
            valid_to=valid_to,
            trust=trust,
        )
        checked = validate_atom(atom, now)
        space_id = self._find_space(memory_space_id)
        indexing = self._retriever.begin_indexing([checked])
        return self._database.write(self._scope, put_atom, self._scope, space_id, checked, indexing, now)

    def add_atoms(self, memory_space_id: SpaceId, atoms: Sequence[AtomInput]) -> list[Atom]:
        """Add up to 100,000 facts in one transaction: all of them, or none.

        memory_space_id: the id or the name of a space. atoms: each a text, a `NewAtom` or a dict of its fields.

        A text has at most 1,048,576 characters, a name 255 and a list 1,000 members. Sources and entities must exist. A
        fact that was deleted before may be recalled again once the app adds it.

        Every fact becomes an atom of its own, also one that is known already: a bulk is a copy of memory from
        elsewhere, with its repetitions and its history. Only a fact with a `key` reinforces or supersedes another.
        """
        if isinstance(atoms, str | dict) or not isinstance(atoms, Sequence):
            raise InvalidInput(f"atoms must be a list, not {type(atoms).__name__}.")
        if len(atoms) > BULK_LIMIT:
            raise LimitExceeded("atoms", limit=BULK_LIMIT, given=len(atoms), unit="at a time")
        now = self._clock()
        # An empty list is no error, but the space must exist as for any other.
        if not atoms:
            self._database.read(self._scope, spaces.require, self._find_space(memory_space_id))
            return []
        # All random halves at once: drawing them one by one takes longer than all of the checks.
        single, random = len(atoms) == 1, random_halves(len(atoms))
        with pause_collection():
            checked = [
                validate_atom(atom, now, "atom" if single else f"atoms[{place}]", next(random))
                for place, atom in enumerate(atoms)
            ]
        space_id = self._find_space(memory_space_id)
        if any(atom.key is not None for atom in checked):
            groups = _split_at_keys(checked)
            batches = list(zip(groups, self._retriever.begin_indexing_groups(groups), strict=True))
            return self._database.write(self._scope, _put_groups, self._scope, space_id, batches, now)
        indexing = self._retriever.begin_indexing(checked)
        return self._database.write(self._scope, insert_atoms, self._scope, space_id, checked, indexing, now)

    def mine_patterns(self, memory_space_id: SpaceId) -> list[Atom]:
        """Find patterns in the episodes of a space now; return the new and changed ones.

        memory_space_id: the id or the name of a space.
        """
        return self._pipeline.pattern_finder.find_now(self._scope, self._find_space(memory_space_id))

    def get_atom(self, atom_id: AtomId) -> Atom | None:
        """Return an atom, or None if there is none with this id that the user may read.

        atom_id: the atom.
        """
        checked = validate_id("atom_id", atom_id)
        found = self._find_by_id(lambda scope: self._database.read(scope, store.get, checked))
        return found[0] if found else None

    def supersede_atom(
        self,
        atom_id: AtomId,
        atom: AtomInput,
        *,
        kind: AtomKind | None = None,
        category: CategoryName | None = None,
        importance: Importance | None = None,
        confidence: Confidence | None = None,
        tags: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
        key: Name | None = None,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        trust: Trust | None = None,
    ) -> Atom:
        """Replace a fact that has changed by a newer version; return the new atom.

        atom_id: the version that is replaced. atom: the new one, a text, a `NewAtom` or a dict of its fields.
        kind, category: as in `add_atom`; without either, both are those of the old version.
        importance, confidence, tags, metadata, valid_from, valid_to, trust: as in `add_atom`, with the same defaults.
        key: the app's own name for the fact; by default that of the old version.

        The older versions are kept, and end where the new one begins at the latest. A version that was superseded or
        has ended raises Conflict, which names the newest version.
        """
        now = self._clock()
        old_id = validate_id("atom_id", atom_id)
        atom = add_fields(
            atom,
            kind=kind,
            category=category,
            importance=importance,
            confidence=confidence,
            tags=list(tags) if isinstance(tags, tuple) else tags,
            metadata=metadata,
            key=key,
            valid_from=valid_from,
            valid_to=valid_to,
            trust=trust,
        )
        checked = validate_atom(atom, now)
        known = self._database.read(self._scope, store.get, old_id)
        if known is not None:
            checked = validate_atom(keep_category(atom, known), now)
        indexed = self._retriever.index([checked])
        return self._database.write(self._scope, replace_atom, self._scope, old_id, checked, indexed, now)

    def archive_atom(self, atom_id: AtomId, *, rejected: bool = False) -> None:
        """Remove an atom from recall; it can still be listed. Archiving it again changes nothing.

        atom_id: the atom. rejected: the fact is wrong or unwanted, so extraction does not learn it again.
        """
        checked = validate_id("atom_id", atom_id)
        self._database.write(self._scope, _archive, self._scope, checked, bool(rejected), self._clock())

    def delete_atom(self, atom_id: AtomId) -> None:
        """Delete an atom for good, from the store and the search index. Older versions stay superseded.

        Keyed hashes of the fact remain, so that extraction does not learn it again.

        atom_id: the atom.
        """
        self._database.write(self._scope, remove_atom, self._scope, validate_id("atom_id", atom_id), self._clock())

    def forget_messages(self, message_ids: Sequence[MessageId]) -> None:
        """Stop quoting messages, for good: recall finds them no more.

        The messages stay in their conversations, and facts that were learned from them stay too.

        message_ids: at most 1,000; those of no message of the user are ignored.
        """
        if isinstance(message_ids, str) or not isinstance(message_ids, list | tuple):
            raise InvalidInput(f"message_ids must be a list, not {type(message_ids).__name__}.")
        if len(message_ids) > MOST_FORGOTTEN:
            raise LimitExceeded("message_ids", limit=MOST_FORGOTTEN, given=len(message_ids), unit="at a time")
        checked = [validate_id(f"message_ids[{place}]", each) for place, each in enumerate(message_ids)]
        self._database.write(self._scope, _stop_quoting, checked)

    def restore_atom(self, atom_id: AtomId) -> Atom:
        """Restore the older version of a fact after the newer one was deleted; needs the capability `admin`.

        The atom gets back its own end. Raises Conflict if the newer version exists, which it names, or if this one was
        archived. A version that was never superseded, or is restored already, is returned unchanged.

        atom_id: the older version.
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
        tags: Sequence[str] | None = None,
        metadata: MetadataFilter | None = None,
        valid_at: Instant | None = None,
        limit: Limit = 100,
        cursor: NumberCursor | None = None,
    ) -> Page[Atom]:
        """List the atoms of a space, newest first.

        memory_space_id: the id or the name of a space. category: the name of a category.
        status: `ACTIVE`, `ARCHIVED` or None for both.
        tags: only atoms with all of these. metadata: only atoms that have all of these keys with these values.
        valid_at: only facts that were true then. limit: from 1 to 10,000.
        cursor: `next_cursor` of the previous page; by default the newest.
        """
        most = LIMIT.check("limit", limit)
        listed = partial(
            store.list_newest_first,
            category=None if category is None else validate_name("category", category),
            status=validate_status(status),
            tags=validate_names("tags", tags),
            metadata=validate_metadata_filter(metadata),
            valid_at=validate_instant("valid_at", valid_at),
            before=None if cursor is None else _read_cursor(cursor),
            limit=most + 1,
            space_id=(space_id := self._find_space(memory_space_id)),
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
    return _insert(run, scope, space_id, atoms, indexing, now, spaces.ask_change(run, space_id, now, len(atoms)))


def _insert(
    run: Transaction,
    scope: Scope,
    space_id: str,
    atoms: Sequence[PreparedAtom],
    indexing: IndexBatch,
    now: Micros,
    begun: Callable[[], SpaceChange],
) -> list[Atom]:
    """Write atoms and their index rows in a change of the space. `begun` waits for the change to begin."""
    from longmind.recall.index import storage as writing

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


def put_atom(
    run: Transaction, scope: Scope, space_id: str, atom: PreparedAtom, indexing: IndexBatch, now: Micros
) -> Atom:
    """Write an atom and its index rows, or reinforce the known atom that states the same.

    Under a key it replaces the atom that has the key, if that states something else.
    """
    begun = spaces.ask_change(run, space_id, now, 1)
    ask_known = restated_atoms.ask_known(run, space_id, atom, now)
    # For a single atom this takes no longer than the server takes to begin the change.
    indexed = indexing.finish()
    change = begun()
    known = ask_known()
    if known is None:
        return _insert(run, scope, space_id, [atom], indexing, now, begun)[0]
    if not known.is_same:
        return replace_atom(run, scope, known.atom.id, atom, indexed, now, change)
    spaces.return_position(run, space_id)
    restated_atoms.restate(run, scope, known.atom, atom, change.revision, now)
    _lift_tombstones(run, space_id, change, [atom])
    return store.get_with_slot(run, known.atom.id)[0]


def _put_groups(
    run: Transaction,
    scope: Scope,
    space_id: str,
    batches: Sequence[tuple[Sequence[PreparedAtom], IndexBatch]],
    now: Micros,
) -> list[Atom]:
    """Write groups of atoms: one with a key is alone in its group."""
    added: list[Atom] = []
    for atoms, indexing in batches:
        if atoms[0].key is None:
            added += insert_atoms(run, scope, space_id, atoms, indexing, now)
        else:
            added.append(put_atom(run, scope, space_id, atoms[0], indexing, now))
    return added


def _split_at_keys(atoms: Sequence[PreparedAtom]) -> list[Sequence[PreparedAtom]]:
    """Split atoms into groups in which those with a key are alone."""
    groups: list[list[PreparedAtom]] = []
    for atom in atoms:
        if atom.key is None and groups and groups[-1][0].key is None:
            groups[-1].append(atom)
        else:
            groups.append([atom])
    return list(groups)


def replace_atom(
    run: Transaction,
    scope: Scope,
    old_id: str,
    atom: PreparedAtom,
    indexed: IndexEntries,
    now: Micros,
    begun: SpaceChange | None = None,
) -> Atom:
    """Write an atom and its index rows as the newer version of another. `begun` is the change, where it has begun."""
    from longmind.recall.index import storage as writing

    old = store.get(run, old_id)
    added, change = store.supersede(run, scope, old_id, atom, now, begun)
    if old is not None:
        block_copies.replace_copies(run, scope, old.text, added.text, now)
    writing.write(run, added.memory_space_id, change, indexed)
    _lift_tombstones(run, added.memory_space_id, change, [atom])
    return added


def _archive(run: Transaction, scope: Scope, atom_id: str, rejected: bool, now: Micros) -> None:
    store.archive(run, scope, atom_id, now)
    atom, slot = store.get_with_slot(run, atom_id)
    block_copies.remove_copies(run, scope, atom.text, now, for_good=rejected)
    if rejected:
        spaces.begin_change(run, atom.memory_space_id, now)
        _bury(run, atom.memory_space_id, atom, slot)


def remove_atom(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> None:
    """Delete an atom and its index rows, and leave a tombstone that keeps extraction from learning it again."""
    from longmind.recall.index import storage as writing

    atom, slot = store.get_with_slot(run, atom_id)
    space_id, position = store.delete(run, scope, atom_id, now)
    writing.scrub(run, space_id, position)
    block_copies.remove_copies(run, scope, atom.text, now, for_good=True)
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


def _stop_quoting(run: Transaction, message_ids: Sequence[str]) -> None:
    from longmind.recall.index import passage_storage

    passage_storage.forget_messages(run, message_ids)


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
