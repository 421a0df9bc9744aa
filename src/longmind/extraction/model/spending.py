"""The cap on what the model extractor costs a tenant's app in a month, and what happens when it is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from longmind.clock import Clock, to_iso
from longmind.extraction.candidate import Extracted, Extractor, SourceMessage
from longmind.extraction.model.extractor import ModelExtractor
from longmind.extraction.model.spend_cap import Budget, Spent
from longmind.scope import Scope, TenantScope
from longmind.settings import Settings
from longmind.store.database import Database
from longmind.store.tables import spend
from longmind.store.tables.spend import NO_CAP, Amount

_MILLION = 1_000_000


class Capped:
    """The model extractor while there is money, and then another one: no fact is lost for the want of it."""

    def __init__(self, extractor: ModelExtractor, fallback: Callable[[], Extractor], budget: Budget) -> None:
        self._extractor = extractor
        self._fallback = fallback
        self._budget = budget

    @property
    def name(self) -> str:
        return self._extractor.name

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        extracted, unread = self._extractor.extract_within(messages, version, self._budget)
        if not unread:
            return extracted
        fallback = self._fallback()
        rest = fallback.extract(unread, version)
        number = sum(not message.read_only for message in unread)
        return replace(
            extracted,
            candidates=[*extracted.candidates, *rest.candidates],
            note=f"The spend cap of the month is reached: {fallback.name} read {number} of the messages.",
        )


class TenantBudget:
    """The budget of a tenant's app for the present month, kept in the database: all processes share it.

    What a call may cost is counted before it is made, so workers that ask at the same time go over the cap by one call
    each at the most; a worker that dies in a call leaves the most it may have cost.
    """

    def __init__(self, database: Database, scope: Scope, settings: Settings, clock: Clock) -> None:
        self._database = database
        self._scope = TenantScope.from_scope(scope)
        self._cap = Amount(
            microdollars=round(settings.extraction_spend_cap_dollars * _MILLION) or NO_CAP,
            tokens=settings.extraction_spend_cap_tokens or NO_CAP,
        )
        self._clock = clock
        self._month = ""

    def reserve(self, most: Spent) -> bool:
        now = self._clock()
        # Settled in the month in which it was reserved.
        self._month = to_iso(now)[:7]
        return self._database.write(self._scope, spend.reserve, self._scope, self._month, _amount(most), self._cap, now)

    def settle(self, reserved: Spent, spent: Spent) -> None:
        change = _amount(spent) - _amount(reserved)
        self._database.write(self._scope, spend.settle, self._month, change, self._clock())


def _amount(spent: Spent) -> Amount:
    return Amount(round((spent.dollars or 0.0) * _MILLION), spent.tokens)
