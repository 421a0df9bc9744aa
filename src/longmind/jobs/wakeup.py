"""Wakes workers when there may be something to do."""

from __future__ import annotations

import threading


class Bell:
    """Counts how often it was rung, so that nobody misses a ring that comes just before the wait."""

    def __init__(self) -> None:
        self.rung = 0
        self._ringing = threading.Condition()

    def ring(self) -> None:
        with self._ringing:
            self.rung += 1
            self._ringing.notify_all()

    def wait(self, heard: int, seconds: float) -> None:
        """Wait until it was rung more often than was heard already, or so many seconds."""
        with self._ringing:
            self._ringing.wait_for(lambda: self.rung != heard, seconds)
