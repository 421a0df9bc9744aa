"""A date that a text names: its place in the text, the days it means, and how exactly they are known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from typing import Literal, NamedTuple

from longmind.models.atom import Precision

Relation = Literal["on", "before", "after", "since", "until", "duration", "recurring"]
"""How what is told lies to the days: `duration` began on them and goes on; `recurring` is a habit and no event."""


class Distance(NamedTuple):
    """The distance of a date from the day on which it was said, in the words of the text.

    Readers that allow for imprecise memory work from it, since "a month ago" is rarely one month to the day.
    """

    amount: float
    """Negative for what lies in the past."""
    unit: str
    """The singular, such as `week`."""
    is_period: bool
    """Whether the words name a stretch of time, as "last week" does, rather than count to one, as "a week ago" does."""


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
    distance: Distance | None = None
    """Set only where `first` and `last` were worked out from it."""
