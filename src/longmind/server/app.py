"""The application: every route of the table, the description of all of them, and nothing of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.routing import Route as PathRoute

from longmind.engine import Engine
from longmind.server.auth.identity import Authenticator
from longmind.server.endpoint import Desk, Doing, Endpoint, Response, failure, send_response, wrong_method
from longmind.server.http.archive_download import SendArchive
from longmind.server.http.encoded_slashes import Slashes, name_in
from longmind.server.mcp_mount import MCP_PATH, mcp_app
from longmind.server.observability.probes import equip
from longmind.server.openapi.document import describe
from longmind.server.problems import UnknownPath
from longmind.server.routes import Route, make_routes
from longmind.server.streaming import RunTurn

_IN_THEIR_OWN_WAY: dict[str, type[Doing]] = {
    "conversations.run_turn": RunTurn,
    "admin.export_user_archive": SendArchive,
}


def make_app(engine: Engine, *, host: str = "127.0.0.1") -> Starlette:
    """The server of an engine, as an ASGI application. The engine stays the caller's to close.

    `host` is the address that it will listen on: on any but the machine's own it takes keys or tokens to start.
    """
    authenticator = Authenticator(engine, host=host)
    desk = Desk(engine, authenticator)
    agents = mcp_app(engine, authenticator)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with agents.running():
            yield
        await desk.hop.close()

    routes = make_routes()
    by_path: dict[str, dict[str, Doing]] = {}
    for route in routes:
        by_path.setdefault(route.place.path, {})[route.place.method] = _doing(route, desk)
    paths = [PathRoute(path, Endpoint(doings)) for path, doings in by_path.items()]
    described = PathRoute("/openapi.json", Described(to_json(describe(routes))))
    app = Starlette(routes=[*paths, described, PathRoute(MCP_PATH, agents)], lifespan=lifespan)
    app.state.authenticator = authenticator
    app.router.redirect_slashes = False
    app.router.default = _unknown_path
    app.add_middleware(Slashes)
    equip(app, engine, authenticator)
    return app


def _doing(route: Route, desk: Desk) -> Doing:
    return _IN_THEIR_OWN_WAY.get(route.operation.path, Doing)(route, desk)


class Described:
    """Gives the description out, written once."""

    def __init__(self, description: bytes) -> None:
        self._answer = Response(200, {"content-type": "application/json"}, description)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "GET":
            await send_response(send, self._answer)
            return
        await send_response(send, wrong_method("GET"))


async def _unknown_path(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send_response(send, failure(UnknownPath(f"There is nothing at {name_in(scope['path'])}.")))
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close"})
