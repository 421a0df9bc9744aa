"""Rules for days that are named from the day they were said: "yesterday", "last Friday", "on Tuesday", "the 7th".

A weekday without "last" or "next" lies where the verbs around it point, and is the coming one without a verb. Names of
weekdays occur in titles, lists and habits, so most of the patterns here exist to recognise what is no date.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from longmind.language.calendar import WEEKDAY_NUMBERS, month_of, week_of
from longmind.language.dates.periods import get_week
from longmind.language.dates.rule import (
    OFFSET,
    WHICH,
    WHICH_WORDS,
    DatedText,
    Days,
    Rule,
    choose_by_direction,
    make_span,
)
from longmind.language.dates.span import DateSpan
from longmind.language.dates.time_words import (
    DAY_NUMBER,
    PART_OF_DAY,
    PARTS_OF_DAY,
    WEEKDAY,
    WEEKDAY_OR_SHORT,
    compile_pattern,
    match_any,
    to_number,
)

_DAY = timedelta(days=1)
_OFFSETS = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}

_NAMED = compile_pattern(rf"\b(?P<day>{match_any(*_OFFSETS)})(?P<whose>'s)?\b")
_EVENTS = match_any(
    *"meeting class session game match lesson episode date lunch dinner breakfast call appointment workout event race "
    "show concert party visit trip interview exam test practice training lecture news weather plan schedule".split()
)
_HAPPENS = compile_pattern(rf" (?:{_EVENTS}|gonna|going|been|an?|the|not|my|our|so|just|finally)\b")
_NOWADAYS = compile_pattern(
    r"\b(?:still|even|until|to|as we know (?:it|them)|used|popular|relevant|exists?|available|people|youth|kids|society"
    r"|world|known|of) $"
)
_STILL = compile_pattern(r"\b(?:still|to this day|nowadays|remains?|continues?)\b[^.!?\n]*$")
_LAST_NIGHT = compile_pattern(r"\b(?:last (?P<part>night|evening)|(?:the )?(?P<before>night|evening) before last)\b")
_THIS_PART = compile_pattern(r"\b(?:earlier )?this (?P<part>morning|afternoon|evening)\b")
_OPENS = re.compile(r"(?:^|[.!?:;,\n\"'(\[*#>|-]|[^\x00-\x7f])\s*$")
"""Text before a word that has a capital only because it begins a sentence."""

_WEEK_OF_DAY = compile_pattern(
    rf"\b(?P<day>{WEEKDAY})(?: {PART_OF_DAY})?,? (?:of |the )?(?P<which>last|this|next|the following) week\b"
    rf"|\b(?P<which_first>last|this|next) week,? (?:on )?(?P<day_after>{WEEKDAY})\b(?!s)"
)
_COUNTED_BACK = compile_pattern(
    rf"\b(?P<count>\d|two|three|four|five) (?P<day>{WEEKDAY})s (?P<where>ago|back|from now)\b"
    rf"|\b(?:the )?(?P<before>{WEEKDAY}) before last\b|\b(?:the )?(?P<after>{WEEKDAY}) after next\b"
)
_WEEKDAY = compile_pattern(rf"\b(?:(?P<which>{WHICH_WORDS}) )?(?P<day>{WEEKDAY_OR_SHORT})\b")
_POINTING = compile_pattern(
    r"\b(?:on|by|since|until|till|til|before|after|from|for|come|starting|through|around|to|is|was|it's) $"
)
_UNPOINTING = compile_pattern(
    r"(?:\b(?:an?|the|one|some|any|no|most|many|my|your|our|his|her|their|its|another|black|ash|fat|palm)|'s) "
    r"(?:(?:lazy|quiet|rainy|sunny|typical|random|busy|nice|beautiful|cold|hot|warm|lovely|single|given|certain|regular"
    r"|normal|good|usual|whole) )?$"
)
_HEADING = re.compile(r"\s*\(")
_LABEL = compile_pattern(rf"(?:\s*(?:,|and|&|-|to)\s*{WEEKDAY_OR_SHORT}\b){{0,6}}\*{{0,2}}\s*(?::|\||\s-\s\d)")
_TITLE_AFTER = re.compile(r"\s+(?!I\b|I')[A-Z][a-z]+")
_TITLE_BEFORE = re.compile(r"\b[A-Z][a-z]+\s+$")
_TITLED = match_any("school", "roast", "best", "paper", "edition", "blues", "scaries", "mass")
_NOT_A_DAY = compile_pattern(rf" {_TITLED}\b| the 13th\b")

_NUMBERED = compile_pattern(
    r"\b(?:on|by|since|until|till|before|after|from) the (?P<day>(?:[12]?\d|3[01])(?:st|nd|rd|th))\b"
    r"(?=\s*(?:[.,;!?)]|$|\n|\b(?:and|or|at|for|to|with|but|so|because|in the|we|I|she|he|they)\b))"
)

_OF_MONTH = compile_pattern(rf"\bthe (?P<day>{DAY_NUMBER}) of (?P<which>last|this|next) month\b")


def _read_named_day(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "yesterday", "today", "tonight" and "tomorrow". A name, or "today" in the sense of nowadays, is no date."""
    word = found["day"].lower()
    before = dated_text.text_before(found, 120)
    if found["day"][0].isupper() and not found["day"].isupper() and not _OPENS.search(before):
        # A capital inside a sentence makes it a name: "USA Today", the song Yesterday.
        return None
    if found["whose"]:
        # "Today's world" means the present age, but "tomorrow's game" means the day.
        if word == "today" and not _HAPPENS.match(dated_text.text, found.end()):
            return None
    elif word == "today" and not dated_text.is_question and (_NOWADAYS.search(before) or _STILL.search(before)):
        return None
    day = dated_text.today + _OFFSETS[word] * _DAY
    return make_span(found, (day, day), "day", PARTS_OF_DAY["evening"] if word == "tonight" else None)


