"""Holidays whose day can be told from the year alone, wherever one lives: "last Christmas", "at New Year's"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from longmind.language.calendar import month_of
from longmind.language.dates.rule import (
    OF_YEAR,
    WHICH_WORDS,
    Days,
    Rule,
    Said,
    chosen,
    span,
    which_of,
    year_in,
    years_around,
)
from longmind.language.dates.span import DateSpan
from longmind.language.dates.words import PART_OF_DAY, any_of, pattern


def easter_of(year: int) -> date:
    """Easter Sunday of the western churches, after Gauss in the form of Meeus, Jones and Butcher."""
    golden, century, rest = year % 19, year // 100, year % 100
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    shift = moon + weekday - 7 * ((golden + 11 * moon + 22 * weekday) // 451) + 114
    return date(year, shift // 31, shift % 31 + 1)


def _thanksgiving(year: int) -> date:
    first = month_of(year, 11)[0]
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


def _fixed(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


HOLIDAYS: dict[str, Callable[[int], date]] = {
    "christmas": _fixed(12, 25),
    "christmas day": _fixed(12, 25),
    "xmas": _fixed(12, 25),
    "christmas eve": _fixed(12, 24),
    "boxing day": _fixed(12, 26),
    "new year's": _fixed(1, 1),
    "new years": _fixed(1, 1),
    "new year's day": _fixed(1, 1),
    "new year's eve": _fixed(12, 31),
    "new years eve": _fixed(12, 31),
    "nye": _fixed(12, 31),
    "valentine's day": _fixed(2, 14),
    "valentine's": _fixed(2, 14),
    "valentines day": _fixed(2, 14),
    "st. patrick's day": _fixed(3, 17),
    "st patrick's day": _fixed(3, 17),
    "independence day": _fixed(7, 4),
    "halloween": _fixed(10, 31),
    "thanksgiving": _thanksgiving,
    "thanksgiving day": _thanksgiving,
    "black friday": lambda year: _thanksgiving(year) + timedelta(days=1),
    "easter": easter_of,
    "easter sunday": easter_of,
    "easter monday": lambda year: easter_of(year) + timedelta(days=1),
    "good friday": lambda year: easter_of(year) - timedelta(days=2),
}

_HOLIDAY = pattern(
    rf"\b(?:(?P<which>{WHICH_WORDS}) )?(?P<name>{any_of(*HOLIDAYS)})"
    rf"(?: (?:of |in )?{OF_YEAR})?(?![\w-])"
)
_AT = pattern(r"\b(?:at|on|for|over|during|by|before|after|since|until|till|til|around) $")
_NEXT_WORD = any_of(
    *"with at in and or but so we i you this last when because was is were as to by for my our the a an from on she he "
    "they it since after before if that until week weekend too together alone instead again".split()
)
_GOES_ON = pattern(rf" (?!(?:{PART_OF_DAY}|{_NEXT_WORD})\b)[a-z]|'")


def _holiday(found: re.Match[str], said: Said) -> DateSpan | None:
    if _GOES_ON.match(said.text, found.end()):
        # "Christmas tree", "a Halloween party": not the day.
        return None
    day_in = HOLIDAYS[" ".join(found["name"].lower().split())]
    year = year_in(found, said)
    if year is not None:
        day = day_in(year)
        return span(found, (day, day), "day")
    lean = said.leaning(found)
    if not found["which"] and (not _AT.search(said.before(found)) or lean is None or said.is_generic(found)):
        return None
    days: list[Days] = [(day_in(year), day_in(year)) for year in years_around(said.today)]
    return span(found, chosen(days, said.today, which_of(found["which"] or "this"), lean), "day")


HOLIDAY_RULES: tuple[Rule, ...] = ((_HOLIDAY, _holiday),)
