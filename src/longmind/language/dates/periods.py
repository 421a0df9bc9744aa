"""Rules for weeks, months, seasons and years named from the day they were said: "last week", "this summer"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from longmind.language.calendar import month_of, week_of, year_of
from longmind.language.dates.rule import (
    OF_YEAR,
    OFFSET,
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
from longmind.language.dates.span import DateSpan, Distance
from longmind.language.dates.time_words import SEASON, compile_pattern, match_any, to_number
from longmind.models.atom import Precision

_PERIOD = match_any("week", "weekend", "month", "year", "decade")
_RELATIVE = compile_pattern(rf"\b(?P<which>{WHICH_WORDS}) (?P<unit>{_PERIOD}|{SEASON})(?:'s)?\b")
_IN_A_ROW = compile_pattern(r"\b(?:the|that|every|each|my|our|his|her|their) $")
_OUTER = compile_pattern(
    r"\b(?:the )?(?P<unit>week|weekend|month|year|summer|winter|spring|autumn|fall) (?P<where>before last|after next)\b"
)
_OF_THIS = compile_pattern(
    r"\bthe (?:very )?(?P<part>end|beginning|start|middle|rest) of the (?P<unit>week|month|year)\b"
)
_WEEKEND = compile_pattern(r"\b(?:over|on|during|at|for|this|after) (?P<phrase>the weekend)\b")
_SEASON = compile_pattern(
    r"\b(?:over|in|during|for|throughout|since|until|by|before|after) (?:the |(?:the )?(?:early|late|mid)[\s-]+)"
    rf"(?P<season>{SEASON})\b(?! (?:months?|time|season|of|and|or|semester|heat|menu|sun|air)\b)"
)
_SEASON_OF_YEAR = compile_pattern(rf"\b(?P<season>{SEASON}) (?:of )?{OF_YEAR}")
_SEASONS_AGO = compile_pattern(rf"\b(?P<count>\d|two|three|four|five|six) (?P<season>{SEASON})s ago\b")
_THIS_TIME = compile_pattern(r"\b(?:this|around this|same) time (?P<which>last|next) (?P<unit>week|month|year)\b")

_SUNDAY = 6
_WEEK: Precision = "week"
SEASON_MONTHS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each season north of the equator."""


def get_season(year: int, season: str) -> Days:
    """Return the days of a season, north of the equator; a winter belongs to the year of its December."""
    first = SEASON_MONTHS[season]
    return month_of(year, first)[0], month_of(year, first + 2)[1]


def get_weekend(day: date) -> Days:
    """Return Saturday and Sunday of the week of a day."""
    sunday = week_of(day)[1]
    return sunday - timedelta(days=1), sunday


