"""Rules for dates in numbers: "2023-05-07", "5/12/2023", "on 1/20".

Numbers with these signs are also scores, versions, prices and fractions, so a year of two digits needs slashes, and a
date without a year needs a preposition.
"""

from __future__ import annotations

import re
from datetime import date, time

from longmind.language.dates.rule import DatedText, Rule, choose_by_direction, list_dates, make_span
from longmind.language.dates.span import DateSpan
from longmind.language.dates.time_words import compile_pattern
from longmind.language.dates.years import complete_year

_ISO = compile_pattern(
    r"(?<![\w/.-])(?P<year>\d{4})(?P<mark>[-/])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d/-])"
    r"(?:[T\s](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?:Z|\b))?"
)
_NUMERIC = compile_pattern(
    r"(?<![\w/.$€£:-])(?P<one>\d{1,2})(?P<mark>[/.-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})(?![\w/%-]|\.\d)"
)
_WITHOUT_YEAR = compile_pattern(
    r"\b(?:on|dated|since|until|starting) (?P<date>(?P<one>\d{1,2})/(?P<two>\d{1,2}))"
    r"(?![\w/%-]|\.\d)(?! (?:cups?|of)\b)"
)
_DAY_FIRST = re.compile(r"(?<![\d/.])(?:1[3-9]|2\d|3[01])[/.-](?:0?[1-9]|1[0-2])[/.-]\d{2,4}")


def _read_iso(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "2023-05-07", with a time of day if one follows."""
    day = date(int(found["year"]), int(found["month"]), int(found["day"]))
    at = time(int(found["hour"]), int(found["minute"])) if found["hour"] else None
    return make_span(found, (day, day), "instant" if at else "day", at)


def _read_numeric(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "5/12/2023", "5.12.2023" and "5/12/23", between 1900 and 2099."""
    if found["mark"] != "/" and len(found["year"]) == 2:
        # A version, a score or part of a telephone number.
        return None
    month, day = _order_numbers(found, dated_text, dotted=found["mark"] == ".")
    year = complete_year(int(found["year"]), dated_text.today) if len(found["year"]) == 2 else int(found["year"])
    if not 1900 <= year < 2100:
        return None
    named = date(year, month, day)
    return make_span(found, (named, named), "day")


def _order_numbers(found: re.Match[str], dated_text: DatedText, *, dotted: bool) -> tuple[int, int]:
    """Return month and day. English writes them in either order: the month comes first unless something shows
    otherwise.
    """
    one, two = int(found["one"]), int(found["two"])
    if one > 12 or (two <= 12 and (dotted or _DAY_FIRST.search(dated_text.text))):
        return two, one
    return one, two


def _read_without_year(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "on 1/20": the nearest such day in the direction of the verbs."""
    month, day = _order_numbers(found, dated_text, dotted=False)
    named = choose_by_direction(
        list_dates(dated_text.today, month, day), dated_text.today, dated_text.find_direction(found)
    )
    return DateSpan(found.start("date"), found.end(), *named, "day")


NUMERIC_RULES: tuple[Rule, ...] = (
    (_ISO, _read_iso),
    (_NUMERIC, _read_numeric),
    (_WITHOUT_YEAR, _read_without_year),
)
