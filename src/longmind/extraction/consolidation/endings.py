"""Ends of plans: a deadline, or what lasts until a day, is over when the day that its text names is over.

An appointment stays: it is the record of when something took place.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Slot
from longmind.language.dates import DateSpan, find_dates
from longmind.models.atom import Atom

DATED_SLOTS = frozenset(("appointment", "deadline", "travel"))
"""Attributes whose facts are about one day, whatever their kind."""
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WITHIN = frozenset(("before", "until"))
"""Relations to a day after which nothing is left of a plan."""
_EVERYWHERE: Micros = 12 * 3600 * 1_000_000
"""The time after which a day that is over in UTC is over everywhere."""


def find_end(atom: Atom, slot: Slot | None, now: Micros) -> Micros | None:
    """Return the end of the day that a plan was for, if that is over; None if the plan may still hold.

    The text must name one single day with its year, on or after the day on which the plan began to be known.
    """
    is_plan = atom.category.kind == "INTENTION" or (slot is not None and slot.attribute in DATED_SLOTS)
    if not is_plan or atom.status != "ACTIVE" or atom.superseded_by is not None or atom.valid_to is not None:
        return None
    # A year is written in four digits, so most texts need not be searched.
    if not _YEAR.search(atom.text):
        return None
    began = to_micros(atom.valid_from)
    spans = find_dates(atom.text, began)
    if len(spans) != 1 or not _names_day(atom.text, spans[0]):
        return None
    day_after = spans[0].last + timedelta(days=1)
    end = int(datetime(day_after.year, day_after.month, day_after.day, tzinfo=UTC).timestamp()) * 1_000_000
    return end if began < end and end + _EVERYWHERE <= now else None


def _names_day(text: str, span: DateSpan) -> bool:
    """Return whether a date is a single day that is complete by itself."""
    is_day = span.first == span.last and span.precision in ("day", "instant")
    starts_there = re.search(r"\b(?:from|starting|beginning)(?: on)? $", text[: span.start], re.IGNORECASE)
    return is_day and span.relation in _WITHIN and not starts_there and bool(_YEAR.search(text[span.start : span.end]))