def _read_period(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "last week", "this month" and "next summer".

    "The last week" of a message is another time, or a length; a question means the latest one by it.
    """
    which = read_which(found["which"])
    unit = found["unit"].lower()
    before = dated_text.text_before(found)
    in_a_row = found["which"].lower() in ("past", "last", "next", "previous") and _IN_A_ROW.search(before)
    if in_a_row and not (dated_text.is_question and which == "last"):
        # "The next week" and "the last year" follow another time, or say how long something took.
        return None
    if unit in SEASON_MONTHS:
        seasons = [get_season(year, unit) for year in list_years(dated_text.today)]
        return make_span(found, choose(seasons, dated_text.today, which, dated_text.find_direction(found)), "season")
    if which == "this" and unit == "weekend":
        days, precision = _find_weekend(found, dated_text), _WEEK
    else:
        days, precision = get_period(dated_text.today, unit, OFFSET[which])
    return replace(make_span(found, days, precision), distance=Distance(OFFSET[which], unit, is_period=True))


def get_period(today: date, unit: str, offset: int) -> tuple[Days, Precision]:
    """Return the week, weekend, month, year or decade that is `offset` periods after the current one."""
    match unit:
        case "week":
            return get_week(today, offset), "week"
        case "weekend":
            return get_weekend(today + timedelta(weeks=offset)), "week"
        case "month":
            return month_of(today.year, today.month + offset), "month"
        case "year":
            return year_of(today.year + offset), "year"
        case _:
            decade = today.year // 10 * 10 + 10 * offset
            return (date(decade, 1, 1), date(decade + 9, 12, 31)), "year"


def get_week(today: date, offset: int) -> Days:
    """Return Monday to Sunday of another week. On a Sunday, "last week" is the seven days before it."""
    if offset < 0 and today.weekday() == _SUNDAY:
        return today + timedelta(weeks=offset), today + timedelta(weeks=offset + 1, days=-1)
    return week_of(today + timedelta(weeks=offset))


def _read_outer_period(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "the week before last" and "the summer after next"."""
    sign = -1 if found["where"].lower().startswith("before") else 1
    unit = found["unit"].lower()
    if unit in SEASON_MONTHS:
        nearest = choose(
            [get_season(year, unit) for year in list_years(dated_text.today)],
            dated_text.today,
            "last" if sign < 0 else "next",
            None,
        )
        return make_span(found, get_season(nearest[0].year + sign, unit), "season")
    return make_span(found, *get_period(dated_text.today, unit, 2 * sign))


def _read_part_of_period(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "the end of the week" and "the rest of the month", which are parts of the current ones."""
    (first, last), precision = get_period(dated_text.today, found["unit"].lower(), 0)
    part = found["part"].lower()
    if part == "rest":
        return DateSpan(found.start(), found.end(), dated_text.today, last, precision)
    return make_span(found, get_part((first, last), part), refine_precision(precision))


_PARTS = {"early": (0, 1, 3), "mid": (1, 2, 3), "late": (2, 3, 3), "start": (0, 1, 6), "end": (5, 6, 6)}


def get_part(days: Days, part: str) -> Days:
    """Return the first, middle or last third of some days; a start or an end is shorter."""
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


def refine_precision(precision: Precision) -> Precision:
    """Return the precision of a third of a period."""
    steps: dict[Precision, Precision] = {"year": "season", "season": "month", "month": "week"}
    return steps.get(precision, precision)


def _read_weekend(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "at the weekend": the past one if the verbs say so, and the current or coming one otherwise."""
    if dated_text.is_generic(found):
        return None
    days = _find_weekend(found, dated_text)
    return DateSpan(found.start("phrase"), found.end(), *days, "week")


def _find_weekend(found: re.Match[str], dated_text: DatedText) -> Days:
    """Return the weekend of this week, or the one before it where the verbs point to the past."""
    saturday, sunday = get_weekend(dated_text.today)
    if dated_text.today < saturday and dated_text.find_direction(found) == "past":
        return saturday - timedelta(weeks=1), sunday - timedelta(weeks=1)
    return saturday, sunday


def _read_season(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "in the summer" where a verb has a direction."""
    lean = dated_text.find_direction(found)
    if lean is None or dated_text.is_generic(found):
        return None
    season = found["season"].lower()
    seasons = [get_season(year, season) for year in list_years(dated_text.today)]
    days = choose(seasons, dated_text.today, "this", lean)
    return DateSpan(found.start("season"), found.end(), *days, "season")


def _read_season_of_year(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "summer 2022" and "spring of last year"."""
    year = read_year(found, dated_text)
    return None if year is None else make_span(found, get_season(year, found["season"].lower()), "season")


def _read_seasons_ago(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "two summers ago"."""
    season = found["season"].lower()
    last = choose([get_season(year, season) for year in list_years(dated_text.today)], dated_text.today, "last", None)
    return make_span(found, get_season(last[0].year - to_number(found["count"]) + 1, season), "season")


def _read_same_time(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "this time last year", which is the month of today in that year."""
    offset = -1 if found["which"].lower() == "last" else 1
    if found["unit"].lower() == "year":
        return make_span(found, month_of(dated_text.today.year + offset, dated_text.today.month), "month")
    days, precision = get_period(dated_text.today, found["unit"].lower(), offset)
    return make_span(found, days, precision)


PERIOD_RULES: tuple[Rule, ...] = (
    (_THIS_TIME, _read_same_time),
    (_OUTER, _read_outer_period),
    (_OF_THIS, _read_part_of_period),
    (_RELATIVE, _read_period),
    (_WEEKEND, _read_weekend),
)
SEASON_OF_YEAR_RULES: tuple[Rule, ...] = ((_SEASON_OF_YEAR, _read_season_of_year),)
SEASON_RULES: tuple[Rule, ...] = (
    (_SEASONS_AGO, _read_seasons_ago),
    (_OUTER, _read_outer_period),
    (_RELATIVE, _read_period),
    (_SEASON, _read_season),
)
