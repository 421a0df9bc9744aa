"""Checks that many operations share: ids, labels, counts and metadata."""

from __future__ import annotations

from longmind.errors import InvalidInput, LimitExceeded
from longmind.scope import IDENTITY_LIMIT
from longmind.validation.text import encode_json, quote_value, validate_text

LIST_LIMIT = 1_000
"""Members of each list of an atom: sources, entities, tags and context."""
METADATA_LIMIT = 64 * 1024
"""Bytes of JSON in a map of the app's own."""

METADATA_KEYS = 64
METADATA_BYTES = 16 * 1024
METADATA_LEVELS = 10
"""Limits of the metadata of an atom: keys at its top level, bytes as JSON, and levels of nested values."""


def validate_label(name: str, value: object) -> str | None:
    """Return a short text of the caller's, such as a trace id: at most 255 characters, not blank; None stays None."""
    return None if value is None else validate_text(name, value, limit=IDENTITY_LIMIT, blank=False)


def validate_id(name: str, value: object) -> str:
    """Return an id to look up. It need not exist, but must be a text that the database can compare."""
    return validate_text(name, value)


def validate_count(name: str, value: object, *, most: int) -> int:
    """Return a whole number from 1 to `most`; raise InvalidInput below that range and LimitExceeded above it."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number, not {value!r}.")
    if not 1 <= value < 2**63:
        raise InvalidInput(f"{name} is {quote_value(value)}.", hint=f"Pass a whole number from 1 to {most:,}.")
    if value > most:
        raise LimitExceeded(name, limit=most, given=value, unit="at a time")
    return value


def validate_metadata(metadata: object, field: str = "metadata") -> str:
    """Return a map of the app's own as the JSON that is stored; None is an empty map."""
    if metadata is None:
        return "{}"
    if not isinstance(metadata, dict):
        raise InvalidInput(f"{field} must be a dict, not {type(metadata).__name__}.")
    return encode_json(field, metadata, limit=METADATA_LIMIT)


def validate_atom_metadata(where: str, metadata: object) -> str:
    """Return the metadata of an atom as the JSON that is stored."""
    if not isinstance(metadata, dict):
        raise InvalidInput(f"{where} must be a dict, not {type(metadata).__name__}.")
    if len(metadata) > METADATA_KEYS:
        raise LimitExceeded(where, limit=METADATA_KEYS, given=len(metadata), unit="keys")
    return encode_json(where, metadata, limit=METADATA_BYTES, deepest=METADATA_LEVELS)
