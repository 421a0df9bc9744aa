"""The one place where errors become answers: `application/problem+json`, with a hint that says what to do."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from longmind.errors import BlockConflict, InvalidInput, LimitExceeded, LongmindError, ToolError

PROBLEM_TYPE = "application/problem+json"
_MOST_SHOWN = 5
_RETRY_SECONDS = "1"


class UnknownPath(LongmindError):
    """There is nothing at this path."""

    status = 404
    default_hint = "The description at /openapi.json lists every path."


class WrongMethod(LongmindError):
    """This path does not know the method."""

    status = 405
    default_hint = "The header Allow lists the methods it knows."


class NotThere(LongmindError):
    """What was asked for is not there, or not this user's."""

    status = 404
    default_hint = "Check the id, and whose credential the request carries."


class BodyTooSlow(LongmindError):
    """The body of the request did not come in time."""

    status = 408
    default_hint = "Send it again, faster or in smaller parts; request_seconds says how long a request may take."


class PreconditionFailed(LongmindError):
    """The block is not the one that If-Match names."""

    status = 412
    default_hint = "Look at `current`, make the change there anew, and send its new ETag."
    current: Any = None
    """The block as it is now, or None when there is none."""


class BodyTooLarge(LongmindError):
    """The body of the request is too large."""

    status = 413
    default_hint = "Send less at a time; request_megabytes says how much is taken."


class HeadTooLarge(LongmindError):
    """The headers of the request are too large."""

    status = 431
    default_hint = "Send fewer or shorter headers, or what is long in a body."


class NotJson(LongmindError):
    """The body of the request is not JSON."""

    status = 415
    default_hint = "Send JSON with the header Content-Type: application/json."


class ExpectationMissing(LongmindError):
    """It was not said which version of the block is to be replaced."""

    status = 422
    default_hint = "Give expected_updated_at, null for a block that is not there yet, or the header If-Match."


class TookTooLong(LongmindError):
    """The operation took longer than a request may."""

    status = 504
    default_hint = "It may still be done: look before it is repeated, or repeat it with the same Idempotency-Key."


class Unexpected(LongmindError):
    """Something went wrong in the server."""

    status = 500
    default_hint = "It is in the log of the server, and is a fault to be reported."


class ShapeError(InvalidInput):
    """The request has not the shape that its operation takes."""

    def __init__(self, message: str, hint: str, errors: list[dict[str, str]]) -> None:
        super().__init__(message, hint=hint)
        self.errors = errors
        """Each thing that is wrong: where, and what."""


def invalid_shape(error: ValidationError, what: str, known: list[str]) -> InvalidInput:
    """The error for a query or a body that does not fit, in words for the caller."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [{"at": _place(each["loc"]), "problem": each["msg"]} for each in found[:_MOST_SHOWN]]
    first = told[0]
    where = f"{what}: {first['at']}" if first["at"] else what
    hint = f"Known here are {', '.join(known)}." if known else "Nothing can be given here."
    return ShapeError(f"{where}: {first['problem']}.", hint, told)


def _place(location: tuple[int | str, ...]) -> str:
    # The names of alternatives of a union are in the way too, and are no fields.
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def problem_of(error: LongmindError) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the body that tell of an error."""
    status = error.status
    told: dict[str, Any] = {
        "type": f"urn:longmind:problem:{_slug(type(error))}",
        "title": (type(error).__doc__ or HTTPStatus(status).phrase).strip().partition("\n")[0],
        "status": status,
        "detail": error.message,
        "hint": error.hint,
    }
    headers = {"content-type": PROBLEM_TYPE}
    match error:
        case ToolError():
            told |= error.as_json()
        case BlockConflict() | PreconditionFailed():
            told["current"] = None if error.current is None else error.current.model_dump()
        case LimitExceeded():
            told |= {"limit": error.limit, "given": error.given}
        case ShapeError():
            told["errors"] = error.errors
    retry_after = getattr(error, "retry_after", None)
    if status in (429, 503):
        headers["retry-after"] = _RETRY_SECONDS if retry_after is None else str(max(1, round(retry_after)))
    return status, headers, to_json(told)


def _slug(kind: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()
