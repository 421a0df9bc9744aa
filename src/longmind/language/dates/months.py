"""Rules for days and months of the calendar: "7 May", "May 7th, 2023", "in May", "last May".

Without a year, the date is the nearest one in the direction of the verbs. May, March and August are also verbs,
adjectives and names, so a month without a day counts only with a capital and after a preposition.
"""

from __future__ import annotations

import re
from datetime import date

from longmind.language.calendar import MONTH_NUMBERS, MONTHS, latest_year, month_of
from longmind.language.dates.rule import (
    OF_YEAR,
    WHICH_WORDS,
    DatedText,
    Rule,
    choose,
    choose_by_direction,
    list_dates,
    list_years,
    make_span,
    read_which,
    read_year,
)
from longmind.language.dates.span import DateSpan
from longmind.language.dates.time_words import (
    DAY_NUMBER,
    MONTH,
    MONTH_OR_SHORT,
    NTH,
    WEEKDAY_OR_SHORT,
    compile_pattern,
    to_number,
)

_WEEKDAY = rf"(?:\b{WEEKDAY_OR_SHORT}\b\.?,? (?:the )?)?"
_UPTO = rf"(?:\s*(?:-|to|through|and|&)\s*(?P<upto>{DAY_NUMBER}))?"
_DAY_MONTH = compile_pattern(
    rf"{_WEEKDAY}(?<![\w/.$€£:-])(?P<day>{DAY_NUMBER}){_UPTO}(?P<of> of)?[\s-]+(?P<month>{MONTH_OR_SHORT})"
    rf"(?:(?:,|,? of)?\s*{OF_YEAR})?"
)
_MONTH_DAY = compile_pattern(
    rf"{_WEEKDAY}\b(?P<month>{MONTH_OR_SHORT})[^\S\n]+(?:the )?(?P<day>{DAY_NUMBER})(?![%:/]|\.\d|\s?[ap]m\b)"
    rf"{_UPTO}(?P<of>)(?:(?:,|,? of)? {OF_YEAR})?"
)
_MONTH_YEAR = compile_pattern(
    rf"\b(?P<month>{MONTH_OR_SHORT}),? (?:of |in )?(?:{OF_YEAR}|['\u2019](?P<of_century>\d\d)\b)"
)
_YEARS_AHEAD = 10
"""The furthest year ahead, for a year of two digits."""
_WHICH_MONTH = compile_pattern(rf"\b(?P<which>{WHICH_WORDS}) (?P<month>{MONTH_OR_SHORT})(?!'s| \d)")
_MONTH = compile_pattern(rf"\b(?P<month>{MONTH_OR_SHORT})(?!'| \d|-)\b")
_BESIDE_A_MONTH = compile_pattern(rf"\b{MONTH}\s*(?:to|through|until|-)\s*$")
_TO_A_MONTH = compile_pattern(rf" (?:to|through|until) {MONTH}\b")
_IN_A_MONTH = compile_pattern(
    r"\b(?:in|since|until|till|by|early|late|mid|of|during|through|throughout|last|this|next)[\s-]+(?:\w+ and )?$"
)
_NEAR_A_MONTH = compile_pattern(r"\b(?:before|after|from|to|around|come|between|for|starting) $")
_YEARLY = compile_pattern(r"\b(?:born|(?:birthday|anniversary)(?:'s| is| falls)) (?:on |in )?(?:the )?$")
"""Words before a day that recurs every year."""
_ON = compile_pattern(r"\b(?:on|by|since|until|till|before|after|from|for) $")
_ONLY_IN = compile_pattern(r"\bin $")
_ALSO_WORDS = frozenset(("may", "march", "mar", "sep", "dec", "jan"))
_ALSO_NAMES = frozenset(
    ("may", "april", "june", "august", "march", "jan", "mar", "jun", "apr", "aug", "sep", "dec", "feb")
)
"""Months that are also names or verbs, or abbreviations: the text must show that a month is meant."""
_SURNAME = re.compile(r"\s+(?!I\b)[A-Z][a-z]")


