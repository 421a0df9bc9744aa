"""Tombstones: hashes of forgotten facts, keyed with a secret of their space.

Which hashes a fact leaves is decided in `longmind.extraction.forgotten`; the rows here are opaque. All hashes of one
buried fact carry the same random `fact`, so that lifting it removes them together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from longmind.store.database import Transaction


def read_key(run: Transaction, space_id: str) -> str | None:
    """Return the secret of a space; None as long as nothing was buried there, or when there is no such space."""
    row = run.one("tombstone_key", space_id=space_id)
    return None if row is None else row[0]


def take_key(run: Transaction, space_id: str, fresh: str) -> str | None:
    """Return the secret of a space, which becomes `fresh` if it has none yet; None when there is no such space."""
    row = run.one("take_tombstone_key", space_id=space_id, fresh=fresh)
    return None if row is None else row[0]


def insert(run: Transaction, space_id: str, hash: str, fact: str) -> None:
    """Add one hash of a buried fact."""
    run.send("insert_tombstone", space_id=space_id, hash=hash, fact=fact)


def drop(run: Transaction, space_id: str, fact: str) -> None:
    """Remove all hashes of a buried fact."""
    run.send("drop_tombstone", space_id=space_id, fact=fact)


def find(run: Transaction, space_id: str, hashes: Sequence[str]) -> list[tuple[str, str]]:
    """Return those of the hashes that are there, each with the fact it belongs to."""
    return [(row[0], row[1]) for row in run.all("tombstones_of", space_id=space_id, hashes=json.dumps(hashes))]
