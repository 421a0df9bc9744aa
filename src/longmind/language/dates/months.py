"""Days and months of the calendar: "7 May", "May 7th, 2023", "in May", "last May"."""

from __future__ import annotations

import re
from datetime import date

from longmind.language.calendar import MONTH_NUMBERS, MONTHS, latest_year, month_of
from longmind.language.dates.rule import (
    OF_YEAR,
    WHICH_WORDS,
    Rule,
    Said,
    chosen,
    directed,
    each_year,
    span,
    which_of,
    year_in,
    years_around,
)
from longmind.language.dates.span import DateSpan
from longmind.language.dates.words import (
    DAY_NUMBER,
    MONTH,
    MONTH_OR_SHORT,
    NTH,
    WEEKDAY_OR_SHORT,
    number_of,
    pattern,
)

_WEEKDAY = rf"(?:\b{WEEKDAY_OR_SHORT}\b\.?,? (?:the )?)?"
_UPTO = rf"(?:\s*(?:-|to|through|and|&)\s*(?P<upto>{DAY_NUMBER}))?"
_DAY_MONTH = pattern(
    rf"{_WEEKDAY}(?<![\w/.$€£:-])(?P<day>{DAY_NUMBER}){_UPTO}(?P<of> of)?[\s-]+(?P<month>{MONTH_OR_SHORT})"
    rf"(?:(?:,|,? of)?\s*{OF_YEAR})?"
)
_MONTH_DAY = pattern(
    rf"{_WEEKDAY}\b(?P<month>{MONTH_OR_SHORT})[^\S\n]+(?:the )?(?P<day>{DAY_NUMBER})(?![%:/]|\.\d|\s?[ap]m\b)"
    rf"{_UPTO}(?P<of>)(?:(?:,|,? of)? {OF_YEAR})?"
)
_MONTH_YEAR = pattern(rf"\b(?P<month>{MONTH_OR_SHORT}),? (?:of |in )?(?:{OF_YEAR}|['\u2019](?P<of_century>\d\d)\b)")
_YEARS_AHEAD = 10
"""How far ahead a year may be that is given by its last two digits."""
_WHICH_MONTH = pattern(rf"\b(?P<which>{WHICH_WORDS}) (?P<month>{MONTH_OR_SHORT})(?!'s| \d)")
_MONTH = pattern(rf"\b(?P<month>{MONTH_OR_SHORT})(?!'| \d|-)\b")
_BESIDE_A_MONTH = pattern(rf"\b{MONTH}\s*(?:to|through|until|-)\s*$")
_TO_A_MONTH = pattern(rf" (?:to|through|until) {MONTH}\b")
_IN_A_MONTH = pattern(
    r"\b(?:in|since|until|till|by|early|late|mid|of|during|through|throughout|last|this|next)[\s-]+(?:\w+ and )?$"
)
_NEAR_A_MONTH = pattern(r"\b(?:before|after|from|to|around|come|between|for|starting) $")
_YEARLY = pattern(r"\b(?:born|(?:birthday|anniversary)(?:'s| is| falls)) (?:on |in )?(?:the )?$")
"""What a day without a year comes again with, and is not an event of this one."""
_ON = pattern(r"\b(?:on|by|since|until|till|before|after|from|for) $")
_ONLY_IN = pattern(r"\bin $")
_ALSO_WORDS = frozenset(("may", "march", "mar", "sep", "dec", "jan"))
_ALSO_NAMES = frozenset(
    ("may", "april", "june", "august", "march", "jan", "mar", "jun", "apr", "aug", "sep", "dec", "feb")
)
"""Months that are also people or verbs, or are cut short: something must say that it is a month."""
_SURNAME = re.compile(r"\s+(?!I\b)[A-Z][a-z]")


