"""Purge of entries of the memory tools that were superseded long ago. Other atoms are never purged."""

from __future__ import annotations

from longmind.clock import Micros
from longmind.errors import NotFound
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import atoms

_DAY = 24 * 3600 * 1_000_000
_BATCH_SIZE = 500
START_LIMIT = 100
"""Most entries that are purged when an engine opens: opening must stay fast."""


def purge(database: Database, now: Micros, days: int, limit: int | None = None) -> int:
    """Remove the entries of all users that were superseded at least `days` ago; return how many were removed.

    Each entry is a transaction of its own, so that a long purge never blocks other writers. Several processes may purge
    at once. `limit` is the most that one call removes.
    """
    purged = 0
    while limit is None or purged < limit:
        batch_size = _BATCH_SIZE if limit is None else min(_BATCH_SIZE, limit - purged)
        due = database.read(None, atoms.list_purgeable, now - days * _DAY, batch_size)
        removed = sum(database.write(scope, _purge_entry, scope, atom_id, now) for scope, atom_id in due)
        if not removed:
            break
        purged += removed
    return purged


def _purge_entry(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> int:
    # Unlike a deleted atom it leaves no tombstone and may be learned again: what was true once can become true again.
    from longmind.recall.index import storage as writing

    try:
        space_id, position = atoms.delete(run, scope, atom_id, now)
    except NotFound:
        # Another process has purged it.
        return 0
    writing.scrub(run, space_id, position)
    return 1
