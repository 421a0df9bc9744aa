"""Times that are counted from the day it was said: "two weeks ago", "in three days", "for five years"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import date, timedelta

from longmind.language.calendar import month_of, year_of
from longmind.language.dates.periods import weekend_of
from longmind.language.dates.rule import Days, Rule, Said, span
from longmind.language.dates.span import DateSpan, Distance
from longmind.language.dates.words import AMOUNT, UNIT, any_of, number_of, pattern
from longmind.models.atom import Precision

_COUNTED = pattern(
    rf"\b{AMOUNT} (?:(?P<behind>ago\b(?P<to_the_day> today\b)?|back\b(?! (?:home|to|in|at|from|with|into|then)\b))"
    r"|(?P<ahead>from (?:now\b|(?P<from_the_day>today\b))|hence\b)"
    r"|(?P<still>and counting\b|(?:strong )?(?:now|already)\b))"
)
_ABOUT = any_of(
    "about", "around", "roughly", "over", "almost", "nearly", "just", "only", "like", "more than", "at least",
    "another", "the better part of",
)  # fmt: skip
_IN = pattern(rf"\bin (?:{_ABOUT} )?{AMOUNT}(?:' time)?\b")
_LASTING = pattern(rf"\bfor (?:{_ABOUT} )?{AMOUNT}(?P<now> (?:now|already))?\b")
_BEEN = pattern(rf"(?:\bit's|\bit has|\bhas) been (?:{_ABOUT} )?(?P<span>{AMOUNT})\b(?= (?:since|that|now)\b)")
_WITHIN = any_of("over", "in", "during", "for", "within", "throughout", "of", "across", "from")
_THE_PAST = pattern(
    rf"\b(?P<within>{_WITHIN} )?(?:these|this|the) (?:past|last) (?:{AMOUNT}|(?P<one>{UNIT}))\b(?! of\b)"
)
_THE_NEXT = pattern(rf"\b{_WITHIN} the (?:next|coming) (?:{AMOUNT}|(?P<some>{UNIT})s)\b")
_PARTICIPLE = any_of(
    *"been had known kept gone done seen worn run held led slept eaten spoken heard felt won met made taken gotten "
    "left taught driven ridden written drawn sung".split()
)
_PERFECT = pattern(
    r"(?:\b(?:have|has|haven't|hasn't)|'(?:ve|s)) (?:(?:[a-z]+ly|also|all|not|never|always|just|both) )*"
    rf"(?:[a-z]+ed|{_PARTICIPLE})\b[^.!?;\n]*$|\bbeen\b[^.!?;\n]*$|\bgoing (?:on|strong)\b[^.!?;\n]*$"
)
_TOOK = pattern(r"(?:[a-z]+ing|\bcan|\bcould|\btakes?|\bonce|\btwice|\btimes|\bhow \w+)\b[^.!?;\n]*$")
_WEEK = 7
_DAYS_IN = {"day": 1, "week": _WEEK, "fortnight": 2 * _WEEK}


@dataclass(frozen=True)
class Amount:
    """So many units; for "a few" a least and a most."""

    least: float
    middle: float
    most: float
    unit: str
    loose: bool

    @property
    def is_whole(self) -> bool:
        """Whether it is so many to the day, month or year."""
        return not self.loose and self.middle % 1 == 0 and self.unit in (*_DAYS_IN, "month", "year")

    @classmethod
    def of(cls, found: re.Match[str]) -> Amount:
        count = " ".join(found["count"].lower().split())
        unit = found["unit"].lower()
        half = 0.5 if found["half"] or found["half_after"] else 0.0
        if found["upto"]:
            least, most = sorted((_plain(count), float(number_of(found["upto"]))))
            return cls(least, (least + most) / 2, most, unit, True)
        if found["months"] and unit == "year":
            number = 12 * _plain(count) + number_of(found["months"])
            return cls(number, number, number, "month", False)
        return cls.counted(count, unit, half)

    @classmethod
    def counted(cls, count: str, unit: str, half: float = 0.0) -> Amount:
        if "couple" in count:
            return cls(2, 2, 2, unit, True)
        if "few" in count:
            return cls(2, 3, 4, unit, True)
        if count == "several":
            return cls(3, 5, 7, unit, True)
        number = _plain(count) + half
        return cls(number, number, number, unit, False)


def _plain(count: str) -> float:
    if count.startswith("half"):
        return 0.5
    if count.endswith("dozen"):
        return 12
    if count in ("a", "an"):
        return 1
    return float(count.rstrip("+")) if count[0].isdigit() else number_of(count)


def shifted(today: date, amount: Amount, sign: int) -> tuple[Days, Precision]:
    """The time that is so much before (-1) or after (+1) a day, as exactly as such a count is meant."""
    near, far = (amount.most, amount.least) if sign < 0 else (amount.least, amount.most)
    match amount.unit:
        case "day":
            days = today + timedelta(days=math.ceil(sign * near)), today + timedelta(days=math.ceil(sign * far))
            return days, "week" if amount.loose else "day"
        case "week" | "fortnight":
            length = _DAYS_IN[amount.unit]
            first = today + timedelta(days=round(sign * near * length) - 3)
            return (first, today + timedelta(days=round(sign * far * length) + 3)), "week"
        case "weekend":
            return (
                weekend_of(today + timedelta(weeks=sign * int(near)))[0],
                weekend_of(today + timedelta(weeks=sign * int(far)))[1],
            ), "week"
        case "month":
            if amount.middle % 1 and not amount.loose:
                middle = today + timedelta(days=round(sign * amount.middle * 30.4))
                return (middle - timedelta(days=_WEEK), middle + timedelta(days=_WEEK)), "month"
            first_month, last_month = (today.month + int(sign * end) for end in (near, far))
            return (month_of(today.year, first_month)[0], month_of(today.year, last_month)[1]), "month"
        case "year":
            if amount.middle % 1 and not amount.loose:
                middle_month = today.month + round(sign * amount.middle * 12)
                return (month_of(today.year, middle_month - 1)[0], month_of(today.year, middle_month + 1)[1]), "season"
            return (
                year_of(today.year + int(sign * near))[0],
                year_of(today.year + int(sign * far))[1],
            ), "year"
        case _:
            return (
                year_of(today.year + int(sign * near * 10) - 1)[0],
                year_of(today.year + int(sign * far * 10) + 1)[1],
            ), "year"


def _counted(found: re.Match[str], said: Said) -> DateSpan:
    amount = Amount.of(found)
    if found["still"]:
        return _since(found, said, amount)
    sign = -1 if found["behind"] else 1
    if (found["to_the_day"] or found["from_the_day"]) and amount.is_whole:
        day = _same_day(said.today, amount, sign)
        return span(found, (day, day), "day")
    distance = Distance(sign * amount.middle, amount.unit, is_period=False)
    return replace(span(found, *shifted(said.today, amount, sign)), distance=distance)


def _same_day(today: date, amount: Amount, sign: int) -> date:
    """So many weeks, months or years away to the day; the last of a month that is too short for it."""
    count = sign * int(amount.middle)
    if amount.unit in _DAYS_IN:
        return today + timedelta(days=count * _DAYS_IN[amount.unit])
    first, last = month_of(today.year, today.month + count * (12 if amount.unit == "year" else 1))
    return min(first + timedelta(days=today.day - 1), last)


def _in(found: re.Match[str], said: Said) -> DateSpan | None:
    if _PERFECT.search(said.before(found, 80)):
        # "I haven't seen her in three years."
        return _since(found, said, Amount.of(found))
    lean = said.leaning(found)
    if lean == "past" or (lean is None and _TOOK.search(said.before(found, 80))):
        # How long something took, or how often it comes: "I read it in two weeks", "twice in a month".
        return None
    return span(found, *shifted(said.today, Amount.of(found), 1))


def _lasting(found: re.Match[str], said: Said) -> DateSpan | None:
    before = said.before(found, 80)
    if not found["now"] and not _PERFECT.search(before):
        # Only how long something was or will be: "we stayed for two weeks".
        return None
    return _since(found, said, Amount.of(found))


def _been(found: re.Match[str], said: Said) -> DateSpan:
    return replace(_since(found, said, Amount.of(found)), start=found.start("span"))


def _the_past(found: re.Match[str], said: Said) -> DateSpan | None:
    if found["count"]:
        return _since(found, said, Amount.of(found))
    # "In the last week" is the time up to now; "this past week" is the one before this.
    return _since(found, said, Amount.counted("a", found["one"].lower())) if found["within"] else None


def _the_next(found: re.Match[str], said: Said) -> DateSpan:
    amount = Amount.of(found) if found["count"] else Amount.counted("a few", found["some"].lower())
    (_, last), precision = shifted(said.today, amount, 1)
    return span(found, (said.today, last), precision)


def _since(found: re.Match[str], said: Said, amount: Amount) -> DateSpan:
    days, precision = shifted(said.today, amount, -1)
    distance = Distance(-amount.middle, amount.unit, is_period=True)
    return replace(span(found, days, precision, relation="duration"), distance=distance)


COUNTED_RULES: tuple[Rule, ...] = (
    (_THE_PAST, _the_past),
    (_THE_NEXT, _the_next),
    (_BEEN, _been),
    (_LASTING, _lasting),
    (_COUNTED, _counted),
    (_IN, _in),
)