def _day_and_month(found: re.Match[str], said: Said) -> DateSpan | None:
    name, number = found["month"].rstrip("."), found["day"]
    spelled = re.fullmatch(NTH, number.lower()) is not None
    if spelled and found.start("day") < found.start("month") and not found["of"]:
        # "The second March" counts the Marches.
        return None
    year = year_in(found, said)
    doubtful = year is None and not found["of"] and not said.is_question
    if doubtful and not _is_surely_a_day(name, number, spelled, said.before(found)):
        return None
    month, day = MONTH_NUMBERS[name.lower()], number_of(number)
    upto = number_of(found["upto"]) if found["upto"] else None
    if upto is not None and upto <= day:
        return None
    if said.is_question:
        whole = month_of(year or latest_year(said.today, month, 1), month)
        if day > whole[1].day:
            # There is no such day, but the month is still asked about.
            return span(found, whole, "month")
    if year is not None:
        return span(found, (date(year, month, day), date(year, month, upto or day)), "week" if upto else "day")
    days = directed(each_year(said.today, month, day, upto), said.today, said.leaning(found))
    if _YEARLY.search(said.before(found)):
        return span(found, days, "day", relation="recurring")
    return span(found, days, "week" if upto else "day")


def _is_surely_a_day(name: str, number: str, spelled: bool, before: str) -> bool:
    """Whether a month in small letters is one: "on may 5", "march 3rd", but not "I may 5 times"."""
    if name[0].isupper() or name.lower() not in _ALSO_WORDS:
        return name[0].isupper() or not spelled
    return not spelled and (not number.isdigit() or _ON.search(before) is not None)


def _month_and_year(found: re.Match[str], said: Said) -> DateSpan | None:
    name = found["month"].rstrip(".")
    if not name[0].isupper() and name.lower() in _ALSO_WORDS and not _ONLY_IN.search(said.before(found)):
        return None
    year = _full_year(found["of_century"], said) if found["of_century"] else year_in(found, said)
    return None if year is None else span(found, month_of(year, MONTH_NUMBERS[name.lower()]), "month")


def _full_year(digits: str, said: Said) -> int:
    """The year of "May '15": the newest that ends so, if it is not far ahead."""
    latest = said.today.year + _YEARS_AHEAD
    return latest - (latest - int(digits)) % 100


def _which_month(found: re.Match[str], said: Said) -> DateSpan | None:
    name = found["month"].rstrip(".")
    if not name[0].isupper() and name.lower() in _ALSO_NAMES:
        return None
    which = which_of(found["which"])
    months = [month_of(year, MONTH_NUMBERS[name.lower()]) for year in years_around(said.today)]
    if which == "this":
        return span(found, next(days for days in months if days[0].year == said.today.year), "month")
    return span(found, chosen(months, said.today, which, None), "month")


def _month(found: re.Match[str], said: Said) -> DateSpan | None:
    name = found["month"].rstrip(".")
    before = said.before(found)
    within = _IN_A_MONTH.search(before) is not None
    if not _is_a_month(name, found, said, within, before) or said.is_generic(found):
        return None
    lean = said.leaning(found)
    if lean is None and not within and not _NEAR_A_MONTH.search(before):
        # A heading, or a word in a list.
        return None
    months = [month_of(year, MONTH_NUMBERS[name.lower()]) for year in years_around(said.today)]
    days = directed(months, said.today, lean)
    return span(found, days, "month", relation="recurring" if _YEARLY.search(before) else "on")


def _is_a_month(name: str, found: re.Match[str], said: Said, within: bool, before: str) -> bool:
    if not name[0].isupper():
        return name.lower() in MONTHS and _ONLY_IN.search(before) is not None
    if name.lower() in _ALSO_NAMES:
        beside = _BESIDE_A_MONTH.search(before) or _TO_A_MONTH.match(said.text, found.end())
        return (within or beside is not None) and not _SURNAME.match(said.text, found.end())
    return within or (name.lower() in MONTHS or _NEAR_A_MONTH.search(before) is not None)


MONTH_RULES: tuple[Rule, ...] = (
    (_MONTH_DAY, _day_and_month),
    (_DAY_MONTH, _day_and_month),
    (_MONTH_YEAR, _month_and_year),
    (_WHICH_MONTH, _which_month),
    (_MONTH, _month),
)
