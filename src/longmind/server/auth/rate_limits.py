"""How often a credential may be used."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import ceil

from longmind.errors import InvalidInput, RateLimited
from longmind.keys.service import validate_rate
from longmind.settings import Settings


@dataclass(frozen=True)
class Allowance:
    """What is left of a rate, to be told with each answer."""

    limit: int
    window: int
    remaining: int
    reset: int
    """Seconds until all of it is there again."""


class Rates:
    """Counts uses in a window that slides, so that the turn of a minute is no moment to send twice as much."""

    def __init__(self, settings: Settings) -> None:
        from limits.storage import MemoryStorage, storage_from_string
        from limits.strategies import SlidingWindowCounterRateLimiter

        self._default = validate_rate("rate_limit", settings.rate_limit) if settings.rate_limit else None
        try:
            storage = storage_from_string(settings.rate_limit_storage)
            self._limiter = SlidingWindowCounterRateLimiter(storage)
        except Exception as error:  # each kind of storage fails in its own way, and none of them says what to do
            raise InvalidInput(
                f"The uses cannot be counted at the given rate_limit_storage ({type(error).__name__}).",
                hint="Use memory://, or redis://host:6379 with the package redis installed.",
            ) from error
        # The storage in memory looks and counts in two steps; others do both in one, in a place of their own.
        self._one_at_a_time: AbstractContextManager[object] = (
            threading.Lock() if isinstance(storage, MemoryStorage) else nullcontext()
        )

    def use(self, who: str, rate: str | None) -> Allowance | None:
        """Count one use; None when nothing limits it."""
        from limits import parse

        written = rate or self._default
        if written is None:
            return None
        item = parse(written)
        with self._one_at_a_time:
            admitted = self._limiter.hit(item, "longmind", who)
            reset_at, remaining = self._limiter.get_window_stats(item, "longmind", who)
        window = item.get_expiry()
        reset = min(max(1, ceil(reset_at - time.time())), 2 * window)
        if not admitted:
            raise RateLimited(item.amount, window, retry_after=reset)
        return Allowance(item.amount, window, max(0, remaining), reset)