def _read_last_night(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "last night" and "the evening before last", with the beginning of that part of the day."""
    day = dated_text.today - (2 if found["before"] else 1) * _DAY
    return make_span(found, (day, day), "day", PARTS_OF_DAY[(found["part"] or found["before"]).lower()])


def _read_part_of_today(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "this morning", "this afternoon" and "this evening"."""
    return make_span(found, (dated_text.today, dated_text.today), "day", PARTS_OF_DAY[found["part"].lower()])


def _read_day_of_week(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "Friday of last week" and "next week on Tuesday"."""
    which = (found["which"] or found["which_first"]).lower()
    number = WEEKDAY_NUMBERS[(found["day"] or found["day_after"]).lower()]
    day = find_following(get_week(dated_text.today, OFFSET.get(which, 1))[0] - _DAY, number)
    return make_span(found, (day, day), "day")


def _read_counted_weekday(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "two Fridays ago", "the Monday before last" and "the Sunday after next"."""
    count = to_number(found["count"]) if found["count"] else 2
    number = WEEKDAY_NUMBERS[(found["day"] or found["before"] or found["after"]).lower()]
    if found["after"] or (found["where"] or "").lower().startswith("from"):
        day = find_following(dated_text.today, number) + timedelta(days=7 * (count - 1))
    else:
        day = find_preceding(dated_text.today, number) - timedelta(days=7 * (count - 1))
    return make_span(found, (day, day), "day")


def find_preceding(today: date, weekday: int) -> date:
    """Return the last such weekday before a day."""
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


def find_following(today: date, weekday: int) -> date:
    """Return the first such weekday after a day."""
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _read_weekday(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "on Friday", "last Friday" and "Friday". It is a habit next to words such as "usually", and no date in a
    title.
    """
    name = found["day"]
    before = dated_text.text_before(found)
    which = " ".join((found["which"] or "").lower().split())
    pointed = bool(which) or _POINTING.search(before) is not None
    short = name.lower() not in _FULL
    if not pointed and ((short and len(name) < 4) or not name[0].isupper() or _is_a_name(found, dated_text, before)):
        return None
    if short and not name[0].isupper() and which not in ("last", "next"):
        return None
    if (
        _UNPOINTING.search(before)
        or _NOT_A_DAY.match(dated_text.text, found.end())
        or _LABEL.match(dated_text.text, found.end())
    ):
        return None
    number = WEEKDAY_NUMBERS[name.lower()]
    if not which and dated_text.is_generic(found):
        return make_span(found, (dated_text.today, dated_text.today), "day", relation="recurring")
    return make_span(found, _find_weekday(which, number, found, dated_text), "day")


_FULL = frozenset(name for name in WEEKDAY_NUMBERS if name.endswith("day"))


def _is_a_name(found: re.Match[str], dated_text: DatedText, before: str) -> bool:
    """Return whether a weekday is part of a title or a heading, such as "Black Friday Sale"."""
    if _TITLE_AFTER.match(dated_text.text, found.end()) or _HEADING.match(dated_text.text, found.end()):
        return True
    return _TITLE_BEFORE.search(before) is not None and not _OPENS.search(before)


def _find_weekday(which: str, weekday: int, found: re.Match[str], dated_text: DatedText) -> Days:
    """Return the day that a weekday means, given the word before it, if there is one.

    "Next Friday" is that of the next calendar week, but "this coming Friday" is the first one from today.
    """
    today = dated_text.today
    if which == "next":
        day = week_of(today)[0] + timedelta(days=7 + weekday)
    elif which and WHICH[which] == "last":
        day = find_preceding(today, weekday)
    elif which and WHICH[which] == "next":
        day = find_following(today, weekday)
    elif dated_text.find_direction(found) == "past":
        day = find_preceding(today, weekday)
    elif which == "this" and today.weekday() == weekday:
        day = today
    else:
        day = find_following(today, weekday)
    return day, day


def _read_numbered_day(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "on the 7th": the nearest such day of a month in the direction of the verbs."""
    number = to_number(found["day"])
    months = [month_of(dated_text.today.year, dated_text.today.month + offset) for offset in (-2, -1, 0, 1, 2)]
    days = [first.replace(day=number) for first, last in months if number <= last.day]
    day, _ = choose_by_direction([(day, day) for day in days], dated_text.today, dated_text.find_direction(found))
    return DateSpan(found.start("day"), found.end(), day, day, "day")


def _read_day_of_month(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read "the 7th of last month"."""
    first, _ = month_of(dated_text.today.year, dated_text.today.month + OFFSET[found["which"].lower()])
    day = first.replace(day=to_number(found["day"]))
    return make_span(found, (day, day), "day")


DAY_RULES: tuple[Rule, ...] = (
    (_LAST_NIGHT, _read_last_night),
    (_THIS_PART, _read_part_of_today),
    (_NAMED, _read_named_day),
)
WEEKDAY_RULES: tuple[Rule, ...] = (
    (_WEEK_OF_DAY, _read_day_of_week),
    (_COUNTED_BACK, _read_counted_weekday),
    (_WEEKDAY, _read_weekday),
)
DAY_OF_MONTH_RULES: tuple[Rule, ...] = ((_OF_MONTH, _read_day_of_month),)
NUMBERED_RULES: tuple[Rule, ...] = ((_NUMBERED, _read_numbered_day),)
