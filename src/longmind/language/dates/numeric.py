"""Dates in numbers: "2023-05-07", "5/12/2023", "on 1/20"."""

from __future__ import annotations

import re
from datetime import date, time

from longmind.language.dates.rule import Rule, Said, directed, each_year, span
from longmind.language.dates.span import DateSpan
from longmind.language.dates.words import pattern
from longmind.language.dates.years import whole_year

_ISO = pattern(
    r"(?<![\w/.-])(?P<year>\d{4})(?P<mark>[-/])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d/-])"
    r"(?:[T\s](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?:Z|\b))?"
)
_NUMERIC = pattern(
    r"(?<![\w/.$€£:-])(?P<one>\d{1,2})(?P<mark>[/.-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})(?![\w/%-]|\.\d)"
)
_WITHOUT_YEAR = pattern(
    r"\b(?:on|dated|since|until|starting) (?P<date>(?P<one>\d{1,2})/(?P<two>\d{1,2}))"
    r"(?![\w/%-]|\.\d)(?! (?:cups?|of)\b)"
)
_DAY_FIRST = re.compile(r"(?<![\d/.])(?:1[3-9]|2\d|3[01])[/.-](?:0?[1-9]|1[0-2])[/.-]\d{2,4}")


def _iso(found: re.Match[str], said: Said) -> DateSpan:
    day = date(int(found["year"]), int(found["month"]), int(found["day"]))
    at = time(int(found["hour"]), int(found["minute"])) if found["hour"] else None
    return span(found, (day, day), "instant" if at else "day", at)


def _numeric(found: re.Match[str], said: Said) -> DateSpan | None:
    if found["mark"] != "/" and len(found["year"]) == 2:
        # A version, a score or part of a telephone number.
        return None
    month, day = _in_order(found, said, dotted=found["mark"] == ".")
    year = whole_year(int(found["year"]), said.today) if len(found["year"]) == 2 else int(found["year"])
    if not 1900 <= year < 2100:
        return None
    named = date(year, month, day)
    return span(found, (named, named), "day")


def _in_order(found: re.Match[str], said: Said, *, dotted: bool) -> tuple[int, int]:
    """Month and day. English has them in either order: the month is first unless something shows otherwise."""
    one, two = int(found["one"]), int(found["two"])
    if one > 12 or (two <= 12 and (dotted or _DAY_FIRST.search(said.text))):
        return two, one
    return one, two


def _without_year(found: re.Match[str], said: Said) -> DateSpan | None:
    month, day = _in_order(found, said, dotted=False)
    named = directed(each_year(said.today, month, day), said.today, said.leaning(found))
    return DateSpan(found.start("date"), found.end(), *named, "day")


NUMERIC_RULES: tuple[Rule, ...] = (
    (_ISO, _iso),
    (_NUMERIC, _numeric),
    (_WITHOUT_YEAR, _without_year),
)
