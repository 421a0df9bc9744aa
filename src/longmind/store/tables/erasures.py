"""The epoch of each scope: how often it was erased. Work that began in an earlier epoch must not write any more.

The row outlives the user, under the hash that is the scope's id. Besides it, an erasure leaves only its receipt, in the
audit log of the app.
"""

from __future__ import annotations

from typing import Any

from longmind.store.database import Transaction


def read_epoch(run: Transaction) -> int:
    """Return how often the scope was erased."""
    row = run.one("scope_epoch")
    return int(row[0]) if row else 0


def hold_epoch(run: Transaction) -> None:
    """Keep the scope from being erased until the end of the transaction.

    Transactions that hold it do not wait for each other, only for an erasure, as an erasure waits for them.
    """
    run.one("hold_epoch")


def raise_epoch(run: Transaction) -> int:
    """Begin a new epoch of the scope and return it: jobs that were queued before can no longer write."""
    row: Any = run.one("raise_epoch")
    return int(row[0])
