"""Erases a user: every row of theirs, and what others keep because of them, in one transaction.

What is kept is the number of times that the scope was erased, by which late work knows that it comes too late, and a
receipt in the log of the app, which says how much was erased and of whom only a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from longmind.clock import Micros
from longmind.extraction.patterns import evidence
from longmind.recall.index import storage as writing
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import (
    atoms,
    audit,
    bindings,
    entities,
    erasures,
    extraction_marks,
    ledger,
    messages,
    spaces,
)
from longmind.store.whole_tables import rows as moving
from longmind.store.whole_tables.rows import TableColumns

ERASED = "(erased)"
"""What stands in the place of the user's id where the history of another user names it."""


@dataclass
class Erased:
    """How much was erased in each place, and what is known of the audit that went with it."""

    counts: dict[str, int]
    epoch: int
    chains: list[dict[str, Any]] = field(default_factory=list)
    """How many lines each chain of the user's audit had, and the hash of its last one."""
    files: list[str] = field(default_factory=list)
    """Files that lines of that audit were moved to: they are for the host to remove."""
    written_in: dict[str, int] = field(default_factory=dict)
    """The file that each table was in, where each has its own: it is another once its rows are gone from the disk."""


def erase(run: Transaction, scope: Scope, tables: Sequence[TableColumns], now: Micros) -> Erased:
    """Remove all that belongs to a user. What is shared with many goes first, so that it is held for the shortest."""
    epoch = erasures.raise_epoch(run)
    elsewhere = _erase_elsewhere(run, scope, now)
    ends = audit.list_ends(run)
    said = messages.count(run)
    named = bindings.forget_user(run, scope.user_id)
    counts = {table.name: moving.erase_rows(run, table, scope) for table in tables}
    counts["events"] -= said
    counts |= {"messages": said, **elsewhere, "named_in_bindings": named}
    chains = [{"lines": seq, "hash": hash} for seq, hash, _ in ends]
    return Erased(counts, epoch, chains, [file for *_, file in ends if file], moving.read_files(run))


def _erase_elsewhere(run: Transaction, scope: Scope, now: Micros) -> dict[str, int]:
    """What shared spaces of other users have learned from this one, and where their history names this one."""
    counts = {"shared_atoms": 0, "shared_entities": 0, "named_in_history": 0}
    with run.bind_scope(None) as everywhere:
        shared = spaces.list_shared_by_others(everywhere, scope)
    for owner_id, space_id, deleted_at in shared:
        owner = Scope(scope.tenant_id, scope.app_id, owner_id)
        with run.bind_scope(None) as everywhere:
            found = atoms.list_heard_from(everywhere, owner, space_id, scope)
            extraction_marks.forget_conversations(everywhere, owner, scope)
        if found:
            with run.bind_scope(owner) as there:
                _forget_atoms(there, owner, space_id, found, deleted_at is not None, now)
                counts["shared_entities"] += _forget_entities(there, space_id, {at for _, _, at, _ in found}, now)
            counts["shared_atoms"] += len(found)
    for owner_id in dict.fromkeys(owner_id for owner_id, *_ in shared):
        with run.bind_scope(Scope(scope.tenant_id, scope.app_id, owner_id)) as there:
            counts["named_in_history"] += _forget_reader(there, scope.user_id)
    return counts


def _forget_atoms(
    run: Transaction, owner: Scope, space_id: str, found: Sequence[tuple[Any, ...]], put_away: bool, now: Micros
) -> None:
    # No tombstone is left: its hashes would be of what the user said.
    for atom_id, position, _, kind in found:
        if put_away:
            # Nobody reads the space any more, so that no cache has to learn of it.
            atoms.drop(run, atom_id)
        elif atoms.get(run, atom_id) is not None:
            atoms.delete(run, owner, atom_id, now)
            if kind == "EPISODE":
                evidence.remove_event(run, owner, space_id, atom_id, now)
        writing.scrub(run, space_id, position)


def _forget_entities(run: Transaction, space_id: str, learned_at: set[Micros], now: Micros) -> int:
    """Remove entities, and names of entities, that were learned with the atoms and that nobody else speaks of."""
    gone, learned = entities.forget_learned(run, space_id, learned_at)
    if (gone or learned) and spaces.get(run, space_id) is not None:
        spaces.note_names(run, space_id, spaces.begin_change(run, space_id, now).revision)
    return gone


def _forget_reader(run: Transaction, user_id: str) -> int:
    named = 0
    for event_id, change in ledger.read_grant_changes(run):
        if change.get("readerId") == user_id:
            ledger.put_change(run, event_id, {**change, "readerId": ERASED})
            named += 1
    return named
