"""The words around a date that change its meaning: "the Sunday before 25 May", "early June", "at 3pm on Friday",
"since".

Modifiers run after all rules, on spans in the order of the text, since they look at both sides of a date. A modifier
that moves a date takes earlier spans in, such as the Sunday in the first example. One that changes the days also clears
`distance`, which would no longer describe them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, time, timedelta

from longmind.language.calendar import WEEKDAY_NUMBERS, week_of
from longmind.language.dates.days import find_following, find_preceding
from longmind.language.dates.periods import get_part, get_period, get_weekend, refine_precision
from longmind.language.dates.relative import Amount, shift
from longmind.language.dates.rule import DatedText, Days
from longmind.language.dates.span import DateSpan, Relation
from longmind.language.dates.time_words import (
    AMOUNT,
    CLOCK,
    NTH,
    PART_OF_DAY,
    PARTS_OF_DAY,
    WEEKDAY,
    compile_pattern,
    match_any,
    to_number,
)
from longmind.models.atom import Precision

_REACH = 60
_DAY = timedelta(days=1)

_STARTS = PARTS_OF_DAY | {"midnight": time(0)}
_TIME_AFTER = compile_pattern(
    rf"(?: |,\s*)(?:early |late )?(?:in the |at (?:around |about )?|around |about |@\s*)?"
    rf"(?P<when>{CLOCK}|{PART_OF_DAY}(?!s| (?:of|market|shift|club)\b))(?![\w-])"
)
_TIME_BEFORE = compile_pattern(
    rf"\b(?:the (?P<part>{PART_OF_DAY}) of|(?:(?P<from>{CLOCK})\s*(?:-|to|until)\s*)?(?P<when>{CLOCK})(?: on)?)"
    r" (?:the )?$"
)

_NTH_OF = compile_pattern(
    rf"\b(?:the )?(?P<nth>{NTH}|[1-5](?:st|nd|rd|th)|last) (?P<what>week|weekend|{WEEKDAY}|half|day) (?:of|in) "
    r"(?:the month of )?$"
)
_PART_OF = compile_pattern(
    r"\b(?:the )?(?:very )?(?P<part>early|late|mid|middle|beginning|start|end)(?: (?:of|in|on|part of)\b)?(?: |-)"
    r"(?:the )?$"
)
_SIDE_OF = compile_pattern(r"\b(?P<side>earlier|later) (?:on )?(?:in )?$")
_PERIOD = match_any("day", "night", "morning", "evening", "week", "weekend", "month", "year")
_NEXT_TO = compile_pattern(
    rf"\b(?:(?:on )?(?:the )?(?P<what>{WEEKDAY}|(?<=the\s){_PERIOD})|{AMOUNT})"
    r" (?:right |just )?(?P<where>before|after|following|prior to|from) (?:the )?$"
)
_WEEK_OF = compile_pattern(r"\b(?:the )?(?P<what>week|weekend) (?:of|starting|beginning) (?:the )?$")

_RELATIONS: dict[str, Relation] = {
    "since": "since", "starting": "since", "as of": "since", "until": "until", "till": "until", "til": "until",
    "through": "until", "by": "until", "before": "before", "prior to": "before", "after": "after",
}  # fmt: skip
_RELATION = compile_pattern(
    r"\b(?P<how>since|starting|as of|until|till|til|through|by|before|prior to|after)"
    rf"(?: (?:in|on|from|around|about|at least|sometime|back in|{CLOCK}(?: on)?))? (?:the )?$"
)
_JOINED = compile_pattern(r"\s*(?:-|to|through|thru|until|till)\s*(?:the )?")
_BETWEEN = compile_pattern(r"\bbetween (?:the )?$")
_AND = compile_pattern(r" and (?:the )?")


def apply_modifiers(dated_text: DatedText, spans: list[DateSpan]) -> list[DateSpan]:
    """Return the spans in the order of the text, each changed by the words next to it.

    Spans with a relation of their own, such as habits, stay as they are. May raise `ValueError` or `OverflowError` for
    days beyond the calendar; the caller then uses the spans without their modifiers.
    """
    text = dated_text.text
    modified: list[DateSpan] = []
    for found in spans:
        if found.relation == "on":
            found = _add_time(text, found)
            found = _move_from(text, _narrow(dated_text, found))
            # An earlier span can be part of this one: the Sunday of "the Sunday before 25 May".
            while modified and modified[-1].end > found.start:
                modified.pop()
        modified.append(found)
    return [_add_relation(text, found) for found in _join_ranges(text, modified)]


def _add_time(text: str, found: DateSpan) -> DateSpan:
    """Add the time of day that stands after or before a day."""
    if found.precision != "day" or found.first != found.last:
        return found
    after = _TIME_AFTER.match(text, found.end)
    if after:
        found = replace(found, end=after.end())
        found = _set_time(found, after["when"].lower())
        again = _TIME_AFTER.match(text, found.end)
        # "tomorrow morning at nine": the hour says more than the morning.
        return _set_time(replace(found, end=again.end()), again["when"].lower()) if again else found
    before = _search_before(_TIME_BEFORE, text, found)
    if before:
        return _set_time(
            replace(found, start=before.start()), (before["part"] or before["from"] or before["when"]).lower()
        )
    return found


def _set_time(found: DateSpan, when: str) -> DateSpan:
    """Set the time of day from its words: a part of the day, or an hour, which makes the date an instant."""
    if when in _STARTS:
        return replace(found, at=_STARTS[when])
    numbers = [int(number) for number in re.findall(r"\d+", when)]
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if when.replace(".", "").endswith("m"):
        hour = hour % 12 + 12 * ("p" in when)
    return replace(found, at=time(hour, minute), precision="instant")


def _search_before(rule: re.Pattern[str], text: str, found: DateSpan) -> re.Match[str] | None:
    """Search a pattern that ends where a date begins, no farther back than `_REACH` characters."""
    return rule.search(text, max(0, found.start - _REACH), found.start)


def _narrow(dated_text: DatedText, found: DateSpan) -> DateSpan:
    """Reduce a week, month, season or year to the part that is named: its beginning, its second weekend, the rest of
    it.
    """
    text = dated_text.text
    if found.precision in ("day", "instant"):
        return found
    nth = _search_before(_NTH_OF, text, found)
    if nth and found.precision == "month":
        days, precision = _find_nth((found.first, found.last), nth["nth"].lower(), nth["what"].lower())
        return replace(found, start=nth.start(), first=days[0], last=days[1], precision=precision, distance=None)
    part = _search_before(_PART_OF, text, found)
    if part:
        first, last = get_part((found.first, found.last), part["part"].lower())
        precision = refine_precision(found.precision)
        return replace(found, start=part.start(), first=first, last=last, precision=precision, distance=None)
    side = _search_before(_SIDE_OF, text, found)
    if not side:
        return found
    if side["side"].lower() == "earlier":
        return replace(
            found, start=side.start(), last=max(found.first, min(found.last, dated_text.today)), distance=None
        )
    return replace(found, start=side.start(), first=min(found.last, max(found.first, dated_text.today)), distance=None)


def _find_nth(days: Days, nth: str, what: str) -> tuple[Days, Precision]:
    """Return the nth week, weekend, half or day of a month, or the last one."""
    first, last = days
    place = 0 if nth == "last" else to_number(nth)
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
                find_following(first - _DAY, weekday) + 7 * (place - 1) * _DAY
                if place
                else find_preceding(last + _DAY, weekday)
            )
            return ((day, day + _DAY), "week") if what == "weekend" else ((day, day), "day")


def _move_from(text: str, found: DateSpan) -> DateSpan:
    """Replace a date by the one that is named from it: "the week before 9 June", "two days after Christmas"."""
    week = _search_before(_WEEK_OF, text, found)
    if week and found.precision == "day":
        days = week_of(found.first) if week["what"].lower() == "week" else get_weekend(found.first)
        return replace(found, start=week.start(), first=days[0], last=days[1], precision="week", distance=None)
    beside = _search_before(_NEXT_TO, text, found)
    if not beside or (beside["where"].lower() == "from" and not beside["count"]):
        return found
    sign = -1 if beside["where"].lower().startswith(("before", "prior")) else 1
    day = found.first if sign < 0 else found.last
    if beside["count"]:
        days, precision = _count_from(day, Amount.from_match(beside), sign, exactly=found.first == found.last)
    else:
        days, precision = _find_neighbour(day, beside["what"].lower(), sign)
    at = _STARTS.get((beside["what"] or "").lower())
    return replace(found, start=beside.start(), first=days[0], last=days[1], precision=precision, at=at, distance=None)


def _count_from(day: date, amount: Amount, sign: int, *, exactly: bool) -> tuple[Days, Precision]:
    """Return the time that is an amount before or after a day. Whole weeks from an exact day end on a day."""
    if exactly and amount.unit == "week" and amount.is_whole:
        day += sign * 7 * int(amount.middle) * _DAY
        return (day, day), "day"
    return shift(day, amount, sign)


def _find_neighbour(day: date, what: str, sign: int) -> tuple[Days, Precision]:
    """Return the week, weekend, month, year, weekday or day next to a day, before (-1) or after (+1) it."""
    match what:
        case "week":
            return ((day - 7 * _DAY, day - _DAY) if sign < 0 else (day + _DAY, day + 7 * _DAY)), "week"
        case "weekend":
            saturday = find_preceding(day, 5) if sign < 0 else find_following(day, 5)
            if sign < 0 and saturday == day - _DAY:
                saturday -= 7 * _DAY
            return (saturday, saturday + _DAY), "week"
        case "month" | "year":
            return get_period(day, what, sign)
        case _ if what in WEEKDAY_NUMBERS:
            found = (
                find_preceding(day, WEEKDAY_NUMBERS[what]) if sign < 0 else find_following(day, WEEKDAY_NUMBERS[what])
            )
            return (found, found), "day"
        case _:
            return (day + sign * _DAY, day + sign * _DAY), "day"


def _join_ranges(text: str, spans: Iterable[DateSpan]) -> list[DateSpan]:
    """Join two dates into one where they are a beginning and an end: "from 3 May to 10 June"."""
    joined: list[DateSpan] = []
    for found in spans:
        before = joined[-1] if joined else None
        if before and before.relation == found.relation == "on" and _is_joint(text, before, found):
            before = _align_years(before, found)
            precision = found.precision if found.precision != "instant" else "day"
            joined[-1] = replace(
                before, end=found.end, last=found.last, precision=_widen_precision(precision), at=None, distance=None
            )
        else:
            joined.append(found)
    return joined


def _align_years(one: DateSpan, two: DateSpan) -> DateSpan:
    """Move the beginning of a range back to the year of its end, or to the year before, if it comes after the end."""
    year = two.last.year
    while one.first > two.last:
        one = replace(one, first=one.first.replace(year=year))
        year -= 1
    return one


def _widen_precision(precision: Precision) -> Precision:
    """Return the precision of a range of days."""
    return "week" if precision == "day" else precision


def _is_joint(text: str, one: DateSpan, two: DateSpan) -> bool:
    """Return whether the text between two dates makes them one range: "to", a dash, or "and" after "between"."""
    if _JOINED.fullmatch(text, one.end, two.start):
        return True
    return _search_before(_BETWEEN, text, one) is not None and _AND.fullmatch(text, one.end, two.start) is not None


def _add_relation(text: str, found: DateSpan) -> DateSpan:
    """Set the relation that a preposition before the date names: "since", "until", "before"."""
    if found.relation != "on":
        return found
    how = _search_before(_RELATION, text, found)
    return replace(found, relation=_RELATIONS[" ".join(how["how"].lower().split())]) if how else found
