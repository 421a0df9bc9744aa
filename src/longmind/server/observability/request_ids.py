"""The two ids that tie together what is said of one request: in its log lines, its span and its answer."""

from __future__ import annotations

import random
import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass

from longmind.errors import InvalidInput
from longmind.server.http.header_reader import RequestHeaders

# An id has to differ from all others, and is no secret: to ask the system for each takes longer than all the rest here.
_chance = random.Random(secrets.token_bytes(32))
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TRACE_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True)
class Marks:
    request_id: str
    trace_id: str
    parent_id: str | None = None
    """The span of the caller that the request belongs to."""
    sampled: bool = True
    """Whether the caller keeps that span."""


marks: ContextVar[Marks | None] = ContextVar("longmind_marks", default=None)
"""Those of the request that this code runs for. Threads that work for it see them too."""


def marks_of(headers: RequestHeaders) -> Marks:
    """Take the ids that a caller gave, where they are what they should be, and make what is missing."""
    request_id = _get(headers, "x-request-id")
    if request_id is None or not _REQUEST_ID.fullmatch(request_id):
        # What goes into logs and headers is never repeated as it came.
        request_id = _new_id()
    found = _TRACE_PARENT.fullmatch(_get(headers, "traceparent") or "")
    if found is None or not int(found[1], 16) or not int(found[2], 16) or (found[0].startswith("00") and found[4]):
        return Marks(request_id, _new_id())
    return Marks(request_id, found[1], found[2], bool(int(found[3], 16) & 1))


def _new_id() -> str:
    return f"{_chance.getrandbits(128):032x}"


def _get(headers: RequestHeaders, name: str) -> str | None:
    try:
        return headers.get(name)
    except InvalidInput:
        return None
