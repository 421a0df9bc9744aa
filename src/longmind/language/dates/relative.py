"""Rules for times that are counted from the day they were said: "two weeks ago", "in three days", "for five years".

People count roughly: "two weeks ago" is a day within three days of it, "two months ago" is a calendar month, and "two
years ago" a calendar year. "Ago today" and "from today" count exactly. A perfect tense makes a count the beginning of
something that goes on: "I have lived here for five years".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import date, timedelta

from longmind.language.calendar import month_of, year_of
from longmind.language.dates.periods import get_weekend
from longmind.language.dates.rule import DatedText, Days, Rule, make_span
from longmind.language.dates.span import DateSpan, Distance
from longmind.language.dates.time_words import AMOUNT, UNIT, compile_pattern, match_any, to_number
from longmind.models.atom import Precision

_COUNTED = compile_pattern(
    rf"\b{AMOUNT} (?:(?P<behind>ago\b(?P<to_the_day> today\b)?|back\b(?! (?:home|to|in|at|from|with|into|then)\b))"
    r"|(?P<ahead>from (?:now\b|(?P<from_the_day>today\b))|hence\b)"
    r"|(?P<still>and counting\b|(?:strong )?(?:now|already)\b))"
)
_ABOUT = match_any(
    "about", "around", "roughly", "over", "almost", "nearly", "just", "only", "like", "more than", "at least",
    "another", "the better part of",
)  # fmt: skip
_IN = compile_pattern(rf"\bin (?:{_ABOUT} )?{AMOUNT}(?:' time)?\b")
_LASTING = compile_pattern(rf"\bfor (?:{_ABOUT} )?{AMOUNT}(?P<now> (?:now|already))?\b")
_BEEN = compile_pattern(rf"(?:\bit's|\bit has|\bhas) been (?:{_ABOUT} )?(?P<span>{AMOUNT})\b(?= (?:since|that|now)\b)")
_WITHIN = match_any("over", "in", "during", "for", "within", "throughout", "of", "across", "from")
_THE_PAST = compile_pattern(
    rf"\b(?P<within>{_WITHIN} )?(?:these|this|the) (?:past|last) (?:{AMOUNT}|(?P<one>{UNIT}))\b(?! of\b)"
)
_THE_NEXT = compile_pattern(rf"\b{_WITHIN} the (?:next|coming) (?:{AMOUNT}|(?P<some>{UNIT})s)\b")
_PARTICIPLE = match_any(
    *"been had known kept gone done seen worn run held led slept eaten spoken heard felt won met made taken gotten "
    "left taught driven ridden written drawn sung".split()
)
_PERFECT = compile_pattern(
    r"(?:\b(?:have|has|haven't|hasn't)|'(?:ve|s)) (?:(?:[a-z]+ly|also|all|not|never|always|just|both) )*"
    rf"(?:[a-z]+ed|{_PARTICIPLE})\b[^.!?;\n]*$|\bbeen\b[^.!?;\n]*$|\bgoing (?:on|strong)\b[^.!?;\n]*$"
)
_TOOK = compile_pattern(r"(?:[a-z]+ing|\bcan|\bcould|\btakes?|\bonce|\btwice|\btimes|\bhow \w+)\b[^.!?;\n]*$")
_WEEK = 7
_DAYS_IN = {"day": 1, "week": _WEEK, "fortnight": 2 * _WEEK}


@dataclass(frozen=True)
class Amount:
    """A number of units, such as "two weeks", with a least and a most for "a few".

    `middle` is the number that is said, or the middle of a range. `loose` amounts are ranges or estimates.
    """

    least: float
    middle: float
    most: float
    unit: str
    loose: bool

    @property
    def is_whole(self) -> bool:
        """True for an amount that is exact to the day, month or year."""
        return not self.loose and self.middle % 1 == 0 and self.unit in (*_DAYS_IN, "month", "year")

    @classmethod
    def from_match(cls, found: re.Match[str]) -> Amount:
        """Read the amount that a pattern with `AMOUNT` has found."""
        count = " ".join(found["count"].lower().split())
        unit = found["unit"].lower()
        half = 0.5 if found["half"] or found["half_after"] else 0.0
        if found["upto"]:
            least, most = sorted((_to_number(count), float(to_number(found["upto"]))))
            return cls(least, (least + most) / 2, most, unit, True)
        if found["months"] and unit == "year":
            number = 12 * _to_number(count) + to_number(found["months"])
            return cls(number, number, number, "month", False)
        return cls.from_words(count, unit, half)

    @classmethod
    def from_words(cls, count: str, unit: str, half: float = 0.0) -> Amount:
        """Read an amount from its count and its unit; "a few" and "several" are ranges."""
        if "couple" in count:
            return cls(2, 2, 2, unit, True)
        if "few" in count:
            return cls(2, 3, 4, unit, True)
        if count == "several":
            return cls(3, 5, 7, unit, True)
        number = _to_number(count) + half
        return cls(number, number, number, unit, False)


def _to_number(count: str) -> float:
    """Return the number of a count in words or digits, "half a" and "a dozen" included."""
    if count.startswith("half"):
        return 0.5
    if count.endswith("dozen"):
        return 12
    if count in ("a", "an"):
        return 1
    return float(count.rstrip("+")) if count[0].isdigit() else to_number(count)


def shift(today: date, amount: Amount, sign: int) -> tuple[Days, Precision]:
    """Return the time that is an amount before (-1) or after (+1) a day, as precisely as people mean such counts.

    Days are exact, weeks are within three days, and months and years are whole calendar months and years. A fraction,
    as in "a year and a half ago", widens the result by a week or a month on each side.
    """
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
                get_weekend(today + timedelta(weeks=sign * int(near)))[0],
                get_weekend(today + timedelta(weeks=sign * int(far)))[1],
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


def _read_counted(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "two weeks ago", "three days from now" and "five years and counting"."""
    amount = Amount.from_match(found)
    if found["still"]:
        return _make_duration(found, dated_text, amount)
    sign = -1 if found["behind"] else 1
    if (found["to_the_day"] or found["from_the_day"]) and amount.is_whole:
        day = _find_same_day(dated_text.today, amount, sign)
        return make_span(found, (day, day), "day")
    distance = Distance(sign * amount.middle, amount.unit, is_period=False)
    return replace(make_span(found, *shift(dated_text.today, amount, sign)), distance=distance)


