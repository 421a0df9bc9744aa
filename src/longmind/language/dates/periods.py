"""Weeks, weekends, months, seasons and years that are named from the day it was said: "last week", "this summer"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from longmind.language.calendar import month_of, week_of, year_of
from longmind.language.dates.rule import (
    OF_YEAR,
    OFFSET,
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
from longmind.language.dates.span import DateSpan, Distance
from longmind.language.dates.words import SEASON, any_of, number_of, pattern
from longmind.models.atom import Precision

_PERIOD = any_of("week", "weekend", "month", "year", "decade")
_RELATIVE = pattern(rf"\b(?P<which>{WHICH_WORDS}) (?P<unit>{_PERIOD}|{SEASON})(?:'s)?\b")
_IN_A_ROW = pattern(r"\b(?:the|that|every|each|my|our|his|her|their) $")
_OUTER = pattern(
    r"\b(?:the )?(?P<unit>week|weekend|month|year|summer|winter|spring|autumn|fall) (?P<where>before last|after next)\b"
)
_OF_THIS = pattern(r"\bthe (?:very )?(?P<part>end|beginning|start|middle|rest) of the (?P<unit>week|month|year)\b")
_WEEKEND = pattern(r"\b(?:over|on|during|at|for|this|after) (?P<phrase>the weekend)\b")
_SEASON = pattern(
    r"\b(?:over|in|during|for|throughout|since|until|by|before|after) (?:the |(?:the )?(?:early|late|mid)[\s-]+)"
    rf"(?P<season>{SEASON})\b(?! (?:months?|time|season|of|and|or|semester|heat|menu|sun|air)\b)"
)
_SEASON_OF_YEAR = pattern(rf"\b(?P<season>{SEASON}) (?:of )?{OF_YEAR}")
_SEASONS_AGO = pattern(rf"\b(?P<count>\d|two|three|four|five|six) (?P<season>{SEASON})s ago\b")
_THIS_TIME = pattern(r"\b(?:this|around this|same) time (?P<which>last|next) (?P<unit>week|month|year)\b")

_SUNDAY = 6
_WEEK: Precision = "week"
SEASON_MONTHS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which a season begins north of the equator; a winter bears the year of its December."""


def season_of(year: int, season: str) -> Days:
    first = SEASON_MONTHS[season]
    return month_of(year, first)[0], month_of(year, first + 2)[1]


def weekend_of(day: date) -> Days:
    """Saturday and Sunday of the week of a day."""
    sunday = week_of(day)[1]
    return sunday - timedelta(days=1), sunday


def _relative(found: re.Match[str], said: Said) -> DateSpan | None:
    which = which_of(found["which"])
    unit = found["unit"].lower()
    before = said.before(found)
    in_a_row = found["which"].lower() in ("past", "last", "next", "previous") and _IN_A_ROW.search(before)
    if in_a_row and not (said.is_question and which == "last"):
        # "The next week" and "the last year" follow another time, or say how long something took.
        return None
    if unit in SEASON_MONTHS:
        seasons = [season_of(year, unit) for year in years_around(said.today)]
        return span(found, chosen(seasons, said.today, which, said.leaning(found)), "season")
    if which == "this" and unit == "weekend":
        days, precision = _the_weekend(found, said), _WEEK
    else:
        days, precision = period(said.today, unit, OFFSET[which])
    return replace(span(found, days, precision), distance=Distance(OFFSET[which], unit, is_period=True))


def period(today: date, unit: str, offset: int) -> tuple[Days, Precision]:
    """The week, weekend, month or year so many before or after the one that is now."""
    match unit:
        case "week":
            return week_away(today, offset), "week"
        case "weekend":
            return weekend_of(today + timedelta(weeks=offset)), "week"
        case "month":
            return month_of(today.year, today.month + offset), "month"
        case "year":
            return year_of(today.year + offset), "year"
        case _:
            decade = today.year // 10 * 10 + 10 * offset
            return (date(decade, 1, 1), date(decade + 9, 12, 31)), "year"


def week_away(today: date, offset: int) -> Days:
    """From Monday to Sunday; but on a Sunday, when the week is nearly over, "last week" is the seven days before."""
    if offset < 0 and today.weekday() == _SUNDAY:
        return today + timedelta(weeks=offset), today + timedelta(weeks=offset + 1, days=-1)
    return week_of(today + timedelta(weeks=offset))


