"""Observability middleware: ids, timing, metrics, the request log and the trace of every request.

The code that answers a request stores in the ASGI scope which operation it was and who sent it: `scope[OPERATION]` and
`scope[IDENTITY]`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from typing import Any

from longmind.server.auth.identity import Identity
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.observability.logs import FIELDS
from longmind.server.observability.metrics import Metrics
from longmind.server.observability.request_ids import current_request_ids, read_request_ids
from longmind.server.observability.tracing import Tracing

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

OPERATION = "longmind.operation"
IDENTITY = "longmind.identity"
QUIET_OPERATIONS = frozenset({"healthz", "readyz", "metrics"})
"""Operations that machines call every few seconds; they are logged at level DEBUG."""
_FAILED = 500
_DISCONNECTED = 499
"""The status in logs and metrics if the client disconnected. It is not an HTTP status and is never sent."""
_log = logging.getLogger("longmind.requests")


class ObservabilityMiddleware:
    """ASGI middleware around the whole application."""

    def __init__(self, app: Application, metrics: Metrics, tracing: Tracing) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ids = read_request_ids(RequestHeaders(scope["headers"]))
        status: int | None = None
        started = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", ids.request_id.encode("ascii"))]
            await send(message)

        with self._metrics.in_progress.track_inprogress(), self._tracing.span(scope["method"], ids) as span:
            before = current_request_ids.set(replace(ids, trace_id=span.trace_id or ids.trace_id))
            try:
                await self._app(scope, receive, send_with_id)
                status = status or _DISCONNECTED
            finally:
                # An exception that passes through here becomes status 500 further out.
                status = status or _FAILED
                operation = scope.get(OPERATION, "other")
                span.end_as(operation, status)
                self._report(scope, operation, status, time.perf_counter() - started)
                current_request_ids.reset(before)

    def _report(self, scope: Message, operation: str, status: int, seconds: float) -> None:
        self._metrics.count(operation, status, seconds)
        level = logging.DEBUG if operation in QUIET_OPERATIONS else logging.ERROR if status >= 500 else logging.INFO
        if not _log.isEnabledFor(level):
            return
        # Path and query are left out: ids are harmless, but a query may contain names and search texts.
        fields = {
            "operation": operation,
            "method": scope["method"],
            "status": status,
            "milliseconds": round(seconds * 1000, 1),
        }
        identity: Identity | None = scope.get(IDENTITY)
        if identity is not None:
            fields |= {"via": identity.via, "keyId": identity.key_id, "scopeId": identity.scope.id}
        _log.log(level, "request", extra={FIELDS: fields})
