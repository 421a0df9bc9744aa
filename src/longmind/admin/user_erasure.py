"""Erases a user: every row of theirs, and what others keep because of them, in one transaction.

What is kept is the number of times that the scope was erased, by which late work knows that it comes too late, and a
receipt in the log of the app, which says how much was erased and of whom only a hash.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from longmind.clock import Micros
from longmind.extraction.patterns import evidence
from longmind.recall.index import storage as writing
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms, bindings, jobs, spaces
from longmind.store.whole_tables import rows as moving
from longmind.store.whole_tables.rows import Table

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


def erase(run: Transaction, scope: Scope, tables: Sequence[Table], now: Micros) -> Erased:
    """Remove all that belongs to a user. What is shared with many goes first, so that it is held for the shortest."""
    epoch = jobs.raise_epoch(run)
    elsewhere = _erase_elsewhere(run, scope, now)
    ends = run.all("audit_ends")
    messages = _number(run, "count_messages")
    named = bindings.forget_user(run, scope.user_id)
    counts = {table.name: moving.erase(run, table, scope) for table in tables}
    counts["events"] -= messages
    counts |= {"messages": messages, **elsewhere, "named_in_bindings": named}
    chains = [{"lines": seq, "hash": hash} for seq, hash, _ in ends]
    return Erased(counts, epoch, chains, [file for *_, file in ends if file], dict(run.all("table_files")))


def _number(run: Transaction, query: str) -> int:
    row = run.one(query)
    return int(row[0]) if row else 0


def _erase_elsewhere(run: Transaction, scope: Scope, now: Micros) -> dict[str, int]:
    """What shared spaces of other users have learned from this one, and where their history names this one."""
    counts = {"shared_atoms": 0, "shared_entities": 0, "named_in_history": 0}
    whose = {"tenant_id": scope.tenant_id, "app_id": scope.app_id, "user_id": scope.user_id}
    with run.bind_scope(None) as everywhere:
        shared = everywhere.all("shared_spaces_of_others", **whose)
    for owner_id, space_id, deleted_at in shared:
        owner = Scope(scope.tenant_id, scope.app_id, owner_id)
        heard = {"owner": owner.id, "speaker_scope": scope.id}
        with run.bind_scope(None) as everywhere:
            found = everywhere.all("atoms_heard_from", space_id=space_id, speaker=scope.user_id, **heard)
            everywhere.send("forget_marks_of", **heard)
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
            run.send("delete_atom_links", atom_id=atom_id)
            run.send("delete_atom", id=atom_id)
        elif atoms.get(run, atom_id) is not None:
            atoms.delete(run, owner, atom_id, now)
            if kind == "EPISODE":
                evidence.withdraw(run, owner, space_id, atom_id, now)
        writing.scrub(run, space_id, position)


def _forget_entities(run: Transaction, space_id: str, learned_at: set[Micros], now: Micros) -> int:
    """Remove entities, and names of entities, that were learned with the atoms and that nobody else speaks of."""
    gone = 0
    learned = False
    for at in sorted(learned_at):
        for (entity_id,) in run.all("entities_left_over", space_id=space_id, at=at):
            run.send("erase_names_of", id=entity_id)
            run.send("erase_entity", id=entity_id)
            gone += 1
        learned = bool(run.all("erase_names_learned", space_id=space_id, at=at)) or learned
    if (gone or learned) and spaces.get(run, space_id) is not None:
        run.send("names_changed", space_id=space_id, revision=spaces.begin_change(run, space_id, now).revision)
    return gone


def _forget_reader(run: Transaction, user_id: str) -> int:
    named = 0
    for event_id, data in run.all("grants_told"):
        told = json.loads(data)
        if told.get("readerId") == user_id:
            run.send("put_told", event_id=event_id, data=json.dumps({**told, "readerId": ERASED}, ensure_ascii=False))
            named += 1
    return named
