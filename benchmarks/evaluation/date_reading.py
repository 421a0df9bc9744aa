"""The evaluation of date reading: dates in messages must be found and understood, and none must be invented."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from benchmarks.evaluation.dataset import Dataset, DatedFact, Turn
from longmind.clock import to_micros
from longmind.language.calendar import MONTHS, WEEKDAYS, day_of
from longmind.language.dates import DateSpan, find_dates

RIGHT_DAY = "right day"
RIGHT_INTERVAL = "right interval"
INVENTED = "invented"

_UNIT = "(?:day|week|month|year|decade|night|morning|afternoon|evening)s?"
_SEASON = "(?:spring|summer|autumn|fall|winter)"
_SURE = (
    "yesterday", "today", "tonight", "tomorrow", "ago", "weekends?", "christmas", "halloween", "easter", "thanksgiving",
    "new year'?s?", "valentine'?s?", *(month for month in MONTHS if month not in ("march", "may")),
    *(f"{day}s?" for day in WEEKDAYS),
    rf"(?:last|this|next|past|coming|upcoming|previous|every|each) (?:\w+ )?{_UNIT}",
    rf"(?:last|this|next|early|late|mid|in|the|since|of|by) {_SEASON}",
    "(?:last|next) (?:mon|tues?|wed|thu|fri|sat|sun)",
    rf"(?:in|for) (?:[\w-]+ ){{0,3}}{_UNIT}", rf"(?:end|start|beginning|rest) of the {_UNIT}", "years? now",
    "(?:in|of|by|since|until|early|late|mid) (?:march|may)", r"(?:march|may) \d+", r"\d+ (?:march|may)",
    r"(?:1[5-9]|20)\d\ds?", r"\d+(?:st|nd|rd|th)", r"\d+[/.-]\d+[/.-]\d+", r"\d\d?/\d\d?",
)  # fmt: skip
_DATE_WORDS = re.compile(rf"\b(?:{'|'.join(_SURE)})\b", re.IGNORECASE)
"""Words that suggest a date. Ambiguous ones ("may", "one day", "second") are left out."""


def measure_dates(facts: Sequence[DatedFact], datasets: Iterable[Dataset] = ()) -> dict[str, object]:
    """Return the shares of dates that are read correctly, and of turns with an invented date.

    A fact is right if one of the dates in its evidence is; without any date, the day of the message counts. A day must
    match exactly; an interval is right if at least half of the days that were read lie within it.
    """
    read = [(fact, _find_days(fact.evidence)) for fact in facts]
    days = [any(first == last == fact.first for first, last in found) for fact, found in read if fact.to_the_day]
    intervals = [any(_is_mostly_within(each, fact) for each in found) for fact, found in read if not fact.to_the_day]
    without = [turn for turn in _list_turns(datasets) if not _DATE_WORDS.search(turn.text)]
    invented = [turn for turn in without if _find_dates(turn)]
    return {
        RIGHT_DAY: _compute_share(sum(days), len(days)),
        "days": len(days),
        RIGHT_INTERVAL: _compute_share(sum(intervals), len(intervals)),
        "intervals": len(intervals),
        "dates to a fact": _compute_share(sum(len(found) for _, found in read), len(read)),
        INVENTED: _compute_share(len(invented), len(without)),
        "turns without a date": len(without),
    }


def _list_turns(datasets: Iterable[Dataset]) -> Iterable[Turn]:
    """Return each turn once; a session may be in the history of several users."""
    turns = {
        turn.id: turn
        for dataset in datasets
        for corpus in dataset.corpora.values()
        for session in corpus
        for turn in session.turns
    }
    return turns.values()


def _find_dates(turn: Turn) -> list[DateSpan]:
    return [found for found in find_dates(turn.text, to_micros(turn.at)) if found.relation != "recurring"]


def _find_days(evidence: Sequence[Turn]) -> list[tuple[date, date]]:
    found = [(span.first, span.last) for turn in evidence for span in _find_dates(turn)]
    message_days = [day_of(to_micros(turn.at)) for turn in evidence]
    return found or [(day, day) for day in message_days]


def _is_mostly_within(days: tuple[date, date], fact: DatedFact) -> bool:
    first, last = days
    shared = (min(last, fact.last) - max(first, fact.first)).days + 1
    return 2 * shared >= (last - first).days + 1


def _compute_share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
