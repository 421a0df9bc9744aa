"""Validation of what callers pass as an event. Every refusal names the field and the value, and nothing is written.

Kinds and tags repeat, so their checks are cached; the cached functions take only hashable values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic_core import from_json, to_json

from longmind.clock import Instant, Micros, to_iso, to_micros
from longmind.errors import InvalidInput, LimitExceeded
from longmind.models.event import EVENT_DATA_LIMIT, EVENT_TAGS_LIMIT, EVENT_TEXT_LIMIT
from longmind.scope import IDENTITY_LIMIT
from longmind.validation.identifiers import METADATA_LIMIT
from longmind.validation.text import encode_json, looks_unstorable, quote_value, validate_size, validate_text

_DAY = 24 * 3600 * 1_000_000
_MAX_DIMENSIONS = 16_384
# JSON with no more brackets than this cannot be nested too deeply to be parsed.
_SAFE_BRACKETS = 100
_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def validate_kind(kind: object, where: str = "kind") -> str:
    """Return a kind: a text that is not blank."""
    # Anything but a plain str may not be hashable, or not equal to itself: it goes past the cache.
    check = _validate_kind if type(kind) is str else _validate_kind.__wrapped__
    return check(kind, where)


@lru_cache(maxsize=1024)
def _validate_kind(kind: object, where: str) -> str:
    return validate_text(where, kind, limit=IDENTITY_LIMIT, blank=False)


def validate_tool(tool: object) -> str:
    """Return the name of a tool."""
    return validate_text("tool", tool, limit=IDENTITY_LIMIT, blank=False)


def validate_event_text(text: object) -> str | None:
    """Return the text of an event; None if it has none."""
    return None if text is None else validate_text("text", text, limit=EVENT_TEXT_LIMIT)


def validate_tags(tags: object, where: str = "tags") -> tuple[str, ...]:
    """Return tags stripped, without empty ones and repetitions, in their order."""
    if tags is None:
        return ()
    if type(tags) is not list and (isinstance(tags, (str, bytes)) or not isinstance(tags, Iterable)):
        raise InvalidInput(f"{where} must be a list of texts, not {type(tags).__name__}.")
    given = tuple(tags)
    try:
        return _validate_tags(given, where)
    except TypeError:
        # An unhashable member is no text; the uncached function reports it.
        return _validate_tags.__wrapped__(given, where)


@lru_cache(maxsize=1024)
def _validate_tags(given: tuple[Any, ...], where: str) -> tuple[str, ...]:
    for number, tag in enumerate(given):
        validate_text(f"{where}[{number}]", tag, limit=IDENTITY_LIMIT)
    tags = tuple(dict.fromkeys(tag.strip() for tag in given if tag.strip()))
    if len(tags) > EVENT_TAGS_LIMIT:
        raise LimitExceeded(where, limit=EVENT_TAGS_LIMIT, given=len(tags), unit="at a time")
    return tags


def validate_names(names: object, where: str) -> tuple[str, ...] | None:
    """Return a filter such as kinds: None admits everything, and an empty one nothing."""
    if names is None:
        return None
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InvalidInput(f"{where} must be a list of texts, not {type(names).__name__}.")
    given = list(names)
    if len(given) > EVENT_TAGS_LIMIT:
        raise LimitExceeded(where, limit=EVENT_TAGS_LIMIT, given=len(given), unit="at a time")
    return tuple(dict.fromkeys(validate_text(f"{where}[{number}]", name) for number, name in enumerate(given)))


def validate_severity(severity: object) -> int:
    """Return a severity from 1 to 3."""
    if isinstance(severity, bool) or not isinstance(severity, int) or not 1 <= severity <= 3:
        raise InvalidInput(f"severity is {quote_value(severity)}.", hint="Pass 1 for low, 2 for medium or 3 for high.")
    return severity


def validate_signal(signal: object, where: str = "signal") -> float:
    """Return a signal from 0 to 1."""
    if isinstance(signal, bool) or not isinstance(signal, int | float) or not 0 <= signal <= 1:
        raise InvalidInput(
            f"{where} is {quote_value(signal)}.", hint="Pass a number from 0 to 1, or None for the default."
        )
    return float(signal)


def validate_metrics(metrics: object) -> tuple[dict[str, float] | None, str | None]:
    """Return the numbers, and their JSON."""
    if metrics is None:
        return None, None
    if not isinstance(metrics, Mapping):
        raise InvalidInput(f"metrics must be a dict of numbers, not {type(metrics).__name__}.")
    numbers: dict[str, float] = {}
    for name, number in metrics.items():
        validate_text(f"the name {name!r} of a metric", name, limit=IDENTITY_LIMIT)
        if isinstance(number, bool) or not isinstance(number, int | float) or not _is_finite(number):
            raise InvalidInput(f"metrics.{name} is {quote_value(number)}, and must be a number.")
        numbers[name] = number
    encoded = _write(numbers)
    validate_size("metrics", encoded, METADATA_LIMIT)
    return numbers, encoded


def validate_time(instant: Instant, now: Micros) -> Micros:
    """Return the time of an event of the past; a clock that is up to a day ahead is tolerated."""
    at = to_micros(instant, "ts")
    if at < 0 or at > now + _DAY:
        raise InvalidInput(f"ts {to_iso(at)} is before 1970 or more than a day in the future.")
    return at


def validate_values(values: object, where: str) -> tuple[list[Any] | None, str | None]:
    """Return a list of inputs or outputs, and its JSON."""
    if values is None:
        return None, None
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sequence):
        raise InvalidInput(f"{where} must be a list, not {type(values).__name__}.")
    encoded = encode_json(where, list(values), limit=EVENT_DATA_LIMIT)
    return from_json(encoded), encoded


def validate_embedding(embedding: object) -> tuple[list[float] | None, str | None]:
    """Return the numbers of a vector, and their JSON."""
    if embedding is None:
        return None, None
    if isinstance(embedding, str | bytes) or not isinstance(embedding, Sequence):
        raise InvalidInput(f"embedding must be a list of numbers, not {type(embedding).__name__}.")
    if len(embedding) > _MAX_DIMENSIONS:
        raise LimitExceeded("embedding", limit=_MAX_DIMENSIONS, given=len(embedding), unit="numbers")
    for number, value in enumerate(embedding):
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            raise InvalidInput(f"embedding[{number}] is {quote_value(value)}, and must be a number.")
    numbers = [float(value) for value in embedding]
    return numbers, _write(numbers)


def validate_flags(flags: object) -> tuple[dict[str, bool] | None, str | None]:
    """Return flags by name, and their JSON."""
    if flags is None:
        return None, None
    if not isinstance(flags, Mapping) or not all(isinstance(flag, bool) for flag in flags.values()):
        raise InvalidInput("pii_flags must be a dict of booleans.", hint="Pass, for example, {'email': True}.")
    return dict(flags), encode_json("pii_flags", dict(flags), limit=METADATA_LIMIT)


def to_plain_json(value: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Return a dict as it will be read back, and its JSON; None if that would differ from the dict.

    This is the fast way for a dict of nothing but JSON. None only means that a slower check is needed.
    """
    try:
        encoded = to_json(value, inf_nan_mode="null")
        decoded = from_json(encoded)
    except (ValueError, TypeError, RecursionError):
        return None
    if (
        decoded != value
        or len(encoded) > EVENT_DATA_LIMIT
        or b"\\u0000" in encoded
        or _count_brackets(encoded) > _SAFE_BRACKETS
    ):
        return None
    return decoded, encoded.decode()


def _count_brackets(encoded: bytes) -> int:
    # Most values are shorter than the number of brackets that is safe, and need not be searched.
    return encoded.count(b"[") + encoded.count(b"{") if len(encoded) > _SAFE_BRACKETS else 0


def try_encode(where: str, value: Any) -> str | None:
    """Return the value as JSON; None if JSON cannot express it. Raise InvalidInput if its text cannot be stored."""
    try:
        encoded = _write(value)
    except (TypeError, ValueError, RecursionError):
        return None
    if looks_unstorable(encoded) or encoded.count("[") + encoded.count("{") > _SAFE_BRACKETS:
        # It may be storable nevertheless. encode_json looks at each member, and names the one that is not.
        encode_json(where, json.loads(encoded))
    validate_size(where, encoded, EVENT_DATA_LIMIT)
    return encoded


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer that no float can hold
        return False
