"""Dates that a question names: "in May 2023", "on 7 May", "two weeks ago"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from longmind.language.calendar import MONTH_NUMBERS, NUMBERS, day_of, latest_year, month_of, year_of

_NAMES = "(" + "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True)) + ")"
_NUMBERS = {
    **{word: number for word, number in NUMBERS.items() if number <= 10},
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a few": 3,
}
_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\b")
_DAY_MONTH = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_NAMES})\b\.?(?:,? (?P<year>\d{{4}}))?", re.IGNORECASE
)
_MONTH_DAY = re.compile(
    rf"\b(?P<month>{_NAMES})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}}))?", re.IGNORECASE
)
_WHOLE_MONTH = re.compile(rf"\b(?P<month>{_NAMES})\b(?:,? (?P<year>\d{{4}}))?", re.IGNORECASE)
_WHOLE_YEAR = re.compile(r"\b(?:in|of|during|since|year) (?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)
_AGO = re.compile(
    rf"\b(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}) "
    r"(?P<unit>day|week|month|year)s? ago\b",
    re.IGNORECASE,
)
_LATELY = re.compile(
    r"\b(?:last|past|this|previous) (?P<unit>week|weekend|month)\b|\b(?P<day>yesterday|today)\b", re.IGNORECASE
)
_TELLING = frozenset((*MONTH_NUMBERS, "ago", "week", "weekend", "month", "yesterday", "today"))
_DIGIT = re.compile(r"\d")
_BEFORE_A_MONTH = re.compile(
    r"\b(in|of|during|since|early|late|mid|last|this|until|before|after|by)[ -]$", re.IGNORECASE
)
_AMBIGUOUS = frozenset(("may", "mar", "sep", "jan", "jun"))
"""Words that are months only where something says so: people are called Jan, and one may do things."""

_EPOCH = date(1970, 1, 1)
_DAY = 24 * 3600 * 1_000_000
_AGO_DAYS = {"day": (1.0, 1, 2.0), "week": (7.0, 3, 3.0), "month": (30.4, 7, 7.0), "year": (365.25, 90, 60.0)}


@dataclass(frozen=True)
class Interval:
    """From the first day to the last, both within; `slack` is how many days beside it still are near."""

    first: date
    last: date
    slack: float


def may_name_a_date(query: str, words: Sequence[str]) -> bool:
    """Whether there is a date to look for in a query, given its words in lower case: most questions have none."""
    return not _TELLING.isdisjoint(words) or _DIGIT.search(query) is not None


def intervals_in(query: str, now: int) -> Iterator[Interval]:
    """The intervals that a question names. A year that is not said is the latest that is not after today."""
    today = day_of(now)
    used: list[tuple[int, int]] = []
    for pattern, read in (
        (_ISO, _a_day),
        (_DAY_MONTH, _a_day),
        (_MONTH_DAY, _a_day),
        (_WHOLE_MONTH, _a_month),
        (_WHOLE_YEAR, _a_year),
        (_AGO, _ago),
        (_LATELY, _lately),
    ):
        for found in pattern.finditer(query):
            if any(found.start() < end and start < found.end() for start, end in used):
                continue
            try:
                interval = read(found, today)
            except (ValueError, OverflowError):
                # There is no such day: the thirtieth of February, or ten thousand years ago.
                continue
            if interval is not None:
                used.append(found.span())
                yield interval


def _a_day(found: re.Match[str], today: date) -> Interval:
    name = found["month"].lower()
    month, day = MONTH_NUMBERS.get(name) or int(name), int(found["day"])
    said = date(int(found["year"]) if found["year"] else latest_year(today, month, day), month, day)
    return Interval(said, said, 7.0)


def _a_month(found: re.Match[str], today: date) -> Interval | None:
    name = found["month"]
    alone = name.lower() in _AMBIGUOUS and not found["year"]
    if not name[0].isupper() or (alone and not _BEFORE_A_MONTH.search(found.string[: found.start()])):
        return None
    month = MONTH_NUMBERS[name.lower()]
    year = int(found["year"]) if found["year"] else latest_year(today, month, 1)
    return Interval(*month_of(year, month), 10.0)


def _a_year(found: re.Match[str], today: date) -> Interval:
    return Interval(*year_of(int(found["year"])), 30.0)


def _ago(found: re.Match[str], today: date) -> Interval:
    length, width, slack = _AGO_DAYS[found["unit"].lower()]
    count = _NUMBERS.get(found["count"].lower()) or int(found["count"])
    middle = today - timedelta(days=round(length * count))
    return Interval(middle - timedelta(days=width), middle + timedelta(days=width), slack)


def _lately(found: re.Match[str], today: date) -> Interval:
    match (found["day"] or found["unit"]).lower():
        case "today":
            return Interval(today, today, 7.0)
        case "yesterday":
            return Interval(today - timedelta(days=1), today - timedelta(days=1), 7.0)
        case "month":
            return Interval(today - timedelta(days=62), today, 7.0)
        case _:
            return Interval(today - timedelta(days=14), today, 7.0)
