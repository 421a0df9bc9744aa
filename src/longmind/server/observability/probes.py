"""What whoever runs the server asks it: is it alive, is it ready, and how is it; and what stands around every request.

app = Starlette()
equip(app, engine, authenticator)  # after this, `app.state.readiness.stop()` says that no more requests are wanted

What answers a request sets `scope[OPERATION]` and `scope[IDENTITY]` (see `observing.py`).
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
from longmind.server.auth.identity import SCOPE_HEADERS, Authenticator, origins_of
from longmind.server.endpoint import Response, failure, send_response, wrong_method
from longmind.server.http.security_headers import SecurityHeaders
from longmind.server.observability.metrics import CONTENT_TYPE, Metrics
from longmind.server.observability.middleware import OPERATION, Message, Observing, Receive, Send
from longmind.server.observability.tracing import open_tracing
from longmind.settings import Settings

_SENT = ("authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "x-api-key", "x-request-id")
_SEEN = ("etag", "retry-after", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-request-id")
_PROBE_SECONDS = 5.0
"""How long to wait for the database to say that it is there; who asks has less patience than an operation."""
_log = logging.getLogger("longmind.server")

Answering = Callable[[Message], Awaitable[Response]]


class Readiness:
    """Whether requests should be sent here."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stopping = False
        self._looking: asyncio.Task[str | None] | None = None

    def stop(self) -> None:
        """Say that the server is about to end, so that requests are sent elsewhere."""
        self._stopping = True

    async def trouble(self) -> str | None:
        """What speaks against it."""
        if self._stopping:
            return "stopping"
        # Who comes while one look is under way gets its answer: a database that hangs must not take all threads.
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = asyncio.create_task(asyncio.to_thread(self._look))
        try:
            return await asyncio.wait_for(asyncio.shield(looking), _PROBE_SECONDS)
        except TimeoutError:
            _log.warning("not ready: the database has not answered for %g seconds", _PROBE_SECONDS)
            return "StoreUnavailable"

    def _look(self) -> str | None:
        try:
            self._engine.check_database()
        except LongmindError as error:
            _log.warning("not ready: %s", type(error).__name__)
            # The kind alone: anybody may ask, and the words name the database.
            return type(error).__name__
        return None


def equip(app: Starlette, engine: Engine, authenticator: Authenticator) -> None:
    """Give an application what it needs to be run: the paths for who runs it, and the middleware around all paths."""
    readiness = app.state.readiness = Readiness(engine)
    metrics = Metrics(engine)

    async def healthz(_: Message) -> Response:
        return _json(200, {"status": "alive"})

    async def readyz(_: Message) -> Response:
        trouble = await readiness.trouble()
        return (
            _json(200, {"status": "ready"}) if trouble is None else _json(503, {"status": "not ready", "why": trouble})
        )

    async def measured(scope: Message) -> Response:
        client = scope["client"][0] if scope.get("client") else None
        await asyncio.to_thread(authenticator.require_admin, scope["headers"], client)
        return Response(200, {"content-type": CONTENT_TYPE}, await asyncio.to_thread(metrics.written))

    for name, answer in (("healthz", healthz), ("readyz", readyz), ("metrics", measured)):
        app.router.routes.insert(0, Route(f"/{name}", _Probe(name, answer)))
    # The last one that is added is the outermost.
    cors = cors_options(engine.settings)
    if cors is not None:
        app.add_middleware(CORSMiddleware, **cors)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Observing, metrics=metrics, tracing=open_tracing(engine.settings))


def cors_options(settings: Settings) -> dict[str, Any] | None:
    """Which pages may call the server, for Starlette's middleware; None when none may. Cookies are never allowed."""
    origins = origins_of(settings.cors_origins)
    if not origins:
        return None
    return {
        "allow_origins": origins,
        "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
        "allow_headers": [*_SENT, *SCOPE_HEADERS],
        "expose_headers": _SEEN,
        "allow_credentials": False,
    }


class _Probe:
    """One of the paths for who runs the server, as an ASGI application."""

    def __init__(self, name: str, answer: Answering) -> None:
        self._name = name
        self._answer = answer

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await send_response(send, wrong_method("GET, HEAD"))
            return
        scope[OPERATION] = self._name
        try:
            response = await self._answer(scope)
        except LongmindError as error:
            response = failure(error)
        await send_response(send, response)


def _json(status: int, body: dict[str, object]) -> Response:
    return Response(status, {"content-type": "application/json"}, json.dumps(body).encode())