def _read_day_and_month(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "7 May", "May 7th, 2023" and "7-9 May". After "birthday" and the like it recurs every year.

    In a question, a day that the month does not have stands for the whole month.
    """
    name, number = found["month"].rstrip("."), found["day"]
    spelled = re.fullmatch(NTH, number.lower()) is not None
    if spelled and found.start("day") < found.start("month") and not found["of"]:
        # "The second March" counts the Marches.
        return None
    year = read_year(found, dated_text)
    doubtful = year is None and not found["of"] and not dated_text.is_question
    if doubtful and not _is_surely_a_day(name, number, spelled, dated_text.text_before(found)):
        return None
    month, day = MONTH_NUMBERS[name.lower()], to_number(number)
    upto = to_number(found["upto"]) if found["upto"] else None
    if upto is not None and upto <= day:
        return None
    if dated_text.is_question:
        whole = month_of(year or latest_year(dated_text.today, month, 1), month)
        if day > whole[1].day:
            # There is no such day, but the month is still asked about.
            return make_span(found, whole, "month")
    if year is not None:
        return make_span(found, (date(year, month, day), date(year, month, upto or day)), "week" if upto else "day")
    days = choose_by_direction(
        list_dates(dated_text.today, month, day, upto), dated_text.today, dated_text.find_direction(found)
    )
    if _YEARLY.search(dated_text.text_before(found)):
        return make_span(found, days, "day", relation="recurring")
    return make_span(found, days, "week" if upto else "day")


def _is_surely_a_day(name: str, number: str, spelled: bool, before: str) -> bool:
    """Return whether a month in small letters is one: "on may 5" and "march 3rd", but not "I may 5 times"."""
    if name[0].isupper() or name.lower() not in _ALSO_WORDS:
        return name[0].isupper() or not spelled
    return not spelled and (not number.isdigit() or _ON.search(before) is not None)


def _read_month_and_year(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "May 2023", "May of last year" and "May '23"."""
    name = found["month"].rstrip(".")
    if not name[0].isupper() and name.lower() in _ALSO_WORDS and not _ONLY_IN.search(dated_text.text_before(found)):
        return None
    year = _complete_year(found["of_century"], dated_text) if found["of_century"] else read_year(found, dated_text)
    return None if year is None else make_span(found, month_of(year, MONTH_NUMBERS[name.lower()]), "month")


def _complete_year(digits: str, dated_text: DatedText) -> int:
    """Return the year of "May '15": the newest that ends so and is not far ahead."""
    latest = dated_text.today.year + _YEARS_AHEAD
    return latest - (latest - int(digits)) % 100


def _read_pointed_month(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "last May" and "next June". "This May" is that of the current year."""
    name = found["month"].rstrip(".")
    if not name[0].isupper() and name.lower() in _ALSO_NAMES:
        return None
    which = read_which(found["which"])
    months = [month_of(year, MONTH_NUMBERS[name.lower()]) for year in list_years(dated_text.today)]
    if which == "this":
        return make_span(found, next(days for days in months if days[0].year == dated_text.today.year), "month")
    return make_span(found, choose(months, dated_text.today, which, None), "month")


def _read_month(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "in May". A month in a heading or a list is no date."""
    name = found["month"].rstrip(".")
    before = dated_text.text_before(found)
    within = _IN_A_MONTH.search(before) is not None
    if not _is_a_month(name, found, dated_text, within, before) or dated_text.is_generic(found):
        return None
    lean = dated_text.find_direction(found)
    if lean is None and not within and not _NEAR_A_MONTH.search(before):
        # A heading, or a word in a list.
        return None
    months = [month_of(year, MONTH_NUMBERS[name.lower()]) for year in list_years(dated_text.today)]
    days = choose_by_direction(months, dated_text.today, lean)
    return make_span(found, days, "month", relation="recurring" if _YEARLY.search(before) else "on")


def _is_a_month(name: str, found: re.Match[str], dated_text: DatedText, within: bool, before: str) -> bool:
    """Return whether a name without a day or year is a month here, and not a person or a verb."""
    if not name[0].isupper():
        return name.lower() in MONTHS and _ONLY_IN.search(before) is not None
    if name.lower() in _ALSO_NAMES:
        beside = _BESIDE_A_MONTH.search(before) or _TO_A_MONTH.match(dated_text.text, found.end())
        return (within or beside is not None) and not _SURNAME.match(dated_text.text, found.end())
    return within or (name.lower() in MONTHS or _NEAR_A_MONTH.search(before) is not None)


MONTH_RULES: tuple[Rule, ...] = (
    (_MONTH_DAY, _read_day_and_month),
    (_DAY_MONTH, _read_day_and_month),
    (_MONTH_YEAR, _read_month_and_year),
    (_WHICH_MONTH, _read_pointed_month),
    (_MONTH, _read_month),
)
