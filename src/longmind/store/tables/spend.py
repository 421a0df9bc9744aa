"""The money and tokens that language models have cost, by month, for the app and for all.

The most that a call may cost is reserved before it, and settled to the true amount after it. So calls at the same time
cannot together exceed a cap by more than one of them reserves.
"""

from __future__ import annotations

from dataclasses import dataclass

from longmind.clock import Micros
from longmind.scope import AnyScope
from longmind.store.database import Transaction

NO_CAP = 2**62


@dataclass(frozen=True)
class SpendAmount:
    """An amount of money and tokens, in integers: sums of many small fractions drift."""

    microdollars: int = 0
    tokens: int = 0

    def __sub__(self, other: SpendAmount) -> SpendAmount:
        return SpendAmount(self.microdollars - other.microdollars, self.tokens - other.tokens)


def reserve(run: Transaction, scope: AnyScope, month: str, most: SpendAmount, cap: SpendAmount, now: Micros) -> bool:
    """Reserve the most that a call may cost; return False, and reserve nothing, when a cap was reached before."""
    row = run.one(
        "reserve_spend",
        month=month,
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        microdollars=most.microdollars,
        tokens=most.tokens,
        cap_microdollars=cap.microdollars,
        cap_tokens=cap.tokens,
        now=now,
    )
    return row is not None


def settle(run: Transaction, month: str, change: SpendAmount, now: Micros) -> None:
    """Correct what was reserved by the difference to what a call has cost."""
    run.one("settle_spend", month=month, microdollars=change.microdollars, tokens=change.tokens, now=now)


def read_spent(run: Transaction, month: str) -> SpendAmount:
    """Return the amount of a month, reservations included."""
    row = run.one("get_spend", month=month)
    return SpendAmount(row[0], row[1]) if row else SpendAmount()
