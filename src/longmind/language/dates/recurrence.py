"""Rules for what recurs: "every Tuesday", "on Fridays", "twice a week". It names a habit, and no day.

These rules run first, so that no other rule takes the Tuesday of "every Tuesday" for a day.
"""

from __future__ import annotations

import re

from longmind.language.dates.rule import DatedText, Rule, make_span
from longmind.language.dates.span import DateSpan
from longmind.language.dates.time_words import MONTH, PART_OF_DAY, SEASON, WEEKDAY, compile_pattern, match_any

_AND_MORE = rf"(?:\s*(?:,|and|or|&|,\s*and)\s*{WEEKDAY}s?){{0,6}}"
_TIMES = match_any(*"day week weekday weekend month year fortnight morning evening night afternoon holiday".split())
_OTHER = r"(?:(?:other|second|single|third|few|last|first|\d{1,2}|two|three|four) )?"
_EVERY = compile_pattern(
    rf"\b(?:every|each) {_OTHER}(?:(?:{WEEKDAY}|{SEASON}|{MONTH}){_AND_MORE}|{_TIMES}s?)(?: {PART_OF_DAY}s?)?\b"
)
_MANY_DAYS = rf"(?:{WEEKDAY}s(?!'| (?:ago|back|from|before|after)\b)|{WEEKDAY} (?:morning|evening|night|afternoon)s)"
_PLURAL = compile_pattern(rf"\b(?:{WEEKDAY}\s*(?:,|and|or|&)\s*){{0,6}}{_MANY_DAYS}{_AND_MORE}(?: {PART_OF_DAY}s?)?\b")
_FROM_TO = compile_pattern(rf"\b{WEEKDAY}\s*(?:-|to|through)\s*{WEEKDAY}\b")
_ON_THEM = compile_pattern(r"\b(?:on|during|at) (?:the )?week(?:end|day)s\b")
_HOW_OFTEN = compile_pattern(
    r"\b(?:once|twice|thrice|(?:\w+|\d+(?:-\d+)?) times) (?:an?|per|every|each) (?:day|week|month|year)\b"
)


def _read_habit(found: re.Match[str], dated_text: DatedText) -> DateSpan:
    """Read a habit. Its day is that on which it was said, and means nothing."""
    return make_span(found, (dated_text.today, dated_text.today), "day", relation="recurring")


def _read_range_of_days(found: re.Match[str], dated_text: DatedText) -> DateSpan | None:
    """Read "Monday to Friday" as a habit, unless a verb makes it one time: "the fair went from Monday to Friday"."""
    # A verb with a direction makes it one time: "the fair went from Monday to Friday".
    return _read_habit(found, dated_text) if dated_text.find_direction(found) is None else None


RECURRING_DAY_RULES: tuple[Rule, ...] = (
    (_EVERY, _read_habit),
    (_PLURAL, _read_habit),
    (_FROM_TO, _read_range_of_days),
)
RECURRING_RULES: tuple[Rule, ...] = (
    (_EVERY, _read_habit),
    (_ON_THEM, _read_habit),
    (_HOW_OFTEN, _read_habit),
)
