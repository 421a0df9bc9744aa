"""A clock that tells the time at which something was said or asked."""

from __future__ import annotations

from longmind.clock import Micros, system_clock


class Moments:
    def __init__(self) -> None:
        self.now: Micros | None = None
        """The moment it is; None is the present."""

    def __call__(self) -> Micros:
        return system_clock() if self.now is None else self.now
