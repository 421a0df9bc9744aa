"""Days that are named from the day it was said: "yesterday", "last Friday", "on Tuesday", "the 7th"."""

from __future__ import annotations

import re
from datetime import date, timedelta

from longmind.language.calendar import WEEKDAY_NUMBERS, month_of, week_of
from longmind.language.dates.periods import week_away
from longmind.language.dates.rule import OFFSET, WHICH, WHICH_WORDS, Days, Rule, Said, directed, span
from longmind.language.dates.span import DateSpan
from longmind.language.dates.words import (
    DAY_NUMBER,
    PART_OF_DAY,
    PARTS_OF_DAY,
    WEEKDAY,
    WEEKDAY_OR_SHORT,
    any_of,
    number_of,
    pattern,
)

_DAY = timedelta(days=1)
_OFFSETS = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}

_NAMED = pattern(rf"\b(?P<day>{any_of(*_OFFSETS)})(?P<whose>'s)?\b")
_EVENTS = any_of(
    *"meeting class session game match lesson episode date lunch dinner breakfast call appointment workout event race "
    "show concert party visit trip interview exam test practice training lecture news weather plan schedule".split()
)
_HAPPENS = pattern(rf" (?:{_EVENTS}|gonna|going|been|an?|the|not|my|our|so|just|finally)\b")
_NOWADAYS = pattern(
    r"\b(?:still|even|until|to|as we know (?:it|them)|used|popular|relevant|exists?|available|people|youth|kids|society"
    r"|world|known|of) $"
)
_STILL = pattern(r"\b(?:still|to this day|nowadays|remains?|continues?)\b[^.!?\n]*$")
_LAST_NIGHT = pattern(r"\b(?:last (?P<part>night|evening)|(?:the )?(?P<before>night|evening) before last)\b")
_THIS_PART = pattern(r"\b(?:earlier )?this (?P<part>morning|afternoon|evening)\b")
_OPENS = re.compile(r"(?:^|[.!?:;,\n\"'(\[*#>|-]|[^\x00-\x7f])\s*$")
"""What may stand before a word that is written large because it begins something."""

_WEEK_OF_DAY = pattern(
    rf"\b(?P<day>{WEEKDAY})(?: {PART_OF_DAY})?,? (?:of |the )?(?P<which>last|this|next|the following) week\b"
    rf"|\b(?P<which_first>last|this|next) week,? (?:on )?(?P<day_after>{WEEKDAY})\b(?!s)"
)
_COUNTED_BACK = pattern(
    rf"\b(?P<count>\d|two|three|four|five) (?P<day>{WEEKDAY})s (?P<where>ago|back|from now)\b"
    rf"|\b(?:the )?(?P<before>{WEEKDAY}) before last\b|\b(?:the )?(?P<after>{WEEKDAY}) after next\b"
)
_WEEKDAY = pattern(rf"\b(?:(?P<which>{WHICH_WORDS}) )?(?P<day>{WEEKDAY_OR_SHORT})\b")
_POINTING = pattern(
    r"\b(?:on|by|since|until|till|til|before|after|from|for|come|starting|through|around|to|is|was|it's) $"
)
_UNPOINTING = pattern(
    r"(?:\b(?:an?|the|one|some|any|no|most|many|my|your|our|his|her|their|its|another|black|ash|fat|palm)|'s) "
    r"(?:(?:lazy|quiet|rainy|sunny|typical|random|busy|nice|beautiful|cold|hot|warm|lovely|single|given|certain|regular"
    r"|normal|good|usual|whole) )?$"
)
_HEADING = re.compile(r"\s*\(")
_LABEL = pattern(rf"(?:\s*(?:,|and|&|-|to)\s*{WEEKDAY_OR_SHORT}\b){{0,6}}\*{{0,2}}\s*(?::|\||\s-\s\d)")
_TITLE_AFTER = re.compile(r"\s+(?!I\b|I')[A-Z][a-z]+")
_TITLE_BEFORE = re.compile(r"\b[A-Z][a-z]+\s+$")
_TITLED = any_of("school", "roast", "best", "paper", "edition", "blues", "scaries", "mass")
_NOT_A_DAY = pattern(rf" {_TITLED}\b| the 13th\b")

_NUMBERED = pattern(
    r"\b(?:on|by|since|until|till|before|after|from) the (?P<day>(?:[12]?\d|3[01])(?:st|nd|rd|th))\b"
    r"(?=\s*(?:[.,;!?)]|$|\n|\b(?:and|or|at|for|to|with|but|so|because|in the|we|I|she|he|they)\b))"
)

_OF_MONTH = pattern(rf"\bthe (?P<day>{DAY_NUMBER}) of (?P<which>last|this|next) month\b")


