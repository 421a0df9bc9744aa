"""The translation of errors into `application/problem+json`; every surface that speaks HTTP uses it.

The class name of an error becomes its problem type (`BlockConflict` is `urn:longmind:problem:block-conflict`) and its
docstring the title. Both are public: clients compare the type, so classes here and in `errors.py` keep their names.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from longmind.errors import (
    BlockConflict,
    ConversationClosed,
    IdempotencyMismatch,
    InvalidInput,
    LimitExceeded,
    LongmindError,
    NotFound,
    RateLimited,
    ToolError,
    name_problem,
)

PROBLEM_TYPE = "application/problem+json"
_MOST_SHOWN = 5
_RETRY_SECONDS = "1"


class UnknownPath(LongmindError):
    """Nothing exists at this path."""

    status = 404
    default_hint = "See /docs for all paths."


class WrongMethod(LongmindError):
    """This path does not support the method."""

    status = 405
    default_hint = "Use one of the methods in the Allow header."


class NotThere(LongmindError):
    """The resource does not exist, or belongs to another user."""

    status = 404
    default_hint = "Check the id and the user of the credential."


class BodyTooSlow(LongmindError):
    """The request body did not arrive in time."""

    status = 408
    default_hint = "Send it faster or in smaller parts; the setting request_seconds is the limit."


class PreconditionFailed(LongmindError):
    """The block is not the version that If-Match names."""

    status = 412
    default_hint = "Repeat the change on `current`, and send its ETag."
    current: Any = None
    """The block as it is now, or None if it does not exist."""


class BodyTooLarge(LongmindError):
    """The request body is too large."""

    status = 413
    default_hint = "Send less at a time; the setting request_megabytes is the limit."


class HeadTooLarge(LongmindError):
    """The request headers are too large."""

    status = 431
    default_hint = "Send fewer or shorter headers, or move long values to the body."


class NotJson(LongmindError):
    """The request body is not JSON."""

    status = 415
    default_hint = "Send JSON with the header Content-Type: application/json."


class ExpectationMissing(LongmindError):
    """The request does not say which version of the block to replace."""

    status = 422
    default_hint = "Send expected_updated_at (null for a new block) or the header If-Match."


class TookTooLong(LongmindError):
    """The operation took longer than a request may."""

    status = 504
    default_hint = "Check whether it was done before you repeat it, or repeat it with the same Idempotency-Key."


class Unexpected(LongmindError):
    """Something went wrong in the server."""

    status = 500
    default_hint = "Report this fault; the server log has the details."


class ShapeError(InvalidInput):
    """The request does not have the shape that the operation takes."""

    def __init__(self, message: str, hint: str, errors: list[dict[str, str]]) -> None:
        super().__init__(message, hint=hint)
        self.errors = errors
        """Each fault, with the place where it was found."""


def to_shape_error(error: ValidationError, part: str, known: list[str]) -> InvalidInput:
    """Translate a validation error into one for the client.

    part: the part of the request that is wrong, as the start of a sentence: "The body" or "The query".
    known: the names that this part may have, for the hint.
    """
    found = error.errors(include_url=False, include_context=False, include_input=False)
    faults = [{"at": _format_location(each["loc"]), "problem": each["msg"]} for each in found[:_MOST_SHOWN]]
    first = faults[0]
    where = f"{part}: {first['at']}" if first["at"] else part
    hint = f"Use these names: {', '.join(known)}." if known else "Leave it out: the operation takes no fields here."
    return ShapeError(f"{where}: {first['problem']}.", hint, faults)


def _format_location(location: tuple[int | str, ...]) -> str:
    # pydantic also lists the alternatives of a union here, which are not fields.
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def to_problem(error: LongmindError) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body that describe an error."""
    status = error.status
    problem: dict[str, Any] = {
        "type": name_problem(type(error)),
        "title": (type(error).__doc__ or HTTPStatus(status).phrase).strip().partition("\n")[0],
        "status": status,
        "detail": error.message,
        "hint": error.hint,
    }
    headers = {"content-type": PROBLEM_TYPE}
    match error:
        case ToolError():
            problem |= error.as_json()
        case BlockConflict() | PreconditionFailed():
            problem["current"] = None if error.current is None else error.current.model_dump()
        case NotFound():
            problem |= {"noun": error.noun, "id": error.id}
        case ConversationClosed():
            problem["conversation_id"] = error.conversation_id
        case IdempotencyMismatch():
            problem["key"] = error.key
        case RateLimited():
            problem |= {"limit": error.limit, "window": error.window, "retry_after": error.retry_after}
        case LimitExceeded():
            problem |= {"limit": error.limit, "given": error.given}
        case ShapeError():
            problem["errors"] = error.errors
    retry_after = getattr(error, "retry_after", None)
    if status in (429, 503):
        headers["retry-after"] = _RETRY_SECONDS if retry_after is None else str(max(1, round(retry_after)))
    return status, headers, to_json(problem)
