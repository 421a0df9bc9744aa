"""What the headers of a request say: an idempotency key, and which version of a block is meant."""

from __future__ import annotations

import re
from typing import Any

from longmind.clock import to_micros
from longmind.errors import BlockConflict, InvalidInput, LongmindError
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.http.parameters import ABSENT
from longmind.server.problems import ExpectationMissing, PreconditionFailed
from longmind.server.routes import Route

IDEMPOTENCY_KEY = "idempotency-key"
ENTITY_TAG = '^"([!#-~]+)"$'
"""How one tag is written."""
_NO_BLOCKS = "0001-01-01T00:00:00Z"
"""An instant at which no block was written, for a tag that is none of ours: it matches nothing."""
_KEPT_AS = ("idempotency_key", "unique_key")
_REPEATABLE = frozenset(
    {
        "memory.create_memory_space",
        "memory.grant_space",
        "memory.archive_atom",
        "memory.create_entity",
        "memory.update_binding",
        "memory.mine_patterns",
        "conversations.close_conversation",
        "conversations.close_stale",
        "conversations.refresh_rolling_summary",
        "blocks.update",
        "blocks.set_sleep_time",
        "admin.delete_user_data",
    }
)
"""Writes that may be repeated without a key: the second time they change nothing."""


def kept_as(route: Route) -> str | None:
    """The parameter that an idempotency key is given as; None when the operation keeps none."""
    return next((name for name in _KEPT_AS if name in route.operation.signature.parameters), None)


def is_repeatable(route: Route) -> bool:
    """Whether a request may be repeated without a key."""
    operation = route.operation
    return operation.access == "read" or route.place.method == "DELETE" or operation.path in _REPEATABLE


def apply_key(route: Route, headers: RequestHeaders, arguments: dict[str, Any]) -> None:
    """Give the idempotency key to the operation. Where it could not be kept it is refused, not passed over."""
    key = headers.get(IDEMPOTENCY_KEY)
    if key is None:
        return
    parameter = kept_as(route)
    if parameter is None:
        if is_repeatable(route):
            return
        raise InvalidInput(
            "This operation keeps no idempotency key, so that a repetition would be done again.",
            hint="Send it without Idempotency-Key; after a lost answer, look whether it was done.",
        )
    if arguments.get(parameter) not in (None, key):
        raise InvalidInput("The header Idempotency-Key and the body name different keys.", hint="Send one of them.")
    arguments[parameter] = key


def apply_conditions(route: Route, headers: RequestHeaders, arguments: dict[str, Any]) -> None:
    """Take the version of a block that is to be replaced from If-Match, beside `expected_updated_at`."""
    if "expected_updated_at" not in arguments:
        return
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
    if match is None and none_match is None:
        if arguments["expected_updated_at"] is ABSENT:
            if route.place.method != "DELETE":
                raise ExpectationMissing
            arguments["expected_updated_at"] = None
        return
    if none_match is not None and route.place.method == "DELETE":
        raise InvalidInput("What is not there cannot be deleted.", hint="Send If-Match with the ETag that was read.")
    expected = _expected(match, none_match)
    if arguments["expected_updated_at"] not in (ABSENT, expected):
        raise InvalidInput("The headers and expected_updated_at name different versions.", hint="Send one of them.")
    arguments["expected_updated_at"] = expected


def _expected(match: str | None, none_match: str | None) -> str | None:
    if match is None:
        if none_match is not None and none_match.strip() == "*":
            return None
        raise InvalidInput("If-None-Match is not '*'.", hint="It says that there must not be a block yet.")
    tag = re.fullmatch(ENTITY_TAG, match)
    if none_match is not None or tag is None:
        raise InvalidInput("If-Match is not one ETag.", hint='Send the ETag that was read, with its quotes: "…".')
    try:
        to_micros(tag[1])
    except InvalidInput:
        return _NO_BLOCKS
    return tag[1]


def entity_tag(updated_at: str) -> str:
    return f'"{updated_at}"'


def seen_by_headers(error: LongmindError, headers: RequestHeaders) -> LongmindError:
    """The same conflict as HTTP calls it, for a caller who has set the condition in HTTP's own manner."""
    if isinstance(error, BlockConflict) and ("if-match" in headers or "if-none-match" in headers):
        failed = PreconditionFailed(error.message)
        failed.current = error.current
        return failed
    return error
