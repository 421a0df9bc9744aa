"""Request bodies, read within limits of size and time.

A body is read before authentication, because that needs a thread and the database; the limits apply to everyone.
"""

from __future__ import annotations

import asyncio
from typing import Any

from longmind.server.http.header_reader import RequestHeaders
from longmind.server.problems import BodyTooLarge, BodyTooSlow, NotJson


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


async def read_body(headers: RequestHeaders, receive: Any, most_bytes: int, seconds: float) -> bytes:
    """Read the whole body of a request.

    A body that Content-Length announces as too large is refused before any of it is read.

    Raises BodyTooLarge, BodyTooSlow, NotJson, or ClientGone.
    """
    announced = headers.get("content-length")
    if announced is not None and announced.isdecimal() and int(announced) > most_bytes:
        raise _make_size_error(most_bytes)
    try:
        async with asyncio.timeout(seconds):
            body = await _collect(receive, most_bytes)
    except TimeoutError:
        raise BodyTooSlow from None
    if body:
        _check_type(headers.get("content-type"))
    return body


async def _collect(receive: Any, most_bytes: int) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > most_bytes:
            raise _make_size_error(most_bytes)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _check_type(content_type: str | None) -> None:
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        shown = repr(content_type) if content_type else "missing"
        raise NotJson(f"The Content-Type is {shown}.")


def _make_size_error(most_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The request body is larger than {most_bytes:,} bytes.")
