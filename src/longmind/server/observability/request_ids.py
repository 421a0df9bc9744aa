"""Request and trace ids, which tie together the log lines, the span and the response of one request."""

from __future__ import annotations

import random
import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass

from longmind.errors import InvalidInput
from longmind.server.http.header_reader import RequestHeaders

# Ids must be unique but not secret, so one seed from the system is enough: a system call per id would cost more than
# everything else in this module.
_random = random.Random(secrets.token_bytes(32))
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TRACE_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True)
class RequestIds:
    """The ids of one request."""

    request_id: str
    trace_id: str
    parent_id: str | None = None
    """The span of the client that the request belongs to."""
    sampled: bool = True
    """True if the client records that span."""


current_request_ids: ContextVar[RequestIds | None] = ContextVar("longmind_request_ids", default=None)
"""The ids of the request that this code runs for; threads that work for the request see them too."""


def read_request_ids(headers: RequestHeaders) -> RequestIds:
    """Take the ids from X-Request-ID and traceparent if they are well formed; make those that are missing.

    It never raises: a malformed id is replaced, since it says nothing about the request itself.
    """
    request_id = _get(headers, "x-request-id")
    if request_id is None or not _REQUEST_ID.fullmatch(request_id):
        # A malformed id is not repeated: it would be written to logs and headers.
        request_id = _new_id()
    found = _TRACE_PARENT.fullmatch(_get(headers, "traceparent") or "")
    if found is None or not int(found[1], 16) or not int(found[2], 16) or (found[0].startswith("00") and found[4]):
        return RequestIds(request_id, _new_id())
    return RequestIds(request_id, found[1], found[2], bool(int(found[3], 16) & 1))


def _new_id() -> str:
    return f"{_random.getrandbits(128):032x}"


def _get(headers: RequestHeaders, name: str) -> str | None:
    try:
        return headers.get(name)
    except InvalidInput:
        return None
