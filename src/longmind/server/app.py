"""The ASGI application: the routes of all operations, their OpenAPI document and its pages, MCP, probes, middleware.

From the outside in, a request passes request ids and tracing, security headers, CORS (if configured), encoded slashes,
Starlette's router, and one `Endpoint`. Starlette only routes: parsing, validation and errors are ours, because they
follow from the signatures of the operations (docs/decisions/0001-starlette-without-fastapi.md).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.routing import Route as PathRoute

from longmind.engine import Engine
from longmind.server.auth.identity import Authenticator
from longmind.server.endpoint import (
    Endpoint,
    EndpointContext,
    EventHandler,
    HttpResponse,
    OperationHandler,
    refuse_method,
    send_response,
    to_error_response,
)
from longmind.server.http.archive_download import ArchiveHandler
from longmind.server.http.encoded_slashes import EncodedSlashMiddleware, decode_slashes
from longmind.server.mcp_mount import MCP_PATH, make_mcp_app
from longmind.server.observability.probes import add_probes
from longmind.server.openapi.document import describe_api
from longmind.server.problems import UnknownPath
from longmind.server.reference.pages import ReferencePages
from longmind.server.routes import Route, make_routes
from longmind.server.served_memory import MemoryHandler
from longmind.server.streaming import RunTurnHandler

_SPECIAL_HANDLERS: dict[str, type[OperationHandler]] = {
    "conversations.run_turn": RunTurnHandler,
    "agents.invoke": RunTurnHandler,
    "admin.export_user_archive": ArchiveHandler,
}
"""Operations whose response is streamed."""
_HANDLERS_OF_SERVICES: dict[str, type[OperationHandler]] = {"events": EventHandler, "front_door": MemoryHandler}
"""Services that the query chooses more closely; all others are answered by OperationHandler."""


def make_app(engine: Engine, *, host: str = "127.0.0.1") -> Starlette:
    """Return the server of an engine as an ASGI application. The caller closes the engine.

    engine: the engine that answers all requests; it may be shared with code in the same process.
    host: the address the server will listen on. Any address other than loopback requires a key or web tokens.

    Raises InvalidInput if `host` is reachable from other machines and no credential exists.
    """
    authenticator = Authenticator(engine, host=host)
    shared = EndpointContext(engine, authenticator)
    agents = make_mcp_app(engine, authenticator)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with agents.run_sessions():
            yield
        # Threads finish their operations before the engine may be closed.
        await shared.hop.close()

    routes = make_routes()
    # One Starlette route per path: the endpoint picks the operation by method, so that 405 can name the others.
    by_path: dict[str, dict[str, OperationHandler]] = {}
    for route in routes:
        by_path.setdefault(route.http.path, {})[route.http.method] = _make_handler(route, shared)
    paths = [PathRoute(path, Endpoint(handlers)) for path, handlers in by_path.items()]
    description = describe_api(routes)
    document = PathRoute("/openapi.json", DocumentEndpoint(to_json(description)))
    pages = ReferencePages(description, authenticator).make_routes()
    app = Starlette(routes=[*paths, document, *pages, PathRoute(MCP_PATH, agents)], lifespan=lifespan)
    app.state.authenticator = authenticator
    # A path with a final slash is unknown, as the OpenAPI document says; Starlette would redirect it.
    app.router.redirect_slashes = False
    app.router.default = _answer_unknown_path
    app.add_middleware(EncodedSlashMiddleware)
    add_probes(app, engine, authenticator)
    return app


def _make_handler(route: Route, shared: EndpointContext) -> OperationHandler:
    operation = route.operation
    handler = _SPECIAL_HANDLERS.get(operation.path) or _HANDLERS_OF_SERVICES.get(operation.service, OperationHandler)
    return handler(route, shared)


class DocumentEndpoint:
    """ASGI application that serves the OpenAPI document, serialised once at start-up."""

    def __init__(self, document: bytes) -> None:
        self._response = HttpResponse(200, {"content-type": "application/json"}, document)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "GET":
            await send_response(send, self._response)
            return
        await send_response(send, refuse_method("GET"))


async def _answer_unknown_path(scope: Any, receive: Any, send: Any) -> None:
    """Answer 404 as a problem document, and refuse WebSockets, of which there are none."""
    if scope["type"] == "http":
        error = UnknownPath(f"There is nothing at {decode_slashes(scope['path'])}.")
        await send_response(send, to_error_response(error))
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close"})
