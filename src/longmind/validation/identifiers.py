"""Checks of parameters that many operations share: ids, labels and counts."""

from __future__ import annotations

from longmind.errors import InvalidInput, LimitExceeded
from longmind.scope import IDENTITY_LIMIT
from longmind.validation.text import encode_json, quote_value, validate_text

METADATA_LIMIT = 64 * 1024
"""Bytes of JSON that a map of the app's own may have."""


def validate_label(name: str, value: object) -> str | None:
    """A short text from outside, such as a trace id or a model's name."""
    return None if value is None else validate_text(name, value, limit=IDENTITY_LIMIT, blank=False)


def validate_id(name: str, value: object) -> str:
    """An id somebody asks for. It need not exist, but it must be a text that can be looked up."""
    return validate_text(name, value)


def validate_count(name: str, value: object, *, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number, not {value!r}.")
    if not 1 <= value < 2**63:
        raise InvalidInput(f"{name} is {quote_value(value)}.", hint=f"It is at least 1 and at most {most:,}.")
    if value > most:
        raise LimitExceeded(name, limit=most, given=value, unit="at a time")
    return value


def validate_metadata(metadata: object, field: str = "metadata") -> str:
    """A map of the app's own, as it is stored."""
    if metadata is None:
        return "{}"
    if not isinstance(metadata, dict):
        raise InvalidInput(f"{field} must be a dict, not {type(metadata).__name__}.")
    return encode_json(field, metadata, limit=METADATA_LIMIT)
