"""Quotas of the memory tools: how often a session has stored, superseded and deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from longmind.clock import Micros
from longmind.scope import Scope
from longmind.store.database import Row, Transaction

Counter = Literal["stores", "supersedes", "deletes"]
QuotaLimits = Mapping[Counter, int]
"""The number of times that each may succeed in a session."""
_COUNTERS: tuple[Counter, ...] = get_args(Counter)


def take(
    run: Transaction, scope: Scope, counters: tuple[Counter, ...], limits: QuotaLimits, now: Micros
) -> Counter | None:
    """Count a call; return the first counter that is used up, if any, and then the caller must not commit."""
    # Counters that the call does not use are raised by 0 and come back as they are.
    counted = {name: int(name in counters) for name in _COUNTERS}
    row = run.one("take_quota", group=scope.group, session_id=scope.session_id, **counted, now=now)
    used = dict(zip(_COUNTERS, row or (), strict=True))
    return next((name for name in counters if used[name] > limits[name]), None)


def read_every(run: Transaction) -> Iterator[Row]:
    """Yield group, session, the three counters and the last change of each quota. Only inside of `read_snapshot`."""
    return run.each("every_quota")