def _named(found: re.Match[str], said: Said) -> DateSpan | None:
    word = found["day"].lower()
    before = said.before(found, 120)
    if found["day"][0].isupper() and not found["day"].isupper() and not _OPENS.search(before):
        # In the midst of a sentence it is a name: "USA Today", the song Yesterday.
        return None
    if found["whose"]:
        # "Today's world" is no day, but tomorrow has no world of its own.
        if word == "today" and not _HAPPENS.match(said.text, found.end()):
            return None
    elif word == "today" and not said.is_question and (_NOWADAYS.search(before) or _STILL.search(before)):
        return None
    day = said.today + _OFFSETS[word] * _DAY
    return span(found, (day, day), "day", PARTS_OF_DAY["evening"] if word == "tonight" else None)


def _last_night(found: re.Match[str], said: Said) -> DateSpan:
    day = said.today - (2 if found["before"] else 1) * _DAY
    return span(found, (day, day), "day", PARTS_OF_DAY[(found["part"] or found["before"]).lower()])


def _this_part(found: re.Match[str], said: Said) -> DateSpan:
    return span(found, (said.today, said.today), "day", PARTS_OF_DAY[found["part"].lower()])


def _in_a_week(found: re.Match[str], said: Said) -> DateSpan:
    which = (found["which"] or found["which_first"]).lower()
    number = WEEKDAY_NUMBERS[(found["day"] or found["day_after"]).lower()]
    day = following(week_away(said.today, OFFSET.get(which, 1))[0] - _DAY, number)
    return span(found, (day, day), "day")


def _counted(found: re.Match[str], said: Said) -> DateSpan:
    count = number_of(found["count"]) if found["count"] else 2
    number = WEEKDAY_NUMBERS[(found["day"] or found["before"] or found["after"]).lower()]
    if found["after"] or (found["where"] or "").lower().startswith("from"):
        day = following(said.today, number) + timedelta(days=7 * (count - 1))
    else:
        day = preceding(said.today, number) - timedelta(days=7 * (count - 1))
    return span(found, (day, day), "day")


def preceding(today: date, weekday: int) -> date:
    """The last such weekday before a day."""
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


def following(today: date, weekday: int) -> date:
    """The first such weekday after a day."""
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _weekday(found: re.Match[str], said: Said) -> DateSpan | None:
    name = found["day"]
    before = said.before(found)
    which = " ".join((found["which"] or "").lower().split())
    pointed = bool(which) or _POINTING.search(before) is not None
    short = name.lower() not in _FULL
    if not pointed and ((short and len(name) < 4) or not name[0].isupper() or _is_a_name(found, said, before)):
        return None
    if short and not name[0].isupper() and which not in ("last", "next"):
        return None
    if _UNPOINTING.search(before) or _NOT_A_DAY.match(said.text, found.end()) or _LABEL.match(said.text, found.end()):
        return None
    number = WEEKDAY_NUMBERS[name.lower()]
    if not which and said.is_generic(found):
        return span(found, (said.today, said.today), "day", relation="recurring")
    return span(found, _meant(which, number, found, said), "day")


_FULL = frozenset(name for name in WEEKDAY_NUMBERS if name.endswith("day"))


def _is_a_name(found: re.Match[str], said: Said, before: str) -> bool:
    if _TITLE_AFTER.match(said.text, found.end()) or _HEADING.match(said.text, found.end()):
        return True
    return _TITLE_BEFORE.search(before) is not None and not _OPENS.search(before)


def _meant(which: str, weekday: int, found: re.Match[str], said: Said) -> Days:
    today = said.today
    if which == "next":
        day = week_of(today)[0] + timedelta(days=7 + weekday)
    elif which and WHICH[which] == "last":
        day = preceding(today, weekday)
    elif which and WHICH[which] == "next":
        day = following(today, weekday)
    elif said.leaning(found) == "past":
        day = preceding(today, weekday)
    elif which == "this" and today.weekday() == weekday:
        day = today
    else:
        day = following(today, weekday)
    return day, day


def _numbered(found: re.Match[str], said: Said) -> DateSpan | None:
    number = number_of(found["day"])
    months = [month_of(said.today.year, said.today.month + offset) for offset in (-2, -1, 0, 1, 2)]
    days = [first.replace(day=number) for first, last in months if number <= last.day]
    day, _ = directed([(day, day) for day in days], said.today, said.leaning(found))
    return DateSpan(found.start("day"), found.end(), day, day, "day")


def _of_month(found: re.Match[str], said: Said) -> DateSpan:
    first, _ = month_of(said.today.year, said.today.month + OFFSET[found["which"].lower()])
    day = first.replace(day=number_of(found["day"]))
    return span(found, (day, day), "day")


DAY_RULES: tuple[Rule, ...] = (
    (_LAST_NIGHT, _last_night),
    (_THIS_PART, _this_part),
    (_NAMED, _named),
)
WEEKDAY_RULES: tuple[Rule, ...] = (
    (_WEEK_OF_DAY, _in_a_week),
    (_COUNTED_BACK, _counted),
    (_WEEKDAY, _weekday),
)
DAY_OF_MONTH_RULES: tuple[Rule, ...] = ((_OF_MONTH, _of_month),)
NUMBERED_RULES: tuple[Rule, ...] = ((_NUMBERED, _numbered),)
