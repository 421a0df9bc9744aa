"""One path: the request is read, its operation done in a thread, and the answer sent."""

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
from longmind.server.auth.identity import Authenticator, Identity, error_headers
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.http.parameters import Parameters
from longmind.server.http.preconditions import apply_conditions, apply_key, entity_tag, seen_by_headers
from longmind.server.http.request_body import ClientGone, read_body
from longmind.server.http.responses import Answer
from longmind.server.observability.middleware import IDENTITY, OPERATION, Message, Receive, Send
from longmind.server.problems import TookTooLong, Unexpected, WrongMethod, problem_of
from longmind.server.routes import Route

_CONTEXTS_KEPT = 4096
_JSON = {"content-type": "application/json"}
_log = logging.getLogger("longmind.server")


@dataclass(frozen=True)
class Response:
    """What is sent back."""

    status: int
    headers: dict[str, str]
    body: bytes


class Desk:
    """What all endpoints share: the engine, who tells whose a request is, the threads and the limits."""

    def __init__(self, engine: Engine, authenticator: Authenticator) -> None:
        self.authenticator = authenticator
        self.hop = Hop()
        self.seconds = engine.settings.request_seconds
        self.turn_seconds = engine.settings.turn_seconds
        self.most_bytes = int(engine.settings.request_megabytes * 1024 * 1024)

        @lru_cache(_CONTEXTS_KEPT)
        def context_of(scope: Scope) -> Context:
            return engine.context(**{each.name: getattr(scope, each.name) for each in fields(scope)})

        self.context_of = context_of


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, with all that it came with."""

    scope: Message
    headers: RequestHeaders
    body: bytes


async def read_request(scope: Message, receive: Receive, desk: Desk) -> Asked:
    headers = RequestHeaders(scope["headers"])
    return Asked(scope, headers, await read_body(headers, receive, desk.most_bytes, desk.seconds))


class Doing:
    """Does one operation for requests, from their bytes to those of the answer."""

    def __init__(self, route: Route, desk: Desk) -> None:
        self.route = route
        self.desk = desk
        self.parameters = Parameters(route)
        self.answer = Answer(route)
        self._service = route.operation.service
        self._name = "invoke" if route.place.tool is not None else route.operation.name

    def arguments(self, asked: Asked) -> tuple[Identity, dict[str, Any]]:
        """Whose request it is comes first: a stranger is not told what would be wrong with it."""
        scope = asked.scope
        client = scope.get("client")
        identity = self.desk.authenticator.identify(scope["headers"], client[0] if client else None)
        scope[IDENTITY] = identity
        arguments = self.parameters.read(scope["path_params"], scope["query_string"], asked.body)
        apply_key(self.route, asked.headers, arguments)
        apply_conditions(self.route, asked.headers, arguments)
        return identity, arguments

    def call(self, identity: Identity, arguments: dict[str, Any]) -> Response:
        """Do the operation in the name of whose request it is."""
        context = self.desk.context_of(identity.scope)
        return self._success(getattr(getattr(context, self._service), self._name)(**arguments), identity.headers)

    def respond(self, asked: Asked) -> Response:
        """The answer to a request. What goes wrong is an answer too."""
        try:
            return self.call(*self.arguments(asked))
        except Exception as error:
            return failure(error, asked.headers)

    async def run(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, within the time that one may take."""
        desk = self.desk
        asked = await read_request(scope, receive, desk)
        try:
            async with asyncio.timeout(desk.seconds):
                response = await desk.hop(self.respond, asked)
        except TimeoutError:
            raise TookTooLong from None
        await send_response(send, response)

    def _success(self, given: Any, headers: dict[str, str]) -> Response:
        body = self.answer.body(given)
        if not self.answer.nothing:
            headers = {**headers, **_JSON}
        if isinstance(given, Block):
            headers["etag"] = entity_tag(given.updated_at)
        return Response(self.answer.status, headers, body)


def failure(error: Exception, headers: RequestHeaders | None = None) -> Response:
    """The answer that tells of an error; what nobody has foreseen is told in the log, and not to the caller."""
    if not isinstance(error, LongmindError):
        _log.error("a request failed", exc_info=error)
        error = Unexpected()
    if headers is not None:
        error = seen_by_headers(error, headers)
    status, told, body = problem_of(error)
    return Response(status, told | {name.lower(): value for name, value in error_headers(error).items()}, body)


class Endpoint:
    """The operations at one path, by their methods, as an ASGI application."""

    def __init__(self, doings: dict[str, Doing]) -> None:
        self._doings = doings
        self._allow = ", ".join(doings)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        doing = self._doings.get(scope["method"])
        if doing is None:
            await send_response(send, wrong_method(self._allow))
            return
        scope[OPERATION] = doing.route.operation.path
        try:
            await doing.run(scope, receive, send)
        except LongmindError as error:
            await send_response(send, failure(error))
        except ClientGone:
            return


def wrong_method(allow: str) -> Response:
    refused = failure(WrongMethod())
    return Response(refused.status, {**refused.headers, "allow": allow}, refused.body)


async def send_response(send: Send, response: Response) -> None:
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers.items()]
    if response.status != 204:
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
