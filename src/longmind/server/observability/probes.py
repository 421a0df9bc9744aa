"""Probes for operators (/healthz, /readyz, /metrics), and the middleware around every request.

    app = Starlette()
    add_probes(app, engine, authenticator)  # afterwards `app.state.readiness.stop()` announces the shutdown

Endpoints set `scope[OPERATION]` and `scope[IDENTITY]` (see middleware.py).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from longmind.engine import Engine
from longmind.errors import LongmindError
from longmind.server.auth.identity import SCOPE_HEADERS, Authenticator, parse_origins
from longmind.server.endpoint import HttpResponse, refuse_method, send_response, to_error_response
from longmind.server.http.security_headers import SecurityHeadersMiddleware
from longmind.server.observability.metrics import CONTENT_TYPE, Metrics
from longmind.server.observability.middleware import OPERATION, Message, ObservabilityMiddleware, Receive, Send
from longmind.server.observability.tracing import open_tracing
from longmind.settings import Settings

_REQUEST_HEADERS = (
    "authorization",
    "content-type",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "x-api-key",
    "x-request-id",
)
_EXPOSED_HEADERS = ("etag", "retry-after", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-request-id")
_PROBE_SECONDS = 5.0
"""Time that the database has to answer a probe; orchestrators wait less than ordinary clients."""
_log = logging.getLogger("longmind.server")

ProbeHandler = Callable[[Message], Awaitable[HttpResponse]]


class Readiness:
    """The answer to "should this server receive requests?"."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stopping = False
        self._check: asyncio.Task[str | None] | None = None

    def stop(self) -> None:
        """Report "not ready" from now on, because the server is about to end."""
        self._stopping = True

    async def find_trouble(self) -> str | None:
        """Return why the server is not ready, or None if it is."""
        if self._stopping:
            return "stopping"
        # Concurrent probes share one check: if the database hangs, they must not use up all threads.
        check = self._check
        if check is None or check.done():
            check = self._check = asyncio.create_task(asyncio.to_thread(self._check_database))
        try:
            return await asyncio.wait_for(asyncio.shield(check), _PROBE_SECONDS)
        except TimeoutError:
            _log.warning("not ready: the database did not answer within %g seconds", _PROBE_SECONDS)
            return "StoreUnavailable"

    def _check_database(self) -> str | None:
        """Return the type of the error, after logging it, if the database cannot be used; None if it can."""
        try:
            self._engine.check_database()
        except LongmindError as error:
            _log.warning("not ready: %s", type(error).__name__)
            # Only the type is returned: anyone may call the probe, and the message names the database.
            return type(error).__name__
        return None


def add_probes(app: Starlette, engine: Engine, authenticator: Authenticator) -> None:
    """Add the probes to an application, and the middleware around all of its paths."""
    readiness = app.state.readiness = Readiness(engine)
    metrics = Metrics(engine)

    async def probe_health(_: Message) -> HttpResponse:
        return _to_json_response(200, {"status": "alive"})

    async def probe_readiness(_: Message) -> HttpResponse:
        trouble = await readiness.find_trouble()
        if trouble is None:
            return _to_json_response(200, {"status": "ready"})
        return _to_json_response(503, {"status": "not ready", "why": trouble})

    async def probe_metrics(scope: Message) -> HttpResponse:
        client = scope["client"][0] if scope.get("client") else None
        await asyncio.to_thread(authenticator.require_admin, scope["headers"], client)
        return HttpResponse(200, {"content-type": CONTENT_TYPE}, await asyncio.to_thread(metrics.render))

    for name, probe in (("healthz", probe_health), ("readyz", probe_readiness), ("metrics", probe_metrics)):
        app.router.routes.insert(0, Route(f"/{name}", _ProbeEndpoint(name, probe)))
    # The middleware that is added last is the outermost.
    cors = make_cors_options(engine.settings)
    if cors is not None:
        app.add_middleware(CORSMiddleware, **cors)
    app.add_middleware(SecurityHeadersMiddleware)
    app.add_middleware(ObservabilityMiddleware, metrics=metrics, tracing=open_tracing(engine.settings))


def make_cors_options(settings: Settings) -> dict[str, Any] | None:
    """Return the options for Starlette's CORS middleware, or None if no origin is allowed. Cookies never are."""
    origins = parse_origins(settings.cors_origins)
    if not origins:
        return None
    return {
        "allow_origins": origins,
        "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
        "allow_headers": [*_REQUEST_HEADERS, *SCOPE_HEADERS],
        "expose_headers": _EXPOSED_HEADERS,
        "allow_credentials": False,
    }


class _ProbeEndpoint:
    """ASGI application of one probe."""

    def __init__(self, name: str, probe: ProbeHandler) -> None:
        self._name = name
        self._probe = probe

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await send_response(send, refuse_method("GET, HEAD"))
            return
        scope[OPERATION] = self._name
        try:
            response = await self._probe(scope)
        except LongmindError as error:
            response = to_error_response(error)
        await send_response(send, response)


def _to_json_response(status: int, body: dict[str, object]) -> HttpResponse:
    return HttpResponse(status, {"content-type": "application/json"}, json.dumps(body).encode())
