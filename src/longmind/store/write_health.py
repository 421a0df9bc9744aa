"""The health of writes: whether this process's last writes found room and the right to write."""

from __future__ import annotations

import time

from longmind.errors import StoreError, StoreFull, StoreReadOnly

_SECONDS = 10.0
"""Seconds that a failed write is taken as the state of the disk; after that, the next write has to find out."""


class WriteHealth:
    """The last write that failed for lack of room or of the right to write, until one succeeds.

    Readiness probes ask it, so that a server with a full disk is taken out of rotation without a test write.
    """

    def __init__(self) -> None:
        self._error: StoreError | None = None
        self._at = 0.0

    def note(self, error: BaseException) -> None:
        """Remember an error if it says that the disk is full or read-only."""
        if isinstance(error, StoreFull | StoreReadOnly):
            self._error, self._at = error, time.monotonic()

    def clear(self) -> None:
        """Forget the error: a write has succeeded."""
        self._error = None

    def check(self) -> None:
        """Raise the remembered error again, as long as it is recent."""
        error = self._error
        if error is not None and time.monotonic() - self._at < _SECONDS:
            raise type(error)(error.message, hint=error.hint)
