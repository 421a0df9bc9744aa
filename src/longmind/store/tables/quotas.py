"""Quotas of the memory tools: how often a session has stored, superseded and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from longmind.clock import Micros
from longmind.scope import Scope
from longmind.store.database import Row, Transaction

Counter = Literal["stores", "supersedes", "deletes"]
LIMITS: dict[Counter, int] = {"stores": 20, "supersedes": 5, "deletes": 5}
"""The number of times that each may succeed in a session."""


def take(run: Transaction, scope: Scope, counters: tuple[Counter, ...], now: Micros) -> Counter | None:
    """Count a call; return the first counter that is used up, if any, and then the caller must not commit."""
    # Counters that the call does not use are raised by 0 and come back as they are.
    counted = {name: int(name in counters) for name in LIMITS}
    row = run.one("take_quota", group=scope.group, session_id=scope.session_id, **counted, now=now)
    used = dict(zip(LIMITS, row or (), strict=True))
    return next((name for name in counters if used[name] > LIMITS[name]), None)


def read_every(run: Transaction) -> Iterator[Row]:
    """Yield group, session, the three counters and the last change of each quota. Only inside of `read_snapshot`."""
    return run.each("every_quota")
