"""Endpoints: read a request, run its operation in a thread, and send the response.

One request passes through `Endpoint` (picks the handler by method), `OperationHandler.run` (reads the body, hops to a
thread), `respond` (authenticates, parses the arguments, calls the operation) and `send_response`. Everything in
`respond` blocks: it runs in a thread of `EndpointContext.hop`, never in the event loop. No exception leaves it: a
LongmindError becomes a problem document, any other error is logged and becomes status 500.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from longmind.context import Context
from longmind.engine import Engine
from longmind.errors import LongmindError
from longmind.models.block import Block
from longmind.runtime.thread_pool import Hop
from longmind.scope import Scope
from longmind.server.auth.identity import Authenticator, Identity, make_error_headers
from longmind.server.http.connection_ids import find_connection
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.http.parameters import ArgumentReader
from longmind.server.http.preconditions import apply_conditions, apply_key, to_entity_tag, to_precondition_error
from longmind.server.http.request_body import ClientGone, read_body
from longmind.server.http.responses import ResultWriter
from longmind.server.observability.middleware import IDENTITY, OPERATION, Message, Receive, Send
from longmind.server.problems import TookTooLong, Unexpected, WrongMethod, to_problem
from longmind.server.routes import Route

_CACHED_CONTEXTS = 4096
_JSON = {"content-type": "application/json"}
_log = logging.getLogger("longmind.server")


@dataclass(frozen=True)
class HttpResponse:
    """A complete response; header names may have any case."""

    status: int
    headers: dict[str, str]
    body: bytes


class EndpointContext:
    """Everything that endpoints share: the authenticator, the threads, the limits and a cache of contexts."""

    def __init__(self, engine: Engine, authenticator: Authenticator) -> None:
        self.authenticator = authenticator
        self.hop = Hop()
        self.seconds = engine.settings.request_seconds
        self.turn_seconds = engine.settings.turn_seconds
        # A limit in bytes, since the setting allows fractions of a megabyte.
        self.most_bytes = int(engine.settings.request_megabytes * 1024 * 1024)

        # Building a context creates eight services; clients send many requests with one scope.
        @lru_cache(_CACHED_CONTEXTS)
        def context_of(scope: Scope) -> Context:
            return engine.context(**{each.name: getattr(scope, each.name) for each in fields(scope)})

        self.context_of = context_of
        self._engine = engine

    def make_tools_context(self, scope: Scope, connection: str | None) -> Context:
        """Return a context for a call of a memory tool: without a session of its own it has that of the connection."""
        if scope.session_id is not None or connection is None:
            return self.context_of(scope)
        # Not kept: connections come and go.
        named = {each.name: getattr(scope, each.name) for each in fields(scope)}
        return self._engine.context(**{**named, "session_id": connection})


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request whose body has arrived; nothing of it has been validated."""

    scope: Message
    headers: RequestHeaders
    body: bytes


async def read_request(scope: Message, receive: Receive, shared: EndpointContext) -> ReceivedRequest:
    """Read the body of a request within the limits of size and time."""
    headers = RequestHeaders(scope["headers"])
    return ReceivedRequest(scope, headers, await read_body(headers, receive, shared.most_bytes, shared.seconds))


