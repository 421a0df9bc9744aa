"""What comes again and again: "every Tuesday", "on Fridays", "twice a week". It is a habit, and no day of its own."""

from __future__ import annotations

import re

from longmind.language.dates.rule import Rule, Said, span
from longmind.language.dates.span import DateSpan
from longmind.language.dates.words import MONTH, PART_OF_DAY, SEASON, WEEKDAY, any_of, pattern

_AND_MORE = rf"(?:\s*(?:,|and|or|&|,\s*and)\s*{WEEKDAY}s?){{0,6}}"
_TIMES = any_of(*"day week weekday weekend month year fortnight morning evening night afternoon holiday".split())
_OTHER = r"(?:(?:other|second|single|third|few|last|first|\d{1,2}|two|three|four) )?"
_EVERY = pattern(
    rf"\b(?:every|each) {_OTHER}(?:(?:{WEEKDAY}|{SEASON}|{MONTH}){_AND_MORE}|{_TIMES}s?)(?: {PART_OF_DAY}s?)?\b"
)
_MANY_DAYS = rf"(?:{WEEKDAY}s(?!'| (?:ago|back|from|before|after)\b)|{WEEKDAY} (?:morning|evening|night|afternoon)s)"
_PLURAL = pattern(rf"\b(?:{WEEKDAY}\s*(?:,|and|or|&)\s*){{0,6}}{_MANY_DAYS}{_AND_MORE}(?: {PART_OF_DAY}s?)?\b")
_FROM_TO = pattern(rf"\b{WEEKDAY}\s*(?:-|to|through)\s*{WEEKDAY}\b")
_ON_THEM = pattern(r"\b(?:on|during|at) (?:the )?week(?:end|day)s\b")
_HOW_OFTEN = pattern(
    r"\b(?:once|twice|thrice|(?:\w+|\d+(?:-\d+)?) times) (?:an?|per|every|each) (?:day|week|month|year)\b"
)


def _habit(found: re.Match[str], said: Said) -> DateSpan:
    return span(found, (said.today, said.today), "day", relation="recurring")


def _days_of_the_week(found: re.Match[str], said: Said) -> DateSpan | None:
    # With a verb that points somewhere it is a time: "the fair went from Monday to Friday".
    return _habit(found, said) if said.leaning(found) is None else None


RECURRING_DAY_RULES: tuple[Rule, ...] = (
    (_EVERY, _habit),
    (_PLURAL, _habit),
    (_FROM_TO, _days_of_the_week),
)
RECURRING_RULES: tuple[Rule, ...] = (
    (_EVERY, _habit),
    (_ON_THEM, _habit),
    (_HOW_OFTEN, _habit),
)
