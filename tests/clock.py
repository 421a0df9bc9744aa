"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import datetime

from longmind.clock import Micros, to_micros


class SettableClock:
    def __init__(self, instant: str | datetime = "2026-03-01T09:30:00Z") -> None:
        self.now = to_micros(instant)

    def __call__(self) -> Micros:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1_000_000)
