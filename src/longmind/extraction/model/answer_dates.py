"""Reads the dates that a model writes, with how exact they are."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from longmind.clock import Micros, to_micros
from longmind.errors import InvalidInput
from longmind.extraction.candidate import Precision

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def read_moment(written: str | None) -> tuple[Micros, Precision] | None:
    """An ISO 8601 date, or a part of one, or a time; None for what is none of these."""
    written = (written or "").strip()
    date = _DATE.fullmatch(written)
    try:
        if date is None:
            return to_micros(written), "instant"
        year, month, day = (int(part or 1) for part in date.groups())
        precision: Precision = "day" if date[3] else "month" if date[2] else "year"
        return to_micros(datetime(year, month, day, tzinfo=UTC)), precision
    except (InvalidInput, ValueError):
        return None
