"""Finds the dates that a message names."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Literal

from longmind.clock import Micros
from longmind.language.calendar import MONTH_NUMBERS, WEEKDAY_NUMBERS, day_of
from longmind.language.dates.days import DAY_OF_MONTH_RULES, DAY_RULES, NUMBERED_RULES, WEEKDAY_RULES
from longmind.language.dates.holidays import HOLIDAY_RULES, HOLIDAYS
from longmind.language.dates.modifiers import settle
from longmind.language.dates.months import MONTH_RULES
from longmind.language.dates.numeric import NUMERIC_RULES
from longmind.language.dates.periods import PERIOD_RULES, SEASON_OF_YEAR_RULES, SEASON_RULES
from longmind.language.dates.recurring import RECURRING_DAY_RULES, RECURRING_RULES
from longmind.language.dates.relative import COUNTED_RULES
from longmind.language.dates.rule import Rule, Said
from longmind.language.dates.span import DateSpan
from longmind.language.dates.years import YEAR_RULES

Kind = Literal["named", "weekday", "period", "season", "month", "holiday", "digits"]
Window = tuple[int, int]

_PERIODS = "day week weekend month year fortnight decade".split()
_TRIGGERS: dict[Kind, Iterable[str]] = {
    "named": "yesterday today tonight tomorrow night morning afternoon evening".split(),
    "weekday": [*WEEKDAY_NUMBERS, *(f"{day}s" for day in WEEKDAY_NUMBERS)],
    "period": [*_PERIODS, *(f"{unit}s" for unit in _PERIODS), "weekdays"],
    "season": "spring summer autumn fall winter springs summers autumns falls winters".split(),
    "month": MONTH_NUMBERS,
    "holiday": {word for holiday in HOLIDAYS for word in re.findall("[a-z]{3,}", holiday)} - {"new", "day", "eve"},
}
_KINDS = {
    word: [kind for kind, words in _TRIGGERS.items() if word in words]
    for word in chain.from_iterable(_TRIGGERS.values())
}
"""What kinds of date a word can be part of."""

_NAMES_OF_DATES = frozenset(word for kind in ("named", "weekday", "month", "holiday") for word in _TRIGGERS[kind]) - {
    "night", "morning", "afternoon", "evening",
}  # fmt: skip
_PERIOD_WORDS = frozenset((*_TRIGGERS["period"], *_TRIGGERS["season"], "night", "morning", "afternoon", "evening"))
_POINTERS = frozenset("ago back last past previous this current next before".split())

_ORDER: tuple[tuple[Kind, tuple[Rule, ...]], ...] = (
    ("weekday", RECURRING_DAY_RULES),
    ("period", RECURRING_RULES),
    ("named", RECURRING_RULES[:1]),
    ("season", RECURRING_RULES[:1]),
    ("month", RECURRING_RULES[:1]),
    ("digits", NUMERIC_RULES),
    ("season", SEASON_OF_YEAR_RULES),
    ("month", MONTH_RULES),
    ("holiday", HOLIDAY_RULES),
    ("weekday", WEEKDAY_RULES),
    ("period", DAY_OF_MONTH_RULES),
    ("period", COUNTED_RULES),
    ("named", DAY_RULES),
    ("period", PERIOD_RULES),
    ("season", SEASON_RULES),
    ("digits", YEAR_RULES),
    ("digits", NUMBERED_RULES),
)
"""The rules in the order in which they may take a piece of the text, each with the kind of words that it needs."""

_REACH = 60
"""No date has more characters than this between its first word and one that is a date's."""
_MOST = 300
"""A text with more dates of one kind is a table or a log, and the rest of it is not read."""
_WORD = re.compile("[a-z]+")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d(?:\d\d\d|[/.-]\d|st\b|nd\b|rd\b|th\b|0?'?s\b)|'\d\d\b", re.ASCII)
_PLAIN = {
    "\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": ";", "\u00a0": " ",
    "\u202f": " ",
}  # fmt: skip
"""Signs of print that stand for plain ones; a long dash parts sentences, a short one joins dates."""
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|(?<!\w)['*_]([A-Z][^'*_\n]{1,80})['*_](?!\w)")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


def may_ask_for_dates(question: str, words: Sequence[str]) -> bool:
    """Return whether a question can name a date in the past at all, given its words in lower case.

    Most questions name none, and this costs a hundredth of a search for them. It accepts a digit, the name of a day,
    month or holiday, and a period beside a word that points to it, as in "last week" and "two years ago".
    """
    if not _NAMES_OF_DATES.isdisjoint(words) or _DIGIT.search(question) is not None:
        return True
    return not _POINTERS.isdisjoint(words) and not _PERIOD_WORDS.isdisjoint(words)


def find_dates(text: str, said_at: Micros, *, is_question: bool = False) -> list[DateSpan]:
    """Return the dates that a text names, in the order of the text, as of the day (in UTC) on which it was said.

    A date without a direction of its own, such as "on Friday" and "7 May", lies where the verbs around it point. In a
    question to a memory (`is_question`) it lies in the past. A vague word, such as "recently", is no date.
    """
    windows = _windows(text)
    if not windows:
        return []
    text = _plain(text)
    said = Said(text, day_of(said_at), is_question)
    spans: list[DateSpan] = []
    for kind, rules in _ORDER:
        if kind in windows:
            for rule in rules:
                _apply(rule, said, windows[kind], spans)
    if not spans:
        return []
    titles = _titles(text)
    kept = [found for found in spans if not any(start <= found.start and found.end <= end for start, end in titles)]
    try:
        return settle(said, kept)
    except (ValueError, OverflowError):
        # "The week before 1 January 0001": the dates as they were found have to do.
        return kept


def _plain(text: str) -> str:
    """The text with signs that the rules know, each in the place where it was."""
    if not text.isascii():
        for sign, plain in _PLAIN.items():
            text = text.replace(sign, plain)
    return text


def _windows(text: str) -> dict[Kind, list[Window]]:
    """Where there are words that a date of each kind can be made of. Most texts have none, and cost no more."""
    lower = text.lower()
    places: dict[Kind, list[Window]] = {}
    for word in _KINDS.keys() & _WORD.findall(lower):
        stands = _standing(lower, word)
        for kind in _KINDS[word]:
            places.setdefault(kind, []).extend(stands)
    digits = [found.span() for found in _DIGITS.finditer(lower)]
    if digits:
        places["digits"] = digits
    if len(lower) != len(text):
        # A letter that is two in lower case has moved the others.
        return {kind: [(0, len(text))] for kind in places}
    return {kind: _widened(lower, sorted(found)) for kind, found in places.items()}


def _standing(text: str, word: str) -> list[Window]:
    """Where a word stands, also within another; searching for it is much faster than looking at every word."""
    found: list[Window] = []
    start = text.find(word)
    while start >= 0:
        found.append((start, start + len(word)))
        start = text.find(word, start + len(word))
    return found


def _widened(text: str, places: list[Window]) -> list[Window]:
    """What is near to some words, joined where it meets."""
    windows: list[Window] = []
    for start, end in places:
        first = text.rfind(" ", 0, start - _REACH) + 1 if start > _REACH else 0
        last = text.find(" ", end + _REACH)
        last = len(text) if last < 0 else last
        if windows and windows[-1][1] >= first:
            windows[-1] = windows[-1][0], last
        else:
            windows.append((first, last))
    return windows


def _apply(rule: Rule, said: Said, windows: list[Window], spans: list[DateSpan]) -> None:
    """Add what a rule finds where no other rule was before it; the spans stay in order."""
    pattern, read = rule
    matches = chain.from_iterable(pattern.finditer(said.text, *window) for window in windows)
    for match in islice(matches, _MOST):
        place = bisect(spans, match.start(), key=lambda span: span.start)
        if (place and spans[place - 1].end > match.start()) or (
            place < len(spans) and spans[place].start < match.end()
        ):
            continue
        try:
            found = read(match, said)
        except (ValueError, OverflowError, IndexError, StopIteration):
            # There is no such day: the thirtieth of February, or ten thousand years ago.
            continue
        if found is not None:
            spans.insert(place, found if said.text[found.end - 1] != "." else replace(found, end=found.end - 1))


def _titles(text: str) -> list[tuple[int, int]]:
    """Where something is quoted that looks like the title of a song, a film or a book."""
    return [
        quoted.span()
        for quoted in _QUOTED.finditer(text)
        if all(word[0].isupper() for word in _LONG_WORD.findall(quoted[1] or quoted[2]))
        and (quoted[1] or quoted[2])[0].isupper()
    ]
