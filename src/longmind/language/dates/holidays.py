"""Rules for holidays that fall on the same day everywhere: "last Christmas", "at New Year's".

Mother's Day and the like differ between countries, so they are no dates here. Every function of `HOLIDAYS` maps a year
to a day.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from longmind.language.calendar import month_of
from longmind.language.dates.rule import (
    OF_YEAR,
    WHICH_WORDS,
    DatedText,
    Days,
    Rule,
    choose,
    list_years,
    make_span,
    read_which,
    read_year,
)
from longmind.language.dates.span import DateSpan
from longmind.language.dates.time_words import PART_OF_DAY, compile_pattern, match_any


def find_easter(year: int) -> date:
    """Return Easter Sunday of the western churches, by the algorithm of Meeus, Jones and Butcher."""
    golden, century, rest = year % 19, year // 100, year % 100
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    shift = moon + weekday - 7 * ((golden + 11 * moon + 22 * weekday) // 451) + 114
    return date(year, shift // 31, shift % 31 + 1)


def _find_thanksgiving(year: int) -> date:
    """Return the fourth Thursday of November."""
    first = month_of(year, 11)[0]
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


def _make_fixed(month: int, day: int) -> Callable[[int], date]:
    """Return a function from a year to a day that is the same in every year."""
    return lambda year: date(year, month, day)


HOLIDAYS: dict[str, Callable[[int], date]] = {
    "christmas": _make_fixed(12, 25),
    "christmas day": _make_fixed(12, 25),
    "xmas": _make_fixed(12, 25),
    "christmas eve": _make_fixed(12, 24),
    "boxing day": _make_fixed(12, 26),
    "new year's": _make_fixed(1, 1),
    "new years": _make_fixed(1, 1),
    "new year's day": _make_fixed(1, 1),
    "new year's eve": _make_fixed(12, 31),
    "new years eve": _make_fixed(12, 31),
    "nye": _make_fixed(12, 31),
    "valentine's day": _make_fixed(2, 14),
    "valentine's": _make_fixed(2, 14),
    "valentines day": _make_fixed(2, 14),
    "st. patrick's day": _make_fixed(3, 17),
    "st patrick's day": _make_fixed(3, 17),
    "independence day": _make_fixed(7, 4),
    "halloween": _make_fixed(10, 31),
    "thanksgiving": _find_thanksgiving,
    "thanksgiving day": _find_thanksgiving,
    "black friday": lambda year: _find_thanksgiving(year) + timedelta(days=1),
    "easter": find_easter,
    "easter sunday": find_easter,
    "easter monday": lambda year: find_easter(year) + timedelta(days=1),
    "good friday": lambda year: find_easter(year) - timedelta(days=2),
}

_HOLIDAY = compile_pattern(
    rf"\b(?:(?P<which>{WHICH_WORDS}) )?(?P<name>{match_any(*HOLIDAYS)})"
    rf"(?: (?:of |in )?{OF_YEAR})?(?![\w-])"
)
_AT = compile_pattern(r"\b(?:at|on|for|over|during|by|before|after|since|until|till|til|around) $")
_NEXT_WORD = match_any(
    *"with at in and or but so we i you this last when because was is were as to by for my our the a an from on she he "
    "they it since after before if that until week weekend too together alone instead again".split()
)
_GOES_ON = compile_pattern(rf" (?!(?:{PART_OF_DAY}|{_NEXT_WORD})\b)[a-z]|'")


def _read_holiday(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read a holiday with its year, with "last" or "next", or after a preposition and in the direction of a verb.

    It is no date as part of another word, as in "Christmas tree".
    """
    if _GOES_ON.match(dated_text.text, found.end()):
        # "Christmas tree", "a Halloween party": not the day.
        return None
    day_in = HOLIDAYS[" ".join(found["name"].lower().split())]
    year = read_year(found, dated_text)
    if year is not None:
        day = day_in(year)
        return make_span(found, (day, day), "day")
    lean = dated_text.find_direction(found)
    if not found["which"] and (
        not _AT.search(dated_text.text_before(found)) or lean is None or dated_text.is_generic(found)
    ):
        return None
    days: list[Days] = [(day_in(year), day_in(year)) for year in list_years(dated_text.today)]
    return make_span(found, choose(days, dated_text.today, read_which(found["which"] or "this"), lean), "day")


HOLIDAY_RULES: tuple[Rule, ...] = ((_HOLIDAY, _read_holiday),)
