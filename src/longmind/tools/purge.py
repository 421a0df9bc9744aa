"""What was superseded long ago is purged: entries of the memory tools, and nothing else."""

from __future__ import annotations

from longmind.clock import Micros
from longmind.errors import NotFound
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import atoms

_DAY = 24 * 3600 * 1_000_000
AT_ONCE = 500
AT_START = 100
"""How many are purged when an engine is opened: nobody should have to wait for it."""


def purge(database: Database, now: Micros, days: int, most: int | None = None) -> int:
    """Remove the entries, of all users, that were superseded so many days ago or more; gives how many they were."""
    purged = 0
    while most is None or purged < most:
        some = AT_ONCE if most is None else min(AT_ONCE, most - purged)
        due = database.read(None, atoms.list_purgeable, now - days * _DAY, some)
        gone = sum(database.write(scope, _purge, scope, atom_id, now) for scope, atom_id in due)
        if not gone:
            break
        purged += gone
    return purged


def _purge(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> int:
    # Unlike what somebody has deleted, it may be learned again: it was true once, and can become true again.
    from longmind.recall.index import storage as writing

    try:
        space_id, position = atoms.delete(run, scope, atom_id, now)
    except NotFound:
        # Another process purges too.
        return 0
    writing.scrub(run, space_id, position)
    return 1
