"""Rules of the grammar: a pattern, and a reader that resolves a match against the day on which it was said.

A reader returns None for a match that is no date. It may raise `ValueError`, `OverflowError`, `IndexError` or
`StopIteration` for a day that does not exist, such as 30 February; the parser then ignores the match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Literal

from longmind.language.calendar import month_of
from longmind.language.dates.span import DateSpan, Relation
from longmind.language.dates.tense import Direction, find_direction, is_generic
from longmind.language.dates.time_words import YEAR, match_any
from longmind.models.atom import Precision

Days = tuple[date, date]
Which = Literal["last", "this", "next"]


@dataclass(frozen=True)
class DatedText:
    """A text with the day on which it was said.

    Readers of rules ask it for the text around a match and for the direction of the verbs there.
    """

    text: str
    today: date
    is_question: bool = False
    """True if the text asks a memory: its dates lie in the past, and each is one time, even next to "usually"."""

    def find_direction(self, found: re.Match[str]) -> Direction | None:
        """Return the direction of the verbs around a match: the past in a question, None if no verb shows it."""
        return "past" if self.is_question else find_direction(self.text, *found.span())

    def is_generic(self, found: re.Match[str]) -> bool:
        """Return whether a match is about no particular time, as in "I usually run on Friday"."""
        return not self.is_question and is_generic(self.text, *found.span())

    def text_before(self, found: re.Match[str], reach: int = 40) -> str:
        """Return the text before a match."""
        return self.text[max(0, found.start() - reach) : found.start()]

    def text_after(self, found: re.Match[str], reach: int = 40) -> str:
        """Return the text after a match."""
        return self.text[found.end() : found.end() + reach]


WHICH: dict[str, Which] = {
    "last": "last", "past": "last", "previous": "last", "this past": "last", "this last": "last", "the past": "last",
    "this": "this", "the current": "this", "next": "next", "coming": "next", "upcoming": "next", "this coming": "next",
    "the coming": "next", "the upcoming": "next",
}  # fmt: skip
OFFSET = {"last": -1, "this": 0, "next": 1}
WHICH_WORDS = match_any(*WHICH)
OF_YEAR = rf"(?:(?P<year>{YEAR})\b|(?P<which_year>last|this|next) year\b)"


def read_which(words: str) -> Which:
    """Return the direction of words such as "this past" and "the upcoming"."""
    return WHICH[" ".join(words.lower().split())]


def read_year(found: re.Match[str], dated_text: DatedText) -> int | None:
    """Return the year that a pattern with `OF_YEAR` has found, if any."""
    if found["year"]:
        return int(found["year"])
    return dated_text.today.year + OFFSET[found["which_year"].lower()] if found["which_year"] else None


Read = Callable[[re.Match[str], DatedText], DateSpan | None]
Rule = tuple[re.Pattern[str], Read]


def make_span(
    found: re.Match[str], days: Days, precision: Precision, at: time | None = None, relation: Relation = "on"
) -> DateSpan:
    """Return the span of a match."""
    return DateSpan(found.start(), found.end(), *days, precision, at, relation)


def choose(times: Iterable[Days], today: date, which: Which, lean: Direction | None) -> Days:
    """Return the one of the times that a direction selects: "last May", "this summer". The times are in order. Raises
    `IndexError` or `StopIteration` if there is none.
    """
    times = list(times)
    if which == "last":
        return [days for days in times if days[1] < today][-1]
    if which == "next":
        return next(days for days in times if days[0] > today)
    return choose_by_direction(times, today, lean or "future")


def choose_by_direction(times: Iterable[Days], today: date, lean: Direction | None) -> Days:
    """Return the one of the times that the verbs point to or, without a verb, the nearest.

    The times are in order. The past includes a time that has begun, and the future one that has not ended. Raises
    `IndexError` or `StopIteration` if there is none.
    """
    times = list(times)
    if lean == "past":
        return [days for days in times if days[0] <= today][-1]
    if lean == "future":
        return next(days for days in times if days[1] >= today)
    return min(times, key=lambda days: _distance(days, today))


def _distance(days: Days, today: date) -> timedelta:
    """Return how far some days are from today; the future counts a third."""
    # A phrase without a verb is more often about the future: "Trip to Rome in March!"
    return max((days[0] - today) / 3, today - days[1], timedelta())


def list_years(today: date) -> range:
    """Return the years in which to look for something that comes once a year."""
    return range(max(2, today.year - 2), min(9998, today.year + 2) + 1)


def list_dates(today: date, month: int, day: int, upto: int | None = None) -> list[Days]:
    """Return a day of the calendar, or a range of days in one month, in each of these years that has it."""
    days = []
    for year in list_years(today):
        # The 29th of February is not in every year.
        if day <= month_of(year, month)[1].day:
            days.append((date(year, month, day), date(year, month, upto or day)))
    return days
