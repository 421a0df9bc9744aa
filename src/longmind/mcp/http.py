"""Over streamable HTTP: an application for the server to mount, with a scope of its own for every request.

app = McpApp(engine, authenticator.identify, problem_of)
Route("/mcp", app)  # and `async with app.run_sessions()` as long as the server is up
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from typing import Any, Protocol

import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

from longmind.context import Context
from longmind.engine import Engine
from longmind.errors import LongmindError
from longmind.mcp.server import Asked, make_server
from longmind.scope import Scope


class Identity(Protocol):
    """Whose a request is, and the headers that its answer has because of that."""

    @property
    def scope(self) -> Scope: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


Identify = Callable[[AsgiScope], Identity]
"""Says whose a request is, or raises an error of `errors.py`. It may read the database, and is called in a thread."""
ProblemOf = Callable[[LongmindError], tuple[int, Mapping[str, str], bytes]]
"""How the server tells an error: status, headers and body."""

_SCOPE = "longmind.scope"


class McpApp:
    """An ASGI application. It keeps no session: each request proves anew whose it is, and any node may answer it.

    Serve it at one path, and hold `run_sessions()` open as long as the server is up. It can be run once.
    """

    def __init__(self, engine: Engine, identify: Identify, problem_of: ProblemOf, space: str | None = None) -> None:
        self._engine = engine
        self._identify = identify
        self._problem_of = problem_of
        self._manager = StreamableHTTPSessionManager(
            make_server(self._context_of, space),
            stateless=True,
            json_response=True,
            max_request_body_size=int(engine.settings.request_megabytes * 1024 * 1024),
        )

    def run_sessions(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # Without sessions there is nothing to listen to, and none to end.
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        try:
            identity = await anyio.to_thread.run_sync(self._identify, scope)
        except LongmindError as error:
            status, headers, body = self._problem_of(error)
            await Response(body, status, dict(headers))(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(identity.headers)
            await send(message)

        await self._manager.handle_request({**scope, _SCOPE: identity.scope}, receive, send_with_headers)

    def _context_of(self, asked: Asked) -> Context:
        request: Any = asked.request
        return self._engine.context(**asdict(request.scope[_SCOPE]))
