"""Erasure of a user: every row of theirs, and every trace of them in the data of others, in one transaction.

Invariants:

- The transaction first raises the epoch of the scope. A job or a running turn that began in an earlier epoch stands
  behind a fence: its transactions that are under way end before the erasure, and all later ones are refused, so that
  nothing comes back.
- It sees and changes the scope as of one instant (`write_exclusively`), and begins again if a row was changed in
  between.
- Spaces of others come before the user's own tables, since the atoms there are found by the user's conversations. The
  tables are erased in the order of `USER_TABLES`: rows that others look up first go first, so that a transaction that
  waits for one of them then finds it gone.
- Shared spaces of others lose the atoms that rest on what the user said, together with their segments of the search
  index, patterns that rest on too few atoms then, and entities that nobody else mentions. No tombstone is left for
  these atoms, since its hashes would be made from what the user said.
- Changes in the history of others that name the user as a reader name `ERASED` instead.
- In an app that shares memory blocks with others of the tenant, those blocks go too. They hold what the user said in
  each of these apps, and nothing in them says where.
- What remains is the epoch, under the hash that is the scope's id, and a receipt in the log of the app with the number
  of erased rows and a hash of the user. Traces in the files of the database, and data outside of it, are for the caller
  to remove once this is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from longmind.clock import Micros
from longmind.extraction.patterns import evidence
from longmind.recall.index import storage as index_storage
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables import (
    atoms,
    audit,
    bindings,
    entities,
    erasures,
    extraction_marks,
    ledger,
    messages,
    passages,
    spaces,
)
from longmind.store.whole_tables import user_rows as table_rows
from longmind.store.whole_tables.user_rows import TableColumns
from longmind.store.whole_tables.user_tables import TENANT_TABLES

ERASED = "(erased)"
"""The text in the place of the user's id where the history of another user named it."""


@dataclass
class ErasureResult:
    """The number of rows that were erased in each place, and what is known of the audit that went with them."""

    counts: dict[str, int]
    epoch: int
    chains: list[dict[str, Any]] = field(default_factory=list)
    """The number of lines of each chain of the user's audit, and the hash of its last one."""
    files: list[str] = field(default_factory=list)
    """Files that lines of that audit were moved to: the host has to remove them."""
    table_files: dict[str, int] = field(default_factory=dict)
    """The file of each table, where each has its own: it is another once the erased rows are gone from the disk."""


def erase(run: Transaction, scope: Scope, tables: Sequence[TableColumns], now: Micros) -> ErasureResult:
    """Erase a user. Call it inside `write_exclusively` only; nothing is erased unless all of it commits."""
    epoch = erasures.raise_epoch(run)
    passages.begin_epoch(run)
    shared = _erase_from_others(run, scope, now)
    # Read before the tables go: the receipt says where the chains of the user ended.
    ends = audit.list_ends(run)
    message_count = messages.count(run)
    bindings_naming_user = bindings.forget_user(run, scope.user_id)
    counts: dict[str, int] = {}
    for table in tables:
        counts[table.name] = table_rows.erase_rows(run, table, scope)
        if table.name == "blocks":
            # Early, since a write of another app in between makes the erasure start over.
            counts |= _erase_tenant_blocks(run, scope, tables)
    # Messages are rows of the events; they are reported by themselves.
    counts["events"] -= message_count
    counts |= {"messages": message_count, **shared, "named_in_bindings": bindings_naming_user}
    chains = [{"lines": seq, "hash": hash} for seq, hash, _ in ends]
    files = [file for *_, file in ends if file]
    return ErasureResult(counts, epoch, chains, files, table_rows.read_files(run))


def _erase_tenant_blocks(run: Transaction, scope: Scope, tables: Sequence[TableColumns]) -> dict[str, int]:
    """Erase the memory blocks that the app shares with others of the tenant; nothing if it shares none."""
    owner = scope.block_owner
    if owner is scope:
        return {}
    table_by_name = {table.name: table for table in tables}
    with run.bind_scope(owner) as owner_run:
        return {
            name: table_rows.erase_rows(owner_run, table_by_name[table], owner) for name, table in TENANT_TABLES.items()
        }


def _erase_from_others(run: Transaction, scope: Scope, now: Micros) -> dict[str, int]:
    """Erase what shared spaces of others have learned from a user, and the user's id from their history."""
    counts = {"shared_atoms": 0, "shared_entities": 0, "named_in_history": 0}
    # Bindings may be deleted since, so only a look at every shared space of the app finds where the user was heard.
    with run.bind_scope(None) as unscoped_run:
        shared = spaces.list_shared_by_others(unscoped_run, scope)
    for owner_id, space_id, deleted_at in shared:
        owner = Scope(scope.tenant_id, scope.app_id, owner_id)
        with run.bind_scope(None) as unscoped_run:
            found = atoms.list_from_speaker(unscoped_run, owner, space_id, scope)
            extraction_marks.forget_conversations(unscoped_run, owner, scope)
        if found:
            learned_at = {created_at for _, _, created_at, _ in found}
            # The rows belong to the owner, and row-level security hides them from every other scope.
            with run.bind_scope(owner) as owner_run:
                _erase_shared_atoms(owner_run, owner, space_id, found, deleted_at is not None, now)
                counts["shared_entities"] += _erase_shared_entities(owner_run, space_id, learned_at, now)
            counts["shared_atoms"] += len(found)
    for owner_id in dict.fromkeys(owner_id for owner_id, *_ in shared):
        with run.bind_scope(Scope(scope.tenant_id, scope.app_id, owner_id)) as owner_run:
            counts["named_in_history"] += _erase_reader(owner_run, scope.user_id)
    return counts


def _erase_shared_atoms(
    run: Transaction, owner: Scope, space_id: str, found: Sequence[Row], is_deleted: bool, now: Micros
) -> None:
    """Erase atoms of a shared space from the table and from the search index."""
    for atom_id, position, _, kind in found:
        if is_deleted:
            # Nobody reads a deleted space, so no cache has to learn of it.
            atoms.drop(run, atom_id)
        elif atoms.get(run, atom_id) is not None:
            atoms.delete(run, owner, atom_id, now)
            if kind == "EPISODE":
                evidence.remove_event(run, owner, space_id, atom_id, now)
        index_storage.scrub(run, space_id, position)


def _erase_shared_entities(run: Transaction, space_id: str, learned_at: Iterable[Micros], now: Micros) -> int:
    """Erase entities and names that were learned with the atoms and that nobody else mentions; return how many."""
    removed_entities, names_removed = entities.forget_learned(run, space_id, learned_at)
    if (removed_entities or names_removed) and spaces.get(run, space_id) is not None:
        spaces.note_names(run, space_id, spaces.begin_change(run, space_id, now).revision)
    return removed_entities


def _erase_reader(run: Transaction, user_id: str) -> int:
    """Take the user's id out of the grants in the history of another user; return how many changes named it."""
    changed_grants = 0
    for event_id, change in ledger.read_grant_changes(run):
        if change.get("readerId") == user_id:
            ledger.put_change(run, event_id, {**change, "readerId": ERASED})
            changed_grants += 1
    return changed_grants