def _outer(found: re.Match[str], said: Said) -> DateSpan:
    sign = -1 if found["where"].lower().startswith("before") else 1
    unit = found["unit"].lower()
    if unit in SEASON_MONTHS:
        nearest = chosen(
            [season_of(year, unit) for year in years_around(said.today)],
            said.today,
            "last" if sign < 0 else "next",
            None,
        )
        return span(found, season_of(nearest[0].year + sign, unit), "season")
    return span(found, *period(said.today, unit, 2 * sign))


def _of_this(found: re.Match[str], said: Said) -> DateSpan | None:
    (first, last), precision = period(said.today, found["unit"].lower(), 0)
    part = found["part"].lower()
    if part == "rest":
        return DateSpan(found.start(), found.end(), said.today, last, precision)
    return span(found, part_of((first, last), part), finer(precision))


_PARTS = {"early": (0, 1, 3), "mid": (1, 2, 3), "late": (2, 3, 3), "start": (0, 1, 6), "end": (5, 6, 6)}


def part_of(days: Days, part: str) -> Days:
    """The first, the middle or the last third of some days; their start and their end are shorter."""
    first, last = days
    begin, end, parts = _PARTS[{"beginning": "start", "middle": "mid"}.get(part, part)]
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    if months > 1 and first.day == 1:
        return (
            month_of(first.year, first.month + months * begin // parts)[0],
            month_of(first.year, first.month + max(months * begin // parts, -(-months * end // parts) - 1))[1],
        )
    length = (last - first).days + 1
    if length <= 7 and parts == 6:
        begin, end, parts = begin // 2, -(-end // 2), 3
    return first + timedelta(days=length * begin // parts), first + timedelta(days=-(-length * end // parts) - 1)


def finer(precision: Precision) -> Precision:
    """How exactly a third of something is known."""
    steps: dict[Precision, Precision] = {"year": "season", "season": "month", "month": "week"}
    return steps.get(precision, precision)


def _weekend(found: re.Match[str], said: Said) -> DateSpan | None:
    if said.is_generic(found):
        return None
    days = _the_weekend(found, said)
    return DateSpan(found.start("phrase"), found.end(), *days, "week")


def _the_weekend(found: re.Match[str], said: Said) -> Days:
    saturday, sunday = weekend_of(said.today)
    if said.today < saturday and said.leaning(found) == "past":
        return saturday - timedelta(weeks=1), sunday - timedelta(weeks=1)
    return saturday, sunday


def _season(found: re.Match[str], said: Said) -> DateSpan | None:
    lean = said.leaning(found)
    if lean is None or said.is_generic(found):
        return None
    season = found["season"].lower()
    seasons = [season_of(year, season) for year in years_around(said.today)]
    days = chosen(seasons, said.today, "this", lean)
    return DateSpan(found.start("season"), found.end(), *days, "season")


def _season_of_year(found: re.Match[str], said: Said) -> DateSpan | None:
    year = year_in(found, said)
    return None if year is None else span(found, season_of(year, found["season"].lower()), "season")


def _seasons_ago(found: re.Match[str], said: Said) -> DateSpan:
    season = found["season"].lower()
    last = chosen([season_of(year, season) for year in years_around(said.today)], said.today, "last", None)
    return span(found, season_of(last[0].year - number_of(found["count"]) + 1, season), "season")


def _this_time(found: re.Match[str], said: Said) -> DateSpan:
    offset = -1 if found["which"].lower() == "last" else 1
    if found["unit"].lower() == "year":
        return span(found, month_of(said.today.year + offset, said.today.month), "month")
    days, precision = period(said.today, found["unit"].lower(), offset)
    return span(found, days, precision)


PERIOD_RULES: tuple[Rule, ...] = (
    (_THIS_TIME, _this_time),
    (_OUTER, _outer),
    (_OF_THIS, _of_this),
    (_RELATIVE, _relative),
    (_WEEKEND, _weekend),
)
SEASON_OF_YEAR_RULES: tuple[Rule, ...] = ((_SEASON_OF_YEAR, _season_of_year),)
SEASON_RULES: tuple[Rule, ...] = (
    (_SEASONS_AGO, _seasons_ago),
    (_OUTER, _outer),
    (_RELATIVE, _relative),
    (_SEASON, _season),
)