def _find_same_day(today: date, amount: Amount, sign: int) -> date:
    """Return the day that is exactly an amount away, or the last day of a month that is too short for it."""
    count = sign * int(amount.middle)
    if amount.unit in _DAYS_IN:
        return today + timedelta(days=count * _DAYS_IN[amount.unit])
    first, last = month_of(today.year, today.month + count * (12 if amount.unit == "year" else 1))
    return min(first + timedelta(days=today.day - 1), last)


def _read_ahead(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "in three days". With a verb in the past it is the length of something, and no date."""
    if _PERFECT.search(dated_text.text_before(found, 80)):
        # "I haven't seen her in three years."
        return _make_duration(found, dated_text, Amount.from_match(found))
    lean = dated_text.find_direction(found)
    if lean == "past" or (lean is None and _TOOK.search(dated_text.text_before(found, 80))):
        # A length or a frequency: "I read it in two weeks", "twice in a month".
        return None
    return make_span(found, *shift(dated_text.today, Amount.from_match(found), 1))


def _read_lasting(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "for five years" after a perfect tense; otherwise it is only a length."""
    before = dated_text.text_before(found, 80)
    if not found["now"] and not _PERFECT.search(before):
        # A length without a beginning: "we stayed for two weeks".
        return None
    return _make_duration(found, dated_text, Amount.from_match(found))


def _read_been(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "it's been two years since"."""
    return replace(_make_duration(found, dated_text, Amount.from_match(found)), start=found.start("span"))


def _read_past_span(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "over the past three months" and "in the last week", which end today."""
    if found["count"]:
        return _make_duration(found, dated_text, Amount.from_match(found))
    # "In the last week" ends now; "this past week" is the week before this one.
    return _make_duration(found, dated_text, Amount.from_words("a", found["one"].lower())) if found["within"] else None


def _read_next_span(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "in the next few days", which begins today."""
    amount = Amount.from_match(found) if found["count"] else Amount.from_words("a few", found["some"].lower())
    (_, last), precision = shift(dated_text.today, amount, 1)
    return make_span(found, (dated_text.today, last), precision)


def _make_duration(found: re.Match[str], dated_text: DatedText, amount: Amount) -> DateSpan:
    """Return when something began that has lasted for an amount of time."""
    days, precision = shift(dated_text.today, amount, -1)
    distance = Distance(-amount.middle, amount.unit, is_period=True)
    return replace(make_span(found, days, precision, relation="duration"), distance=distance)


COUNTED_RULES: tuple[Rule, ...] = (
    (_THE_PAST, _read_past_span),
    (_THE_NEXT, _read_next_span),
    (_BEEN, _read_been),
    (_LASTING, _read_lasting),
    (_COUNTED, _read_counted),
    (_IN, _read_ahead),
)
