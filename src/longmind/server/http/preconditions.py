"""Conditional requests: idempotency keys, and the version of a block in If-Match and If-None-Match.

A retry after a lost response must not write twice. An operation either takes a key under which its first result is
kept, or leaves the same state however often it is called; any other one refuses the header, so nobody relies on it.
"""

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
"""The pattern of one entity tag."""
_MATCHES_NO_BLOCK = "0001-01-01T00:00:00Z"
"""An instant at which no block was written; it stands for a tag that this server did not issue."""
_KEY_PARAMETERS = ("idempotency_key", "unique_key")
_REPEATABLE = frozenset(
    {
        "memory.create_memory_space",
        "memory.open_default_space",
        "memory.grant_space",
        "memory.archive_atom",
        "memory.forget_messages",
        "memory.undo_decision",
        "memory.create_entity",
        "memory.update_binding",
        "memory.mine_patterns",
        "conversations.close_conversation",
        "conversations.close_stale",
        "jobs.run_job",
        "conversations.refresh_rolling_summary",
        "blocks.update",
        "blocks.set_sleep_time",
        "agents.register",
        "front_door.flush",
        "admin.delete_user_data",
    }
)
"""Writes that change nothing when they are repeated, so they need no key."""


def find_key_parameter(route: Route) -> str | None:
    """Return the parameter that receives the idempotency key, or None if the operation takes none."""
    return next((name for name in _KEY_PARAMETERS if name in route.operation.signature.parameters), None)


def is_repeatable(route: Route) -> bool:
    """Return whether a request may be repeated without a key."""
    operation = route.operation
    return operation.access == "read" or route.http.method == "DELETE" or operation.path in _REPEATABLE


def apply_key(route: Route, headers: RequestHeaders, arguments: dict[str, Any]) -> None:
    """Pass the Idempotency-Key header to the operation as an argument.

    Raises InvalidInput if the operation cannot honour the key: ignoring it would let a retry repeat the write.
    """
    key = headers.get(IDEMPOTENCY_KEY)
    if key is None:
        return
    parameter = find_key_parameter(route)
    if parameter is None:
        if is_repeatable(route):
            return
        raise InvalidInput(
            "This operation does not support Idempotency-Key, so a retry would repeat it.",
            hint="Leave the header out; if a response is lost, check whether the write was done.",
        )
    if arguments.get(parameter) not in (None, key):
        raise InvalidInput("The header Idempotency-Key and the body name different keys.", hint="Send one of them.")
    arguments[parameter] = key


def apply_conditions(route: Route, headers: RequestHeaders, arguments: dict[str, Any]) -> None:
    """Set `expected_updated_at` from If-Match or If-None-Match.

    A write must say which version it replaces, in a header or in the body; a deletion need not.

    Raises ExpectationMissing if neither says it, and InvalidInput if they disagree or a header is malformed.
    """
    if "expected_updated_at" not in arguments:
        return
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
    if match is None and none_match is None:
        if arguments["expected_updated_at"] is ABSENT:
            if route.http.method != "DELETE":
                raise ExpectationMissing
            arguments["expected_updated_at"] = None
        return
    if none_match is not None and route.http.method == "DELETE":
        raise InvalidInput(
            "If-None-Match cannot guard a deletion.", hint="Send If-Match with the ETag of the block instead."
        )
    expected = _parse_expected_version(match, none_match)
    if arguments["expected_updated_at"] not in (ABSENT, expected):
        raise InvalidInput("The headers and expected_updated_at name different versions.", hint="Send one of them.")
    arguments["expected_updated_at"] = expected


def _parse_expected_version(match: str | None, none_match: str | None) -> str | None:
    if match is None:
        if none_match is not None and none_match.strip() == "*":
            return None
        raise InvalidInput("If-None-Match is not '*'.", hint="Send '*' to require that the block does not exist yet.")
    tag = re.fullmatch(ENTITY_TAG, match)
    if none_match is not None or tag is None:
        raise InvalidInput("If-Match is not one ETag.", hint='Send one ETag with its quotes: "…".')
    try:
        to_micros(tag[1])
    except InvalidInput:
        return _MATCHES_NO_BLOCK
    return tag[1]


def to_entity_tag(updated_at: str) -> str:
    """Return the ETag of a block: the instant of its last change, in quotes."""
    return f'"{updated_at}"'


def to_precondition_error(error: LongmindError, headers: RequestHeaders) -> LongmindError:
    """Turn a block conflict into PreconditionFailed (412) if the client set the condition in a header."""
    if isinstance(error, BlockConflict) and ("if-match" in headers or "if-none-match" in headers):
        failed = PreconditionFailed(error.message)
        failed.current = error.current
        return failed
    return error
