"""Annotation of a text with its dates: the resolved days follow, in brackets, the words that name them.

A memory is read long after it was written, so "yesterday" must carry its day. A date that is complete without the day
on which it was said is left alone, and one that lacks only its year gets only that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta

from longmind.language.calendar import MONTHS
from longmind.language.dates.span import DateSpan
from longmind.language.dates.time_words import DAY_NUMBER, MONTH_OR_SHORT, YEAR, compile_pattern

_TO = "\N{EN DASH}"
_FULL = compile_pattern(
    rf"(?<!\d){YEAR}(?:s\b|(?!\d))|\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}|['\u2019]\d0s$|\d{{4}}-\d\d-\d\d"
)
_FROM_ANOTHER_DATE = compile_pattern(
    r"\b(?:before|after|following|prior|week|weekend|first|second|third|fourth|last|from)\b"
)
_MONTH_LAST = compile_pattern(rf"(?:.*[\s-])?(?:{MONTH_OR_SHORT})$")
_DAY_LAST = compile_pattern(rf".*?{MONTH_OR_SHORT} (?:the )?{DAY_NUMBER}$")


def resolve_dates(text: str, spans: Iterable[DateSpan]) -> str:
    """Return a text in which each date can be understood without knowing when it was said; complete dates stay as they
    are.
    """
    pieces: list[str] = []
    done = 0
    for span in spans:
        addition = _write_addition(text[span.start : span.end], span)
        if addition:
            # "Friday's game" stays together.
            end = span.end + 2 if text[span.end : span.end + 2] in ("'s", "\u2019s") else span.end
            pieces += (text[done:end], addition)
            done = end
    return "".join(pieces) + text[done:]


def _write_addition(words: str, span: DateSpan) -> str:
    """Return what to insert after the words of a date; nothing if they are complete."""
    if span.relation == "recurring" or (_FULL.search(words) and not _FROM_ANOTHER_DATE.search(words)):
        return ""
    if span.relation == "duration":
        return f" (since {write_days(span)})"
    return _write_year(words, span) or f" ({write_days(span)})"


def _write_year(words: str, span: DateSpan) -> str:
    """Return the year alone, which is all that "7 May", "May 7th" and "in May" lack; nothing for other words."""
    if re.search(r"\b(?:last|this|next|past|coming)\b", words, re.IGNORECASE) or _FROM_ANOTHER_DATE.search(words):
        return ""
    if span.first.year != span.last.year:
        return ""
    if _DAY_LAST.fullmatch(words):
        return f", {span.last.year}"
    return f" {span.last.year}" if _MONTH_LAST.fullmatch(words) else ""


def write_days(span: DateSpan) -> str:
    """Return the days in words, as precisely as they are known: "7 May 2023", "June 2023", "2022".

    Ranges repeat neither the month nor the year where both ends share them. A season is written as its year, since the
    text before it names the season already.
    """
    first, last = span.first, span.last
    if first == last:
        return f"around {_day(first)}" if span.precision == "week" else _day(first)
    if (
        span.precision == "season"
        and span.last - span.first < timedelta(days=100)
        and first.day == 1
        and first.month % 3 == 0
    ):
        # The words name the season already, and its months differ between the hemispheres.
        return _range(str(first.year), str(last.year))
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31):
        return _range(str(first.year), str(last.year))
    if first.day == 1 and _ends_month(last):
        if first.year == last.year:
            return _range(_month(first), _month(last)) + f" {last.year}"
        return f"{_month(first)} {first.year}{_TO}{_month(last)} {last.year}"
    if first.year != last.year:
        return f"{_day(first)} {_TO} {_day(last)}"
    if first.month != last.month:
        return f"{first.day} {_month(first)} {_TO} {_day(last)}"
    return f"{first.day}{_TO}{_day(last)}"


def _range(one: str, two: str) -> str:
    """Return both words, joined, or one if they are equal."""
    return one if one == two else f"{one}{_TO}{two}"


def _month(day: date) -> str:
    """Return the name of the month of a day."""
    return MONTHS[day.month - 1].capitalize()


def _day(day: date) -> str:
    """Return a day as in "7 May 2023"."""
    return f"{day.day} {_month(day)} {day.year}"


def _ends_month(day: date) -> bool:
    """Return whether a day is the last of its month."""
    return day == date.max or (day + timedelta(days=1)).day == 1
