"""The fence that keeps work which began before an erasure from writing after it.

A job or a running turn reads, thinks for a long time, and writes several times. Once its user was erased, none of what
it still has in memory may come back. Invariants:

- The fence stands in the context of the work (`fence_erasures`), with the epoch that its user had at the beginning. A
  fence inside an older one of the same user keeps the older epoch.
- Every `write` of that context, in whatever scope, goes through `guard`. In its own transaction it first holds the
  epoch of the user, and then compares it; if it was raised, the write fails with UserErased and nothing is written.
  Only `write_exclusively`, by which users are erased, may skip this.
- An erasure takes the same lock for itself. So either the write commits first and the erasure sees its rows, or the
  erasure commits first and the write is refused. Reading the epoch without holding it would leave a gap between.
- Threads that the work starts must run in a copy of its context, or they stand behind no fence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from longmind.errors import UserErased
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import erasures

T = TypeVar("T")


@dataclass(frozen=True)
class ErasureFence:
    """The user whose erasures count, and the epoch of that user when the work began."""

    scope: Scope
    epoch: int


_standing: ContextVar[ErasureFence | None] = ContextVar("fence", default=None)


@contextmanager
def fence_erasures(database: Database, scope: Scope, epoch: int | None = None) -> Iterator[None]:
    """Refuse every write inside the block, in whatever scope, once this user was erased.

    epoch: the epoch that the work began in, where it is known, as for a job that waited in the queue.
    """
    known = database.read(scope, erasures.read_epoch) if epoch is None else epoch
    standing = _standing.get()
    if standing is not None and standing.scope.id == scope.id:
        # Work inside of older work belongs to it, and is refused with it.
        known = min(known, standing.epoch)
    token = _standing.set(ErasureFence(scope, known))
    try:
        yield
    finally:
        _standing.reset(token)


def guard(work: Callable[..., T]) -> Callable[..., T]:
    """Return a unit of work that first checks the fence of this context; without a fence, the work itself."""
    fence = _standing.get()
    return work if fence is None else _check_epoch_first(fence, work)


def _check_epoch_first(fence: ErasureFence, work: Callable[..., T]) -> Callable[..., T]:
    def check_first(run: Transaction, *args: Any, **kwargs: Any) -> T:
        with run.bind_scope(fence.scope) as fenced_run:
            # Held until the end of the transaction, so that an erasure waits for it, or this for the erasure.
            erasures.hold_epoch(fenced_run)
            if erasures.read_epoch(fenced_run) != fence.epoch:
                raise UserErased
        return work(run, *args, **kwargs)

    return check_first
