"""What the words around a date make of it: "the Sunday before 25 May", "early June", "at 3pm on Friday", "since"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, time, timedelta

from longmind.language.calendar import WEEKDAY_NUMBERS, week_of
from longmind.language.dates.days import following, preceding
from longmind.language.dates.periods import finer, part_of, period, weekend_of
from longmind.language.dates.relative import Amount, shifted
from longmind.language.dates.rule import Days, Said
from longmind.language.dates.span import DateSpan, Relation
from longmind.language.dates.words import (
    AMOUNT,
    CLOCK,
    NTH,
    PART_OF_DAY,
    PARTS_OF_DAY,
    WEEKDAY,
    any_of,
    number_of,
    pattern,
)
from longmind.models.atom import Precision

_REACH = 60
_DAY = timedelta(days=1)

_STARTS = PARTS_OF_DAY | {"midnight": time(0)}
_TIME_AFTER = pattern(
    rf"(?: |,\s*)(?:early |late )?(?:in the |at (?:around |about )?|around |about |@\s*)?"
    rf"(?P<when>{CLOCK}|{PART_OF_DAY}(?!s| (?:of|market|shift|club)\b))(?![\w-])"
)
_TIME_BEFORE = pattern(
    rf"\b(?:the (?P<part>{PART_OF_DAY}) of|(?:(?P<from>{CLOCK})\s*(?:-|to|until)\s*)?(?P<when>{CLOCK})(?: on)?)"
    r" (?:the )?$"
)

_NTH_OF = pattern(
    rf"\b(?:the )?(?P<nth>{NTH}|[1-5](?:st|nd|rd|th)|last) (?P<what>week|weekend|{WEEKDAY}|half|day) (?:of|in) "
    r"(?:the month of )?$"
)
_PART_OF = pattern(
    r"\b(?:the )?(?:very )?(?P<part>early|late|mid|middle|beginning|start|end)(?: (?:of|in|on|part of)\b)?(?: |-)"
    r"(?:the )?$"
)
_SIDE_OF = pattern(r"\b(?P<side>earlier|later) (?:on )?(?:in )?$")
_PERIOD = any_of("day", "night", "morning", "evening", "week", "weekend", "month", "year")
_NEXT_TO = pattern(
    rf"\b(?:(?:on )?(?:the )?(?P<what>{WEEKDAY}|(?<=the\s){_PERIOD})|{AMOUNT})"
    r" (?:right |just )?(?P<where>before|after|following|prior to|from) (?:the )?$"
)
_WEEK_OF = pattern(r"\b(?:the )?(?P<what>week|weekend) (?:of|starting|beginning) (?:the )?$")

_RELATIONS: dict[str, Relation] = {
    "since": "since", "starting": "since", "as of": "since", "until": "until", "till": "until", "til": "until",
    "through": "until", "by": "until", "before": "before", "prior to": "before", "after": "after",
}  # fmt: skip
_RELATION = pattern(
    r"\b(?P<how>since|starting|as of|until|till|til|through|by|before|prior to|after)"
    rf"(?: (?:in|on|from|around|about|at least|sometime|back in|{CLOCK}(?: on)?))? (?:the )?$"
)
_JOINED = pattern(r"\s*(?:-|to|through|thru|until|till)\s*(?:the )?")
_BETWEEN = pattern(r"\bbetween (?:the )?$")
_AND = pattern(r" and (?:the )?")


def settle(said: Said, spans: list[DateSpan]) -> list[DateSpan]:
    """Spans in the order of the text, each with what is said beside it."""
    text = said.text
    settled: list[DateSpan] = []
    for found in spans:
        if found.relation == "on":
            found = _timed(text, found)
            found = _next_to(text, _narrowed(said, found))
            # What has been taken in was a part of this date: the Sunday of "the Sunday before 25 May".
            while settled and settled[-1].end > found.start:
                settled.pop()
        settled.append(found)
    return [_related(text, found) for found in _joined(text, settled)]


def _timed(text: str, found: DateSpan) -> DateSpan:
    """With the time of day that stands behind or before a day."""
    if found.precision != "day" or found.first != found.last:
        return found
    after = _TIME_AFTER.match(text, found.end)
    if after:
        found = replace(found, end=after.end())
        found = _at(found, after["when"].lower())
        again = _TIME_AFTER.match(text, found.end)
        # "tomorrow morning at nine": the hour says more than the morning.
        return _at(replace(found, end=again.end()), again["when"].lower()) if again else found
    before = _before(_TIME_BEFORE, text, found)
    if before:
        return _at(replace(found, start=before.start()), (before["part"] or before["from"] or before["when"]).lower())
    return found


def _at(found: DateSpan, when: str) -> DateSpan:
    if when in _STARTS:
        return replace(found, at=_STARTS[when])
    numbers = [int(number) for number in re.findall(r"\d+", when)]
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if when.replace(".", "").endswith("m"):
        hour = hour % 12 + 12 * ("p" in when)
    return replace(found, at=time(hour, minute), precision="instant")


def _before(rule: re.Pattern[str], text: str, found: DateSpan) -> re.Match[str] | None:
    return rule.search(text, max(0, found.start - _REACH), found.start)


def _narrowed(said: Said, found: DateSpan) -> DateSpan:
    """A part of a week, month, season or year: its beginning, its second weekend, what is left of it."""
    text = said.text
    if found.precision in ("day", "instant"):
        return found
    nth = _before(_NTH_OF, text, found)
    if nth and found.precision == "month":
        days, precision = _nth_of((found.first, found.last), nth["nth"].lower(), nth["what"].lower())
        return replace(found, start=nth.start(), first=days[0], last=days[1], precision=precision, distance=None)
    part = _before(_PART_OF, text, found)
    if part:
        first, last = part_of((found.first, found.last), part["part"].lower())
        precision = finer(found.precision)
        return replace(found, start=part.start(), first=first, last=last, precision=precision, distance=None)
    side = _before(_SIDE_OF, text, found)
    if not side:
        return found
    if side["side"].lower() == "earlier":
        return replace(found, start=side.start(), last=max(found.first, min(found.last, said.today)), distance=None)
    return replace(found, start=side.start(), first=min(found.last, max(found.first, said.today)), distance=None)


def _nth_of(days: Days, nth: str, what: str) -> tuple[Days, Precision]:
    first, last = days
    place = 0 if nth == "last" else number_of(nth)
    match what:
        case "day":
            day = first + (place - 1) * _DAY if place else last
            return (day, day), "day"
        case "week":
            begin = first + 7 * (place - 1) * _DAY if place else last - 6 * _DAY
            return (begin, begin + 6 * _DAY), "week"
        case "half":
            return ((first, first + 14 * _DAY) if place == 1 else (first + 15 * _DAY, last)), "week"
        case _:
            weekday = 5 if what == "weekend" else WEEKDAY_NUMBERS[what]
            day = (
                following(first - _DAY, weekday) + 7 * (place - 1) * _DAY if place else preceding(last + _DAY, weekday)
            )
            return ((day, day + _DAY), "week") if what == "weekend" else ((day, day), "day")


def _next_to(text: str, found: DateSpan) -> DateSpan:
    """A day or time that is told from this one: "the week before 9 June", "two days after Christmas"."""
    week = _before(_WEEK_OF, text, found)
    if week and found.precision == "day":
        days = week_of(found.first) if week["what"].lower() == "week" else weekend_of(found.first)
        return replace(found, start=week.start(), first=days[0], last=days[1], precision="week", distance=None)
    beside = _before(_NEXT_TO, text, found)
    if not beside or (beside["where"].lower() == "from" and not beside["count"]):
        return found
    sign = -1 if beside["where"].lower().startswith(("before", "prior")) else 1
    day = found.first if sign < 0 else found.last
    if beside["count"]:
        days, precision = _counted_from(day, Amount.of(beside), sign, exactly=found.first == found.last)
    else:
        days, precision = _beside(day, beside["what"].lower(), sign)
    at = _STARTS.get((beside["what"] or "").lower())
    return replace(found, start=beside.start(), first=days[0], last=days[1], precision=precision, at=at, distance=None)


def _counted_from(day: date, amount: Amount, sign: int, *, exactly: bool) -> tuple[Days, Precision]:
    if exactly and amount.unit == "week" and amount.is_whole:
        day += sign * 7 * int(amount.middle) * _DAY
        return (day, day), "day"
    return shifted(day, amount, sign)


def _beside(day: date, what: str, sign: int) -> tuple[Days, Precision]:
    match what:
        case "week":
            return ((day - 7 * _DAY, day - _DAY) if sign < 0 else (day + _DAY, day + 7 * _DAY)), "week"
        case "weekend":
            saturday = preceding(day, 5) if sign < 0 else following(day, 5)
            if sign < 0 and saturday == day - _DAY:
                saturday -= 7 * _DAY
            return (saturday, saturday + _DAY), "week"
        case "month" | "year":
            return period(day, what, sign)
        case _ if what in WEEKDAY_NUMBERS:
            found = preceding(day, WEEKDAY_NUMBERS[what]) if sign < 0 else following(day, WEEKDAY_NUMBERS[what])
            return (found, found), "day"
        case _:
            return (day + sign * _DAY, day + sign * _DAY), "day"


def _joined(text: str, spans: Iterable[DateSpan]) -> list[DateSpan]:
    """With two dates made into one where they are its beginning and its end: "from 3 May to 10 June"."""
    joined: list[DateSpan] = []
    for found in spans:
        before = joined[-1] if joined else None
        if before and before.relation == found.relation == "on" and _is_joint(text, before, found):
            before = _in_time_for(before, found)
            precision = found.precision if found.precision != "instant" else "day"
            joined[-1] = replace(
                before, end=found.end, last=found.last, precision=_wider(precision), at=None, distance=None
            )
        else:
            joined.append(found)
    return joined


def _in_time_for(one: DateSpan, two: DateSpan) -> DateSpan:
    """The beginning in the year of the end, or the one before, where it was read as if it came later."""
    year = two.last.year
    while one.first > two.last:
        one = replace(one, first=one.first.replace(year=year))
        year -= 1
    return one


def _wider(precision: Precision) -> Precision:
    return "week" if precision == "day" else precision


def _is_joint(text: str, one: DateSpan, two: DateSpan) -> bool:
    if _JOINED.fullmatch(text, one.end, two.start):
        return True
    return _before(_BETWEEN, text, one) is not None and _AND.fullmatch(text, one.end, two.start) is not None


def _related(text: str, found: DateSpan) -> DateSpan:
    if found.relation != "on":
        return found
    how = _before(_RELATION, text, found)
    return replace(found, relation=_RELATIONS[" ".join(how["how"].lower().split())]) if how else found
