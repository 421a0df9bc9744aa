"""Operations called in one of several ways: as methods of a context, or as requests to a server."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from pydantic.alias_generators import to_snake
from pydantic_core import to_jsonable_python

import longmind
from longmind.operations import OPERATIONS, Operation
from longmind.server.routes import MEMORY_OPERATIONS, make_routes
from longmind.server.served_memory import ServedMemory

BY_PATH = {operation.path: operation for operation in (*OPERATIONS, *MEMORY_OPERATIONS)}
ROUTES = {route.operation.path: route for route in make_routes()}

Call = Callable[[Operation, dict[str, Any]], Any]
"""Carries out an operation with arguments and returns its answer."""


class HttpAnswer(Protocol):
    """The answer to a request."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...
    @property
    def json(self) -> Any: ...


class RequestSender(Protocol):
    """A client that sends requests."""

    def ask(self, method: str, path: str, body: Any = None) -> HttpAnswer: ...


class RequestRefused(Exception):
    """A request was refused."""


def make_direct_call(context: longmind.Context) -> Call:
    """Return a `Call` that calls operations as methods of a context."""

    def call(operation: Operation, given: dict[str, Any]) -> Any:
        is_of_memory = operation.service == "front_door"
        service = ServedMemory(context, None) if is_of_memory else getattr(context, operation.service)
        return getattr(service, operation.name)(**given)

    return call


def make_http_call(client: RequestSender) -> Call:
    """Return a `Call` that sends operations as requests, each built from its route."""

    def call(operation: Operation, given: dict[str, Any]) -> Any:
        route = ROUTES[operation.path]
        named = to_jsonable_python(given, by_alias=True)
        path = re.sub(r"{(\w+)}", lambda found: quote(named.pop(route.in_path[found[1]]), safe=""), route.http.path)
        query = {}
        if route.http.of_block and named.get("agent_id") is not None:
            query = {"scope": "agent", "agent_id": named.pop("agent_id")}
        if route.http.whole_body is not None:
            # What is a keyword beside it in Python is a field of it here.
            named = {**named.pop(route.http.whole_body), **named}
        elif not route.is_snake_case:
            named = {route.to_wire_name(name): value for name, value in named.items()}
        if not route.has_body:
            query, named = query | {name: str(value) for name, value in named.items()}, None
        answer = client.ask(route.http.method, f"{path}?{urlencode(query)}" if query else path, named)
        if answer.status >= 300 and (answer.status, operation.access) != (404, "read"):
            raise RequestRefused(route, answer)
        return _read(answer.json) if answer.body and answer.status < 300 else None

    return call


def _read(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_read(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    if isinstance(answer.get("items"), list):
        return _read(answer["items"])
    return SimpleNamespace(**{to_snake(name): _read(value) for name, value in answer.items()})
