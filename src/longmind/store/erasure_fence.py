"""Keeps work that began before an erasure from writing after it.

A job, or a turn that is run, writes several times and takes long in between. What it began with is gone once its user
was erased, and what it would still write must not come back: each of its writes first looks whether the scope's count
of erasures is still the one that it began with.
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
    """Whose erasures count, and how many there had been when the work began."""

    scope: Scope
    epoch: int


_standing: ContextVar[ErasureFence | None] = ContextVar("fence", default=None)


@contextmanager
def fence_erasures(database: Database, scope: Scope, epoch: int | None = None) -> Iterator[None]:
    """Whatever is written meanwhile, in whichever scope, is refused once this user is erased."""
    known = database.read(scope, erasures.read_epoch) if epoch is None else epoch
    standing = _standing.get()
    if standing is not None and standing.scope.id == scope.id:
        # What is done inside of older work belongs to it, and ends with it.
        known = min(known, standing.epoch)
    token = _standing.set(ErasureFence(scope, known))
    try:
        yield
    finally:
        _standing.reset(token)


def guard(work: Callable[..., T]) -> Callable[..., T]:
    """The same unit of work, behind the fence that stands in this context, if one does."""
    fence = _standing.get()
    return work if fence is None else _check_epoch_first(fence, work)


def _check_epoch_first(fence: ErasureFence, work: Callable[..., T]) -> Callable[..., T]:
    def check_first(run: Transaction, *args: Any, **kwargs: Any) -> T:
        with run.bind_scope(fence.scope) as theirs:
            # Held until the end of the transaction, so that an erasure waits for it, or this for the erasure.
            erasures.hold_epoch(theirs)
            if erasures.read_epoch(theirs) != fence.epoch:
                raise UserErased
        return work(run, *args, **kwargs)

    return check_first
