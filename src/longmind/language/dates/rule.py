"""What a rule of the grammar is: a pattern, and how what it finds is read against the day it was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Literal

from longmind.language.calendar import month_of
from longmind.language.dates.span import DateSpan, Relation
from longmind.language.dates.tense import Leaning, is_generic, leaning
from longmind.language.dates.words import YEAR, any_of
from longmind.models.atom import Precision

Days = tuple[date, date]
Which = Literal["last", "this", "next"]


@dataclass(frozen=True)
class Said:
    """A text with the day on which it was said."""

    text: str
    today: date
    is_question: bool = False
    """Whether the text asks a memory: its dates lie in the past, and each is one time, even beside "usually"."""

    def leaning(self, found: re.Match[str]) -> Leaning | None:
        return "past" if self.is_question else leaning(self.text, *found.span())

    def is_generic(self, found: re.Match[str]) -> bool:
        return not self.is_question and is_generic(self.text, *found.span())

    def before(self, found: re.Match[str], reach: int = 40) -> str:
        return self.text[max(0, found.start() - reach) : found.start()]

    def after(self, found: re.Match[str], reach: int = 40) -> str:
        return self.text[found.end() : found.end() + reach]


WHICH: dict[str, Which] = {
    "last": "last", "past": "last", "previous": "last", "this past": "last", "this last": "last", "the past": "last",
    "this": "this", "the current": "this", "next": "next", "coming": "next", "upcoming": "next", "this coming": "next",
    "the coming": "next", "the upcoming": "next",
}  # fmt: skip
OFFSET = {"last": -1, "this": 0, "next": 1}
WHICH_WORDS = any_of(*WHICH)
OF_YEAR = rf"(?:(?P<year>{YEAR})\b|(?P<which_year>last|this|next) year\b)"


def which_of(words: str) -> Which:
    return WHICH[" ".join(words.lower().split())]


def year_in(found: re.Match[str], said: Said) -> int | None:
    """The year that a pattern with `OF_YEAR` has found."""
    if found["year"]:
        return int(found["year"])
    return said.today.year + OFFSET[found["which_year"].lower()] if found["which_year"] else None


Read = Callable[[re.Match[str], Said], DateSpan | None]
Rule = tuple[re.Pattern[str], Read]


def span(
    found: re.Match[str], days: Days, precision: Precision, at: time | None = None, relation: Relation = "on"
) -> DateSpan:
    return DateSpan(found.start(), found.end(), *days, precision, at, relation)


def chosen(times: Iterable[Days], today: date, which: Which, lean: Leaning | None) -> Days:
    """Which of the times that bear one name is meant, given in the order of time: "last May", "this summer"."""
    times = list(times)
    if which == "last":
        return [days for days in times if days[1] < today][-1]
    if which == "next":
        return next(days for days in times if days[0] > today)
    return directed(times, today, lean or "future")


def directed(times: Iterable[Days], today: date, lean: Leaning | None) -> Days:
    """Which of them is meant when only the verb tells; without one, what is near."""
    times = list(times)
    if lean == "past":
        return [days for days in times if days[0] <= today][-1]
    if lean == "future":
        return next(days for days in times if days[1] >= today)
    return min(times, key=lambda days: _distance(days, today))


def _distance(days: Days, today: date) -> timedelta:
    # What has no verb is more often to come: "Trip to Rome in March!"
    return max((days[0] - today) / 3, today - days[1], timedelta())


def years_around(today: date) -> range:
    """Years in which to look for something that comes once in each."""
    return range(max(2, today.year - 2), min(9998, today.year + 2) + 1)


def each_year(today: date, month: int, day: int, upto: int | None = None) -> list[Days]:
    """A day of the calendar, or the days from one to another in its month, in each of the years."""
    days = []
    for year in years_around(today):
        # The 29th of February is not in every year.
        if day <= month_of(year, month)[1].day:
            days.append((date(year, month, day), date(year, month, upto or day)))
    return days