class OperationHandler:
    """The handler of one operation, from the bytes of a request to those of the response."""

    def __init__(self, route: Route, shared: EndpointContext) -> None:
        self.route = route
        self.shared = shared
        self.arguments = ArgumentReader(route)
        self.result = ResultWriter(route)
        self._service = route.operation.service
        # A tool route calls `tools.invoke` with the name of its tool, so that the call is audited.
        self._name = "invoke" if route.http.tool is not None else route.operation.name

    def read_arguments(self, request: ReceivedRequest) -> tuple[Identity, dict[str, Any]]:
        """Authenticate a request, then read its arguments.

        Authentication comes first: an unauthenticated client must not learn what else is wrong with its request.
        """
        scope = request.scope
        client = scope.get("client")
        identity = self.shared.authenticator.identify(scope["headers"], client[0] if client else None)
        scope[IDENTITY] = identity
        arguments = self.arguments.read(scope["path_params"], scope["query_string"], request.body)
        apply_key(self.route, request.headers, arguments)
        apply_conditions(self.route, request.headers, arguments)
        return identity, arguments

    def call(self, identity: Identity, arguments: dict[str, Any], connection: str | None = None) -> HttpResponse:
        """Call the operation in the scope of the authenticated user.

        connection: the id of the connection, by which calls of the memory tools are counted if the request names no
        session.
        """
        shared = self.shared
        context = (
            shared.make_tools_context(identity.scope, connection)
            if self._service in ("tools", "front_door")
            else shared.context_of(identity.scope)
        )
        result = getattr(self.find_service(context, arguments), self._name)(**arguments)
        return self._to_response(result, identity.headers)

    def find_service(self, context: Context, arguments: dict[str, Any]) -> Any:
        """Return the service of the operation.

        Arguments that choose what it works on are taken out, since the operation itself does not know them.
        """
        return getattr(context, self._service)

    def respond(self, request: ReceivedRequest) -> HttpResponse:
        """Return the response to a request, whether it succeeds or fails."""
        try:
            return self.call(*self.read_arguments(request), find_connection(request.scope))
        except Exception as error:
            return to_error_response(error, request.headers)

    async def run(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request. Raises TookTooLong after `request_seconds`; the operation then still ends in its thread."""
        shared = self.shared
        request = await read_request(scope, receive, shared)
        try:
            async with asyncio.timeout(shared.seconds):
                response = await shared.hop(self.respond, request)
        except TimeoutError:
            raise TookTooLong from None
        await send_response(send, response)

    def _to_response(self, result: Any, headers: dict[str, str]) -> HttpResponse:
        """Return the response to a result; a block carries its version as an ETag."""
        body = self.result.write(result)
        if not self.result.is_empty:
            headers = {**headers, **_JSON}
        if isinstance(result, Block):
            headers["etag"] = to_entity_tag(result.updated_at)
        return HttpResponse(self.result.status, headers, body)


def to_error_response(error: Exception, headers: RequestHeaders | None = None) -> HttpResponse:
    """Return the response for an error. An unexpected error is logged, and the client learns only that it happened.

    headers: the headers of the request, if they were read; conditional headers turn a conflict into status 412.
    """
    if not isinstance(error, LongmindError):
        _log.error("request failed", exc_info=error)
        error = Unexpected()
    if headers is not None:
        error = to_precondition_error(error, headers)
    status, problem_headers, body = to_problem(error)
    more = {name.lower(): value for name, value in make_error_headers(error).items()}
    return HttpResponse(status, problem_headers | more, body)


class EventHandler(OperationHandler):
    """The handler of operations on events, which may name the timeline to work on.

    Without a name it is the timeline that the headers of the scope lead to.
    """

    def find_service(self, context: Context, arguments: dict[str, Any]) -> Any:
        level, bucket = arguments.pop("at"), arguments.pop("bucket")
        return context.events if level is None and bucket is None else context.events.at(level, bucket=bucket)


class Endpoint:
    """ASGI application of one path: the handlers of its operations, by method."""

    def __init__(self, handlers: dict[str, OperationHandler]) -> None:
        self._handlers = handlers
        self._allow = ", ".join(handlers)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        handler = self._handlers.get(scope["method"])
        if handler is None:
            await send_response(send, refuse_method(self._allow))
            return
        scope[OPERATION] = handler.route.operation.path
        try:
            await handler.run(scope, receive, send)
        except LongmindError as error:
            await send_response(send, to_error_response(error))
        except ClientGone:
            # No one is left to answer; the middleware logs the request with status 499.
            return


def refuse_method(allow: str) -> HttpResponse:
    """Return the response 405 with the methods that a path allows."""
    response = to_error_response(WrongMethod())
    return HttpResponse(response.status, {**response.headers, "allow": allow}, response.body)


async def send_response(send: Send, response: HttpResponse) -> None:
    """Send a complete response. A response with status 204 must not have a Content-Length."""
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers.items()]
    if response.status != 204:
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
