"""Whether a database can be written, as the writes of this process have found out."""

from __future__ import annotations

import time

from longmind.errors import StoreError, StoreFull, StoreReadOnly

_SECONDS = 10.0
"""How long a write that failed speaks for the state of the disk. Then the next one has to find out."""


class WriteHealth:
    """The last write that failed because there was no room, or no right to write, until one succeeds."""

    def __init__(self) -> None:
        self._error: StoreError | None = None
        self._at = 0.0

    def note(self, error: BaseException) -> None:
        if isinstance(error, StoreFull | StoreReadOnly):
            self._error, self._at = error, time.monotonic()

    def clear(self) -> None:
        self._error = None

    def check(self) -> None:
        """Raise such an error anew if it is still likely to be so."""
        error = self._error
        if error is not None and time.monotonic() - self._at < _SECONDS:
            raise type(error)(error.message, hint=error.hint)
