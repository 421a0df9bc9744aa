"""MCP over streamable HTTP: an ASGI application for the server to mount, with a scope of its own for each request.

app = McpApp(engine, authenticator.identify, describe_problem)
Route("/mcp", app)  # hold `async with app.run_sessions()` open while the server is up
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from typing import Any, Protocol

import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

from longmind.context import Context
from longmind.engine import Engine
from longmind.errors import LongmindError
from longmind.mcp.server import McpRequest, make_server
from longmind.scope import Scope


class RequestIdentity(Protocol):
    """The owner of a request, and the headers that its response needs."""

    @property
    def scope(self) -> Scope: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


Identify = Callable[[AsgiScope], RequestIdentity]
"""Authenticates a request, or raises a LongmindError. It may read the database, so it is called in a thread."""
DescribeProblem = Callable[[LongmindError], tuple[int, Mapping[str, str], bytes]]
"""Returns the response to an error: status, headers and body."""

FindConnection = Callable[[AsgiScope], str | None]
"""Returns the id of the connection of a request, if the server knows it."""

_SCOPE = "longmind.scope"
_SESSION = "longmind.session"
_SESSION_HEADER = "mcp-session-id"


class McpApp:
    """The ASGI application of one path.

    It keeps nothing between requests: each is authenticated by itself and may reach any node behind a load balancer.
    The id of a session is only a name by which the memory tools count: that of X-Longmind-Session, else the one that
    the first response gave the client, else that of the connection. The SDK's session manager runs once, so an
    application cannot be restarted.
    """

    def __init__(
        self,
        engine: Engine,
        identify: Identify,
        describe_problem: DescribeProblem,
        find_connection: FindConnection = lambda scope: None,
        space: str | None = None,
    ) -> None:
        self._engine = engine
        self._identify = identify
        self._describe_problem = describe_problem
        self._find_connection = find_connection
        self._manager = StreamableHTTPSessionManager(
            make_server(self._get_context, space),
            stateless=True,
            json_response=True,
            max_request_body_size=int(engine.settings.request_megabytes * 1024 * 1024),
        )

    def run_sessions(self) -> AbstractAsyncContextManager[None]:
        """Run the SDK's session manager; requests fail outside of this context."""
        return self._manager.run()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # GET would open an event stream and DELETE would end a session; without sessions neither has a meaning.
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        try:
            identity = await anyio.to_thread.run_sync(self._identify, scope)
        except LongmindError as error:
            status, headers, body = self._describe_problem(error)
            await Response(body, status, dict(headers))(scope, receive, send)
            return

        # A client sends the id that the response to its first request gave it with all others.
        session = Headers(scope=scope).get(_SESSION_HEADER) or self._find_connection(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(identity.headers)
                if session is not None:
                    MutableHeaders(scope=message)[_SESSION_HEADER] = session
            await send(message)

        await self._manager.handle_request(
            {**scope, _SCOPE: identity.scope, _SESSION: session}, receive, send_with_headers
        )

    def _get_context(self, request: McpRequest) -> Context:
        http_request: Any = request.request
        scope, session = http_request.scope[_SCOPE], http_request.scope[_SESSION]
        context = self._engine.context(**asdict(scope))
        if scope.session_id is None and session is not None:
            # Only the memory tools count by this session: events belong to one that the client has named itself.
            context.tools = self._engine.context(**{**asdict(scope), "session_id": session}).tools
        return context
