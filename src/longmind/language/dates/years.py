"""Rules for years and decades: "in 2019", "since '98", "2016-2019", "the 1990s".

A number of four digits alone is no year: a preposition must come before it, and no unit after it.
"""

from __future__ import annotations

import re
from datetime import date

from longmind.language.calendar import year_of
from longmind.language.dates.rule import DatedText, Rule, make_span
from longmind.language.dates.span import DateSpan
from longmind.language.dates.time_words import YEAR, compile_pattern

_UNIT_AFTER = (
    r"(?!\s*(?:%|[$€£]|-\w)|[.,]\d| (?:people|feet|ft|km|kg|kcal|mg|ml|square|calorie|per)\b"
    r"| (?!(?:was|is|has|as|this|its|his|always|perhaps|thus|us)\b)[a-z]+s\b)"
)
_YEAR = compile_pattern(
    rf"\b(?:in|since|until|till|during|year|early|late|mid|throughout|circa)[\s-]+(?:the year )?(?P<year>{YEAR})\b"
    rf"(?:\s*(?:-|to|and)\s*(?P<upto>(?:19|20)\d\d)\b)?{_UNIT_AFTER}"
    r"|\b(?:of|by|before|after|from|to|around|through) (?P<near>(?:19|20)\d\d)\b"
    rf"(?:\s*(?:-|to|and)\s*(?P<near_upto>(?:19|20)\d\d)\b)?{_UNIT_AFTER}"
)
_DECADE = compile_pattern(
    r"\b(?P<decade>(?:1[5-9]|20)\d0)'?s\b|\bthe (?:early |mid |late )?'(?P<short>[3-9]0)s\b"
    r"|\bback in the (?P<back>[3-9]0)s\b"
)
_YEARS = compile_pattern(r"(?<![\w-])(?P<year>(?:19|20)\d\d)\s?-\s?(?P<upto>(?:19|20)\d\d)(?![\w-])")
_SHORT_YEAR = compile_pattern(r"\b(?:in|since|of|from) (?P<year>'(?P<short>\d\d))\b(?!')")


def complete_year(short: int, today: date) -> int:
    """Return the year of two digits: of this century up to ten years from now, and of the last one otherwise."""
    return short + (2000 if short <= (today.year + 10) % 100 else 1900)


def _read_years(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "in 2019" and "from 2016 to 2019"."""
    group = "year" if found["year"] else "near"
    last = found["upto"] or found["near_upto"]
    year = int(found[group])
    days = year_of(year)[0], year_of(max(year, int(last or year)))[1]
    return DateSpan(found.start(group), found.end(), *days, "year")


def _read_decade(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "the 1990s" and "the '90s"; "the 1800s" are a century."""
    group = "decade" if found["decade"] else "short" if found["short"] else "back"
    first = int(found[group]) + (0 if group == "decade" else 1900)
    # "The 1800s" are a century, but the two thousands have only begun.
    years = 100 if first % 100 == 0 and first < 2000 else 10
    start = found.start(group) - (group == "short")
    return DateSpan(start, found.end(), date(first, 1, 1), date(first + years - 1, 12, 31), "year")


def _read_range(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "2016-2019"."""
    first, last = int(found["year"]), int(found["upto"])
    return make_span(found, (date(first, 1, 1), date(last, 12, 31)), "year") if first < last else None


def _read_short_year(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "since '98"."""
    days = year_of(complete_year(int(found["short"]), dated_text.today))
    return DateSpan(found.start("year"), found.end(), *days, "year")


YEAR_RULES: tuple[Rule, ...] = (
    (_DECADE, _read_decade),
    (_YEAR, _read_years),
    (_YEARS, _read_range),
    (_SHORT_YEAR, _read_short_year),
)
