"""The parser of dates in English text, for messages and questions.

It works in three steps. Words that dates are made of open windows in the text; the rules for each kind of date run on
the windows of that kind; and modifiers next to the dates are applied. Invariants:

- Spans never overlap. An earlier rule of `_ORDER` claims its piece of the text, and later rules skip it.
- The result depends on the text and the day alone, so that an extraction can be repeated.
- The time grows linearly with the text, since windows, matches and patterns are bounded; a text without such words
costs a few microseconds.
- Input never raises: a date beyond the calendar, or one that does not exist, is ignored.
"""

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
from longmind.language.dates.modifiers import apply_modifiers
from longmind.language.dates.months import MONTH_RULES
from longmind.language.dates.numeric import NUMERIC_RULES
from longmind.language.dates.periods import PERIOD_RULES, SEASON_OF_YEAR_RULES, SEASON_RULES
from longmind.language.dates.recurrence import RECURRING_DAY_RULES, RECURRING_RULES
from longmind.language.dates.relative import COUNTED_RULES
from longmind.language.dates.rule import DatedText, Rule
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
"""The kinds of date that a word can be part of."""

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
"""The rules in the order in which they may claim a piece of the text, each with the kind of words that it needs."""

_REACH = 60
"""The longest distance, in characters, from a word that opens a window to the ends of its date."""
_MOST = 300
"""The most matches of one rule; a text with more is a table or a log, and the rest is not read."""
_WORD = re.compile("[a-z]+")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d(?:\d\d\d|[/.-]\d|st\b|nd\b|rd\b|th\b|0?'?s\b)|'\d\d\b", re.ASCII)
_PLAIN = {
    "\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": ";", "\u00a0": " ",
    "\u202f": " ",
}  # fmt: skip
"""Typographic signs and their plain forms; a long dash separates sentences, a short one joins dates."""
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

    text: a message or a question of any length; text in other languages than English yields little but numeric dates.
    said_at: the instant from which "yesterday" is counted.
    is_question: reads the text as a question to a memory, whose dates lie in the past.

    In a message, a date without a direction of its own, such as "on Friday" and "7 May", lies where the verbs around it
    point. A vague word, such as "recently", is no date. A habit, such as "every Friday", is returned with the relation
    `recurring`.
    """
    windows = _find_windows(text)
    if not windows:
        return []
    text = _normalise(text)
    dated_text = DatedText(text, day_of(said_at), is_question)
    spans: list[DateSpan] = []
    for kind, rules in _ORDER:
        if kind in windows:
            for rule in rules:
                _apply(rule, dated_text, windows[kind], spans)
    if not spans:
        return []
    titles = _find_titles(text)
    kept = [found for found in spans if not any(start <= found.start and found.end <= end for start, end in titles)]
    try:
        return apply_modifiers(dated_text, kept)
    except (ValueError, OverflowError):
        # "The week before 1 January 0001": keep the dates without their modifiers.
        return kept


def _normalise(text: str) -> str:
    """Replace typographic signs by the plain ones that the rules know, without moving any character."""
    if not text.isascii():
        for sign, plain in _PLAIN.items():
            text = text.replace(sign, plain)
    return text


def _find_windows(text: str) -> dict[Kind, list[Window]]:
    """Return, for each kind of date, the parts of a text that can contain one. Most texts have none."""
    lower = text.lower()
    places: dict[Kind, list[Window]] = {}
    for word in _KINDS.keys() & _WORD.findall(lower):
        stands = _find_all(lower, word)
        for kind in _KINDS[word]:
            places.setdefault(kind, []).extend(stands)
    digits = [found.span() for found in _DIGITS.finditer(lower)]
    if digits:
        places["digits"] = digits
    if len(lower) != len(text):
        # A letter that becomes two in lower case moves the others, so search the whole text.
        return {kind: [(0, len(text))] for kind in places}
    return {kind: _widen(lower, sorted(found)) for kind, found in places.items()}


def _find_all(text: str, word: str) -> list[Window]:
    """Return where a word stands, also inside another word; this is much faster than looking at every word."""
    found: list[Window] = []
    start = text.find(word)
    while start >= 0:
        found.append((start, start + len(word)))
        start = text.find(word, start + len(word))
    return found


def _widen(text: str, places: list[Window]) -> list[Window]:
    """Return windows around places, joined where they meet."""
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


def _apply(rule: Rule, dated_text: DatedText, windows: list[Window], spans: list[DateSpan]) -> None:
    """Insert the dates that a rule finds outside of the spans of earlier rules, and keep the spans in order."""
    pattern, read = rule
    matches = chain.from_iterable(pattern.finditer(dated_text.text, *window) for window in windows)
    for match in islice(matches, _MOST):
        place = bisect(spans, match.start(), key=lambda span: span.start)
        if (place and spans[place - 1].end > match.start()) or (
            place < len(spans) and spans[place].start < match.end()
        ):
            continue
        try:
            found = read(match, dated_text)
        except (ValueError, OverflowError, IndexError, StopIteration):
            # There is no such day: the thirtieth of February, or ten thousand years ago.
            continue
        if found is not None:
            spans.insert(place, found if dated_text.text[found.end - 1] != "." else replace(found, end=found.end - 1))


def _find_titles(text: str) -> list[tuple[int, int]]:
    """Return where something is quoted that looks like the title of a song, a film or a book."""
    return [
        quoted.span()
        for quoted in _QUOTED.finditer(text)
        if all(word[0].isupper() for word in _LONG_WORD.findall(quoted[1] or quoted[2]))
        and (quoted[1] or quoted[2])[0].isupper()
    ]
