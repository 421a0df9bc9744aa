"""Errors of a server, rebuilt from its problem documents, so that a client catches the classes of the library.

The problem type names the class. Message, hint, status and the attributes of the class are those of the error that was
raised on the server. An unknown type, as of a newer server, becomes ServerFailed with the same message.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError

from longmind import errors
from longmind.errors import LongmindError, ServerFailed, ServerUnavailable
from longmind.models.block import Block

_PREFIX = "urn:longmind:problem:"
_OF_SERVER: dict[str, type[LongmindError]] = {
    "not-there": errors.NotFound,
    "unknown-path": errors.NotFound,
    "shape-error": errors.InvalidInput,
    "not-json": errors.InvalidInput,
    "wrong-method": errors.InvalidInput,
    "expectation-missing": errors.InvalidInput,
    "precondition-failed": errors.BlockConflict,
    "body-too-large": errors.LimitExceeded,
    "head-too-large": errors.LimitExceeded,
    "took-too-long": errors.OutcomeUnknown,
}
"""Problems that only a server has, with the class that a caller of the library would expect."""
# What the initialisers of the classes set, for a server that says nothing of it.
_ATTRIBUTES: dict[type[LongmindError], dict[str, Any]] = {
    errors.Unauthenticated: {"given": True},
    errors.NotFound: {"noun": "", "id": ""},
    errors.ConversationClosed: {"conversation_id": ""},
    errors.IdempotencyMismatch: {"key": ""},
    errors.BlockConflict: {"current": None, "expected": None},
    errors.LimitExceeded: {"limit": 0, "given": 0},
    errors.RateLimited: {"limit": 0, "window": 0, "retry_after": 1},
    errors.ToolError: {"code": "HANDLER_ERROR", "retriable": False, "stage": None, "field": None, "retry_after": None},
}


def to_error(status: int, headers: Mapping[str, str], body: bytes) -> LongmindError:
    """Return the error that an answer describes; one that is no problem document comes from something in between."""
    problem = _read_problem(body)
    if problem is None:
        return _describe_foreign_answer(status)
    kind = _find_class(str(problem.get("type", "")))
    error = kind.__new__(kind)
    # The initialisers of the classes differ, so the attributes are set as they were on the server.
    LongmindError.__init__(error, str(problem.get("detail", "")), hint=str(problem.get("hint", "")))
    error.status = status
    attributes = next((each for owner, each in _ATTRIBUTES.items() if isinstance(error, owner)), {})
    for name, default in attributes.items():
        setattr(error, name, _read_detail(name, problem.get(name, default), default))
    wait = _read_seconds(headers.get("retry-after"))
    if wait is not None and math.isfinite(wait) and isinstance(error, errors.RateLimited):
        error.retry_after = round(wait)
    return error


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, or None if it does not say."""
    return _read_seconds(headers.get("retry-after"))


def _read_problem(body: bytes) -> dict[str, Any] | None:
    try:
        problem = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return problem if isinstance(problem, dict) and str(problem.get("type", "")).startswith(_PREFIX) else None


def _read_detail(name: str, value: Any, default: Any) -> Any:
    """Return the value of an attribute; the default for one of another type, as only a foreign server sends it."""
    if name == "current":
        try:
            return None if value is None else Block.model_validate(value, extra="ignore")
        except ValidationError:
            return None
    return value if default is None or type(value) is type(default) else default


def _describe_foreign_answer(status: int) -> LongmindError:
    """Return the error for an answer of a proxy, or of a server that is not Longmind."""
    phrase = next((each.phrase for each in HTTPStatus if each == status), "an unknown status")
    said = f"The server answered {status} ({phrase}) without saying why."
    error = ServerUnavailable(said) if status in (429, 502, 503) else ServerFailed(said)
    error.status = status
    return error


def _find_class(type: str) -> type[LongmindError]:
    slug = type.removeprefix(_PREFIX)
    return _OF_SERVER.get(slug) or _classes_by_slug().get(slug, ServerFailed)


@cache
def _classes_by_slug() -> dict[str, type[LongmindError]]:
    return {errors.name_problem(each).removeprefix(_PREFIX): each for each in _list_classes(LongmindError)}


def _list_classes(of: type[LongmindError]) -> Iterator[type[LongmindError]]:
    # Only those of the library: a program may have subclasses of its own.
    for each in of.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
        yield from _list_classes(each)


def _read_seconds(header: str | None) -> float | None:
    """Return the seconds in Retry-After; a date, which our server never sends, counts as nothing said."""
    try:
        return None if header is None else max(0.0, float(header))
    except ValueError:
        return None
