"""Watches every request from outside: gives it its ids, takes its time, and tells the log, the metrics and the trace.

What answers a request says in the ASGI scope which operation it was, and whose: `scope[OPERATION]`, `scope[IDENTITY]`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from typing import Any

from longmind.server.auth.identity import Identity
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.observability.logs import ABOUT
from longmind.server.observability.metrics import Metrics
from longmind.server.observability.request_ids import marks, marks_of
from longmind.server.observability.tracing import Tracing

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

OPERATION = "longmind.operation"
IDENTITY = "longmind.identity"
QUIET = frozenset({"healthz", "readyz", "metrics"})
"""What is asked every few seconds, by machines: it is no news."""
_FAILED = 500
_HUNG_UP = 499
"""For a request that nobody waits for an answer to any more. No HTTP status: none is sent."""
_log = logging.getLogger("longmind.requests")


class Observing:
    """Stands around the application, as ASGI middleware."""

    def __init__(self, app: Application, metrics: Metrics, tracing: Tracing) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        mine = marks_of(RequestHeaders(scope["headers"]))
        status: int | None = None
        begun = time.perf_counter()

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", mine.request_id.encode("ascii"))]
            await send(message)

        with self._metrics.under_way.track_inprogress(), self._tracing.span(scope["method"], mine) as span:
            before = marks.set(replace(mine, trace_id=span.trace_id or mine.trace_id))
            try:
                await self._app(scope, receive, send_marked)
                status = status or _HUNG_UP
            finally:
                status = status or _FAILED
                operation = scope.get(OPERATION, "other")
                span.end_as(operation, status)
                self._tell(scope, operation, status, time.perf_counter() - begun)
                marks.reset(before)

    def _tell(self, scope: Message, operation: str, status: int, seconds: float) -> None:
        self._metrics.count(operation, status, seconds)
        level = logging.DEBUG if operation in QUIET else logging.ERROR if status >= 500 else logging.INFO
        if not _log.isEnabledFor(level):
            return
        # No path and no query: ids would do no harm there, but names that are asked for might stand in them too.
        about = {
            "operation": operation,
            "method": scope["method"],
            "status": status,
            "milliseconds": round(seconds * 1000, 1),
        }
        identity: Identity | None = scope.get(IDENTITY)
        if identity is not None:
            about |= {"via": identity.via, "keyId": identity.key_id, "scopeId": identity.scope.id}
        _log.log(level, "request", extra={ABOUT: about})
