"""English names of months, weekdays and small numbers, and the spans of days that months, years and weeks cover.

All days are in UTC. Numbers of weekdays count from Monday, which is 0.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta

from longmind.clock import Micros

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MONTH_NUMBERS = {name: number for number, name in enumerate(MONTHS, 1)}
MONTH_NUMBERS |= {name[:3]: number for name, number in MONTH_NUMBERS.items()} | {"sept": 9}

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY_NUMBERS = {name: number for number, name in enumerate(WEEKDAYS)}
WEEKDAY_NUMBERS |= {name[:3]: number for name, number in WEEKDAY_NUMBERS.items()}
WEEKDAY_NUMBERS |= {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}

NUMBERS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split(),
        1,
    )
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def day_of(instant: Micros) -> date:
    """Return the day of an instant, in UTC."""
    return (_EPOCH + timedelta(microseconds=instant)).date()


def month_of(year: int, month: int) -> tuple[date, date]:
    """Return the first and the last day of a month; month 13 is January of the next year, month 0 December before."""
    years, month = divmod(year * 12 + month - 1, 12)
    return date(years, month + 1, 1), date(years, month + 1, monthrange(years, month + 1)[1])


def year_of(year: int) -> tuple[date, date]:
    """Return the first and the last day of a year."""
    return date(year, 1, 1), date(year, 12, 31)


def week_of(day: date) -> tuple[date, date]:
    """Return the Monday and the Sunday of the week that a day is in."""
    first = day - timedelta(days=day.weekday())
    return first, first + timedelta(days=6)


def latest_year(today: date, month: int, day: int) -> int:
    """Return the latest year in which a day of the calendar has come, today included."""
    return today.year if date(today.year, month, day) <= today else today.year - 1
