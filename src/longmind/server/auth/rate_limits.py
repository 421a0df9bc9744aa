"""Rate limits: how many requests a credential may send in a window of time.

With the storage in memory each process counts for itself; several nodes behind one load balancer share a limit only
with a Redis storage. A refused request is not counted, so a client that waits for RateLimit-Reset is admitted.
"""

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
class RateAllowance:
    """The rest of a rate limit, which every response reports."""

    limit: int
    window: int
    remaining: int
    reset: int
    """Seconds until the whole limit is available again."""


class RateLimiter:
    """The counter of requests. Its window slides, so the turn of a minute does not allow twice the rate."""

    def __init__(self, settings: Settings) -> None:
        from limits.storage import MemoryStorage, storage_from_string
        from limits.strategies import SlidingWindowCounterRateLimiter

        self._default = validate_rate("rate_limit", settings.rate_limit) if settings.rate_limit else None
        try:
            storage = storage_from_string(settings.rate_limit_storage)
            self._limiter = SlidingWindowCounterRateLimiter(storage)
        except Exception as error:  # each storage raises errors of its own, without a hint
            raise InvalidInput(
                f"rate_limit_storage cannot be used ({type(error).__name__}).",
                hint="Use memory://, or redis://host:6379 with the package redis installed.",
            ) from error
        # The memory storage tests and counts in two steps, which threads must not interleave; others are atomic.
        self._lock: AbstractContextManager[object] = (
            threading.Lock() if isinstance(storage, MemoryStorage) else nullcontext()
        )

    def use(self, credential: str, rate: str | None) -> RateAllowance | None:
        """Count one request and return the rest of the allowance, or None if no limit applies.

        credential: a name of the credential, under which its requests are counted.
        rate: the rate of this credential, such as "100/minute"; None means the default from the settings.

        Raises RateLimited if the limit is exhausted.
        """
        from limits import parse

        limit = rate or self._default
        if limit is None:
            return None
        item = parse(limit)
        with self._lock:
            admitted = self._limiter.hit(item, "longmind", credential)
            reset_at, remaining = self._limiter.get_window_stats(item, "longmind", credential)
        window = item.get_expiry()
        reset = min(max(1, ceil(reset_at - time.time())), 2 * window)
        if not admitted:
            raise RateLimited(item.amount, window, retry_after=reset)
        return RateAllowance(item.amount, window, max(0, remaining), reset)
