"""A date that a text names: where it stands, the days it means, and how exactly they are known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from typing import Literal

from longmind.models.atom import Precision

Relation = Literal["on", "before", "after", "since", "until", "duration", "recurring"]
"""How what is told lies to the days: `duration` began on them and goes on; `recurring` is a habit and no event."""


@dataclass(frozen=True)
class DateSpan:
    """The characters from `start` to before `end` name the days from `first` to `last`, both within.

    A single day whose precision is not a day is the middle of what is meant: "a couple of days ago".
    """

    start: int
    end: int
    first: date
    last: date
    precision: Precision
    at: time | None = None
    """The time of day that is said, or at which the said part of the day begins."""
    relation: Relation = "on"
