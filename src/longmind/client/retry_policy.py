"""The decision whether a failed request is sent again, and when.

A request is repeated only where that cannot do anything twice: nothing reached the server, the server says that it did
nothing (429 and 503), or the request may be repeated by its nature or carries an idempotency key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from longmind.errors import LongmindError, ModelMissing, StoreReadOnly
from longmind.runtime.backoff import compute_pause

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 8.0
_REFUSED = frozenset({429, 503})
"""Statuses of requests that the server did not begin."""
_UNCLEAR = frozenset({408, 500, 502, 504})
"""Statuses after which the server may have done what was asked."""


_LASTING = (ModelMissing, StoreReadOnly)
"""Errors that come with status 503, and that no wait of seconds mends."""


class RequestFailure(Exception):
    """One failed attempt: its error, and what is known about it."""

    def __init__(
        self, error: LongmindError, *, reached: bool, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(error)
        self.error = error
        self.reached = reached
        """False if the request never reached the server."""
        self.status = status
        """The status of the answer, or None without one."""
        self.retry_after = retry_after


@dataclass
class Attempts:
    """The attempts at one request, with pauses that double and vary, so that clients do not return all at once.

    repeatable: True if the request changes nothing when it is sent twice.
    left: how often it may still be repeated.
    longest_wait: the longest wait that a server may ask for, in seconds.
    """

    repeatable: bool
    left: int
    longest_wait: float
    failed: int = 0

    def pause_after(self, failure: RequestFailure) -> float:
        """Return the seconds to wait before the next attempt. Raises the error if there is to be none."""
        self.failed += 1
        if self.left < 1 or not self._is_safe(failure):
            raise failure.error from failure.__cause__
        wait = compute_pause(self.failed, _FIRST_PAUSE, _LONGEST_PAUSE)
        if failure.retry_after is not None:
            # A proxy may send any number, and a program does not want to sleep for a day.
            if not math.isfinite(failure.retry_after) or failure.retry_after > self.longest_wait:
                raise failure.error from failure.__cause__
            wait = max(wait, failure.retry_after)
        self.left -= 1
        return wait

    def _is_safe(self, failure: RequestFailure) -> bool:
        if not failure.reached:
            return True
        if failure.status in _REFUSED:
            return not isinstance(failure.error, _LASTING)
        return self.repeatable and (failure.status is None or failure.status in _UNCLEAR)
