"""A clock that can be set to the time at which something was said or asked."""

from __future__ import annotations

from longmind.clock import Micros, system_clock


class ScriptedClock:
    """The clock of an evaluation, to be passed to `longmind.open`."""

    def __init__(self) -> None:
        self.now: Micros | None = None
        """The current time of the clock; None means the real time."""

    def __call__(self) -> Micros:
        return system_clock() if self.now is None else self.now
