"""Time: integer microseconds since 1970 UTC inside, ISO 8601 with `Z` and six decimals outside.

With one fixed precision, rendered instants sort like the instants themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

from longmind.errors import InvalidInput
from longmind.validation.parameter_limits import INSTANT

Micros = int
Instant = Annotated[str | datetime, INSTANT]
"""An instant as callers write it."""
Clock = Callable[[], Micros]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> Micros:
    """Return the time of this machine's clock."""
    return time.time_ns() // 1000


def to_iso(instant: Micros) -> str:
    """Render an instant, such as `2026-03-01T09:30:00.000000Z`."""
    seconds, fraction = divmod(instant, 1_000_000)
    return f"{_format_second(seconds)}.{fraction:06}Z"


@lru_cache(maxsize=4096)
def _format_second(seconds: int) -> str:
    # Messages that are read together are often only seconds apart, and formatting dates is slow.
    return (_EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")


def to_micros(instant: Instant, field: str = "instant") -> Micros:
    """Return the instant of an ISO 8601 text or a datetime; one without a zone is in UTC.

    field: the name of the value in the error, if it is invalid.
    """
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
            hint="Write it like 2026-03-01T09:30:00Z, or like 2026-03-01 for the midnight in UTC that begins that day.",
        )
    if instant.tzinfo is None or instant.utcoffset() is None:
        # Python would read a zone without an offset as the zone of the machine.
        instant = instant.replace(tzinfo=UTC)
    try:
        return (instant.astimezone(UTC) - _EPOCH) // _MICROSECOND
    except OverflowError:
        # In UTC it is outside of the years 1 to 9999, and could not be rendered.
        raise InvalidInput(f"{field} {instant.isoformat()} is beyond the calendar.") from None
