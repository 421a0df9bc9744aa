"""Checks of arguments as mem0 makes them, with its errors and their words."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from longmind.compat.mem0_filters import ENTITY_IDS

_log = logging.getLogger("longmind.compat")
_IDENTITY = (*ENTITY_IDS, "actor_id")


class Mem0ValidationError(Exception):
    """An argument is not valid."""

    def __init__(
        self, message: str, error_code: str, details: dict[str, Any] | None = None, suggestion: str | None = None
    ) -> None:
        self.message = message
        self.error_code = error_code
        self.details = details or {}
        self.suggestion = suggestion
        self.debug_info: dict[str, Any] = {}
        super().__init__(message)


def validate_entity_id(value: object, name: str) -> str | None:
    """Return an id as a text without spaces around it; raise ValueError for a blank one or one with spaces in it."""
    if value is None:
        return None
    trimmed = str(value).strip()
    if not trimmed:
        raise ValueError(f"Invalid {name}: cannot be empty or whitespace-only. Provide a valid identifier.")
    if any(character.isspace() for character in trimmed):
        raise ValueError(f"Invalid {name}: cannot contain whitespace. Provide a valid identifier without spaces.")
    return trimmed


def validate_ids(ids: Mapping[str, object]) -> dict[str, str]:
    """Return the ids that were passed; raise Mem0ValidationError if there are none."""
    given = validate_some_ids(ids)
    if not given:
        raise Mem0ValidationError(
            "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.",
            error_code="VALIDATION_001",
            details={"provided_ids": dict(ids)},
            suggestion="Please provide at least one identifier to scope the memory operation.",
        )
    return given


def validate_some_ids(ids: Mapping[str, object]) -> dict[str, str]:
    """Return the ids that were passed, perhaps none."""
    checked = {name: validate_entity_id(value, name) for name, value in ids.items()}
    return {name: value for name, value in checked.items() if value is not None}


def validate_filters(filters: Mapping[str, Any] | None, extra: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Return filters with checked ids; raise ValueError unless they have one, and it is among the filters."""
    if invalid := set(ENTITY_IDS) & set(extra):
        raise ValueError(
            f"Top-level entity parameters {invalid} are not supported in {method}()."
            " Use filters={'user_id': '...'} instead."
        )
    checked = dict(filters or {})
    for name in ENTITY_IDS:
        if name in checked:
            checked[name] = validate_entity_id(checked[name], name)
    if not any(checked.get(name) for name in ENTITY_IDS):
        raise ValueError(
            "filters must contain at least one of: user_id, agent_id, run_id. Example: filters={'user_id': 'u1'}"
        )
    return {name: value for name, value in checked.items() if name not in ENTITY_IDS or value is not None}


def validate_search(threshold: object = None, top_k: object = None) -> None:
    """Raise ValueError for a threshold outside of 0 to 1, or a number of results below 0."""
    if threshold is not None:
        if not isinstance(threshold, int | float):
            raise ValueError("threshold must be a valid number")
        if not 0 <= threshold <= 1:
            raise ValueError(f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive).")
    if top_k is not None:
        if not isinstance(top_k, int) or isinstance(top_k, bool):
            raise ValueError("top_k must be a valid integer")
        if top_k < 0:
            raise ValueError(f"Invalid top_k: {top_k}. Must be a non-negative integer.")


def validate_query(query: object) -> str:
    """Return a query without spaces around it; raise ValueError for a blank one."""
    if not isinstance(query, str):
        raise ValueError("Invalid query: must be a non-empty string.")
    if not query.strip():
        raise ValueError("Invalid query: cannot be empty or whitespace-only.")
    return query.strip()


def validate_messages(messages: object) -> list[Any]:
    """Return messages as a list; raise Mem0ValidationError for another type than a text, a message or a list."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, dict):
        return [messages]
    if isinstance(messages, list):
        return messages
    raise Mem0ValidationError(
        "messages must be str, dict, or list[dict]",
        error_code="VALIDATION_003",
        details={"provided_type": type(messages).__name__, "valid_types": ["str", "dict", "list[dict]"]},
        suggestion="Convert your input to a string, dictionary, or list of dictionaries.",
    )


def validate_expiration(value: object) -> str | None:
    """Return the last day of a memory as YYYY-MM-DD, or None; raise ValueError for anything else."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            raise ValueError("expiration_date must be a valid date in YYYY-MM-DD format.") from None
    raise ValueError("expiration_date must be a date string in YYYY-MM-DD format.")


def is_expired(fields: Mapping[str, Any]) -> bool:
    """Return whether the last day of a memory has passed."""
    try:
        return date.fromisoformat(str(fields.get("expiration_date"))) < datetime.now(UTC).date()
    except ValueError:
        return False


def drop_identity(metadata: Mapping[str, Any] | None, known: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Return metadata without ids: arguments alone decide whose a memory is."""
    clean = {}
    for name, value in (metadata or {}).items():
        if name not in _IDENTITY:
            clean[name] = value
        elif value != known.get(name):
            _log.warning("%s(): metadata[%r] is ignored: ids are set by arguments alone", method, name)
    return clean
