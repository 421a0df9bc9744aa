"""Time: integer microseconds since 1970 UTC inside, ISO 8601 with `Z` and six decimals outside.

One fixed precision makes the rendered form sort like the instants themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

from longmind.errors import InvalidInput
from longmind.validation.annotated import INSTANT

Micros = int
Instant = Annotated[str | datetime, INSTANT]
"""An instant as callers write it."""
Clock = Callable[[], Micros]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> Micros:
    return time.time_ns() // 1000


def to_iso(instant: Micros) -> str:
    seconds, fraction = divmod(instant, 1_000_000)
    return f"{_second(seconds)}.{fraction:06}Z"


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    # Messages that are read together were often said within a few seconds, and formatting dates is slow.
    return (_EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")


def to_micros(instant: Instant, field: str = "instant") -> Micros:
    """Read an ISO 8601 text or a datetime; one without a zone is taken as UTC."""
    if isinstance(instant, str):
        try:
            instant = datetime.fromisoformat(instant)
        except ValueError:
            raise InvalidInput(
                f"{field} {instant!r} is not an ISO 8601 instant.", hint="Write it like 2026-03-01T09:30:00Z."
            ) from None
    if not isinstance(instant, datetime):
        raise InvalidInput(
            f"{field} must be an ISO 8601 text or a datetime, not {type(instant).__name__}.",
            hint="Write it like 2026-03-01T09:30:00Z, or like 2026-03-01 for the midnight in UTC at which it begins.",
        )
    if instant.tzinfo is None or instant.utcoffset() is None:
        # A zone that does not say how far it is from UTC is none, which Python takes for that of the machine.
        instant = instant.replace(tzinfo=UTC)
    try:
        return (instant.astimezone(UTC) - _EPOCH) // _MICROSECOND
    except OverflowError:
        # Its zone carries it out of the years 1 to 9999, and then it could not be rendered.
        raise InvalidInput(f"{field} {instant.isoformat()} is beyond the calendar.") from None
