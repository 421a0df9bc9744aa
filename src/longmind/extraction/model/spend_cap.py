"""Caps on what language models cost an app of a tenant, and the extractor that keeps to them.

One is monthly and off unless it is set; another one is daily, and limits what sleep-time memory costs by itself.

The most that a call may cost is reserved before it, and settled to the true cost after it. No call begins once the cap
is reached, reservations included. So workers that call at the same time exceed it by one call at most, all together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from longmind.clock import Clock, to_iso
from longmind.extraction.candidate import Extracted, Extractor, KnownFact, SourceMessage
from longmind.scope import Scope, TenantScope
from longmind.settings import Settings
from longmind.store.database import Database
from longmind.store.tables import spend
from longmind.store.tables.spend import NO_CAP, SpendAmount

if TYPE_CHECKING:
    from longmind.extraction.model.extractor import ModelExtractor

_MILLION = 1_000_000


@dataclass(frozen=True)
class CallCost:
    """The tokens and dollars of one model call, spent or reserved."""

    tokens: int
    dollars: float | None
    """None where the price is not known."""


class Budget(Protocol):
    """A limit on the cost of model calls."""

    @property
    def reached(self) -> str:
        """A sentence that says which limit was reached, without the full stop."""

    def reserve(self, most: CallCost) -> bool:
        """Set aside the most that a call may cost; return False when the budget is used up."""

    def settle(self, reserved: CallCost, actual: CallCost) -> None:
        """Replace a reserved amount with the actual cost of the call."""


class UnlimitedBudget:
    """A budget without a limit, which counts nothing."""

    reached = "No spend cap is reached"

    def reserve(self, most: CallCost) -> bool:
        """Allow every call."""
        return True

    def settle(self, reserved: CallCost, actual: CallCost) -> None:
        """Do nothing."""


class CappedExtractor:
    """The model extractor until the budget is used up, and a fallback for the messages that are left.

    No message is lost to the cap: the fallback reads the rest of the same conversation.
    """

    def __init__(self, extractor: ModelExtractor, fallback: Callable[[], Extractor], budget: Budget) -> None:
        self._extractor = extractor
        self._fallback = fallback
        self._budget = budget

    @property
    def name(self) -> str:
        """The name of the model extractor, also after the fallback took over."""
        return self._extractor.name

    def wants_known_facts(self, version: str) -> bool:
        """Return whether the model extractor wants to be shown known facts."""
        return self._extractor.wants_known_facts(version)

    def extract(self, messages: Sequence[SourceMessage], version: str, known: Sequence[KnownFact] = ()) -> Extracted:
        """Extract with the model as far as the budget allows, then with the fallback."""
        extracted, unread = self._extractor.extract_within(messages, version, self._budget, known)
        if not unread:
            return extracted
        fallback = self._fallback()
        rest = fallback.extract(unread, version)
        number = sum(not message.read_only for message in unread)
        note = f"{self._budget.reached}: {fallback.name} read {number} of the messages."
        return replace(
            extracted,
            candidates=[*extracted.candidates, *rest.candidates],
            note=note if extracted.note is None else f"{note} {extracted.note}",
        )

    def limit(self, fallback: Callable[[], Extractor], budget: Budget) -> CappedExtractor:
        """Return this extractor within another budget too."""
        return CappedExtractor(self._extractor, fallback, JointBudget(self._budget, budget))


class JointBudget:
    """Two budgets, each of which limits every call."""

    def __init__(self, first: Budget, second: Budget) -> None:
        self._first = first
        self._second = second
        self.reached = first.reached

    def reserve(self, most: CallCost) -> bool:
        """Set aside the most that a call may cost in both budgets, or in neither."""
        if not self._first.reserve(most):
            self.reached = self._first.reached
            return False
        if self._second.reserve(most):
            return True
        self.reached = self._second.reached
        self._first.settle(most, CallCost(0, None if most.dollars is None else 0.0))
        return False

    def settle(self, reserved: CallCost, actual: CallCost) -> None:
        """Replace a reserved amount with the actual cost in both budgets."""
        self._first.settle(reserved, actual)
        self._second.settle(reserved, actual)


class SleepTimeBudget:
    """The tokens that sleep-time memory may cost an app of a tenant in a day of UTC, shared by all processes."""

    reached = "The tokens of the day for sleep-time memory are used up"

    def __init__(self, database: Database, scope: Scope, tokens: int, clock: Clock) -> None:
        self._database = database
        self._scope = TenantScope.from_scope(scope)
        self._tokens = tokens
        self._clock = clock
        self._day = ""

    def reserve(self, most: CallCost) -> bool:
        """Set aside the most that a call may cost, in a transaction of its own."""
        if not self._tokens:
            return False
        now = self._clock()
        # Remembered, because the call must be settled on the day on which it was reserved.
        self._day = f"sleep {to_iso(now)[:10]}"
        cap = SpendAmount(NO_CAP, self._tokens)
        amount = SpendAmount(tokens=most.tokens)
        return self._database.write(self._scope, spend.reserve, self._scope, self._day, amount, cap, now)

    def settle(self, reserved: CallCost, actual: CallCost) -> None:
        """Replace a reserved amount with the actual cost, in a transaction of its own."""
        change = SpendAmount(tokens=actual.tokens - reserved.tokens)
        self._database.write(self._scope, spend.settle, self._day, change, self._clock())


class TenantBudget:
    """The budget of a tenant's app for the current month, kept in the database and shared by all processes.

    A worker that dies during a call leaves its reservation in place, so the cap errs on the side of spending less.
    """

    def __init__(self, database: Database, scope: Scope, settings: Settings, clock: Clock) -> None:
        self._database = database
        self._scope = TenantScope.from_scope(scope)
        self._cap = SpendAmount(
            microdollars=round(settings.extraction_spend_cap_dollars * _MILLION) or NO_CAP,
            tokens=settings.extraction_spend_cap_tokens or NO_CAP,
        )
        self._clock = clock
        self._month = ""
        self.reached = "The spend cap of the month is reached"

    def reserve(self, most: CallCost) -> bool:
        """Set aside the most that a call may cost, in a transaction of its own."""
        now = self._clock()
        # Remembered, because the call must be settled in the month in which it was reserved.
        self._month = to_iso(now)[:7]
        amount = _to_amount(most)
        return self._database.write(self._scope, spend.reserve, self._scope, self._month, amount, self._cap, now)

    def settle(self, reserved: CallCost, actual: CallCost) -> None:
        """Replace a reserved amount with the actual cost, in a transaction of its own."""
        change = _to_amount(actual) - _to_amount(reserved)
        self._database.write(self._scope, spend.settle, self._month, change, self._clock())


def _to_amount(cost: CallCost) -> SpendAmount:
    """Convert a cost to the integers that the database counts with; an unknown price counts as nothing."""
    return SpendAmount(round((cost.dollars or 0.0) * _MILLION), cost.tokens)
