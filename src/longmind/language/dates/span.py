"""A date that a text names: its place in the text, the days it means, and how exactly they are known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from typing import Literal, NamedTuple

from longmind.models.atom import Precision

Relation = Literal["on", "before", "after", "since", "until", "duration", "recurring"]
"""The relation of an event to the days: a `duration` began on them and goes on, and `recurring` is a habit."""


class Distance(NamedTuple):
    """The distance of a date from the day on which it was said, in the words of the text.

    Readers that allow for imprecise memory work from it, since "a month ago" is rarely one month to the day.
    """

    amount: float
    """Negative for what lies in the past."""
    unit: str
    """The singular, such as `week`."""
    is_period: bool
    """True if the words name a stretch of time, as "last week" does, rather than count to one, as "a week ago" does."""


@dataclass(frozen=True)
class DateSpan:
    """The days that a piece of text names.

    The characters from `start` to before `end` name the days from `first` to `last`, both included. A single day whose
    precision is not a day is the middle of the time that is meant: "a couple of days ago".

    The days are those of the words alone: "since May" and "before May" both name May, and `relation` holds the
    preposition.
    """

    start: int
    end: int
    first: date
    last: date
    precision: Precision
    at: time | None = None
    """The time of day, or the beginning of a part of the day."""
    relation: Relation = "on"
    distance: Distance | None = None
    """Set only where `first` and `last` were worked out from it."""
