"""The signal that wakes workers of this process when there may be a job."""

from __future__ import annotations

import threading


class Bell:
    """A counter of rings, so that no worker misses one that comes just before it waits.

    A worker reads `rung`, looks for jobs, and then waits for a number other than the one it read.
    """

    def __init__(self) -> None:
        # Never reset, so that two workers can compare it independently.
        self.rung = 0
        self._ringing = threading.Condition()

    def ring(self) -> None:
        """Wake everybody that waits."""
        with self._ringing:
            self.rung += 1
            self._ringing.notify_all()

    def wait(self, last_ring: int, seconds: float) -> None:
        """Wait for a ring after the one numbered `last_ring`, at most for the given seconds."""
        with self._ringing:
            self._ringing.wait_for(lambda: self.rung != last_ring, seconds)
