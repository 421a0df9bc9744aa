"""The requests of a memory: one for each method, built from its arguments, and the values that the answers become.

The signatures of `Memory` are the only description: arguments are bound to them, and results are read as the types that
they return. What an argument may be is checked by the server, with the words of the library, so the two never differ.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, TypeAdapter
from pydantic.alias_generators import to_camel

from longmind.client.server_connection import PreparedRequest
from longmind.clock import to_iso, to_micros
from longmind.errors import InvalidInput
from longmind.front_door.memory import Memory
from longmind.models.value import Value


@dataclass(frozen=True)
class MemoryRequest:
    """The method and path of one method of `Memory`."""

    http_method: str
    path: str
    repeatable: bool = True
    """False if a second request would do more than the first; it is then repeated only where the first did nothing."""


REQUESTS: dict[str, MemoryRequest] = {
    "add": MemoryRequest("POST", "/v1/memory/add", repeatable=False),
    "flush": MemoryRequest("POST", "/v1/memory/flush"),
    "search": MemoryRequest("POST", "/v1/memory/search"),
    "context": MemoryRequest("POST", "/v1/memory/context"),
    "facts": MemoryRequest("GET", "/v1/memory/facts"),
    "profile": MemoryRequest("GET", "/v1/memory/profile"),
    "history": MemoryRequest("GET", "/v1/memory/history"),
    "get": MemoryRequest("GET", "/v1/memory/facts/{id}"),
    "update": MemoryRequest("PUT", "/v1/memory/facts/{id}", repeatable=False),
    "forget": MemoryRequest("POST", "/v1/memory/forget", repeatable=False),
    "export": MemoryRequest("GET", "/v1/memory/export"),
    "erase": MemoryRequest("DELETE", "/v1/memory", repeatable=False),
    "tools": MemoryRequest("GET", "/v1/memory/tools"),
    "run_tool": MemoryRequest("POST", "/v1/memory/tools/run", repeatable=False),
}


def prepare_request(name: str, space: str | None, args: Sequence[Any], options: Mapping[str, Any]) -> PreparedRequest:
    """Return the request of a method with its arguments. Raises TypeError for arguments that the method does not take.

    space: the memory space by name or id, or None for the default one.
    """
    shape = REQUESTS[name]
    given = _signature_of(name).bind(None, *args, **options).arguments
    given.pop("self", None)
    path = shape.path
    if "{id}" in path:
        path = path.replace("{id}", quote(_require_text("id", given.pop("id")), safe=""))
    named = {to_camel(parameter): to_json(value, parameter) for parameter, value in given.items()}
    query: dict[str, Any] = {} if space is None else {"space": space}
    if shape.http_method in ("POST", "PUT"):
        # The same fact under its key is added once, however often it comes.
        repeatable = shape.repeatable or (name == "add" and given.get("key") is not None)
        return PreparedRequest(shape.http_method, path, query, named, repeatable=repeatable)
    # A parameter of the query that is left out means None, or the default.
    query |= {each: _to_query(value) for each, value in named.items() if value is not None}
    return PreparedRequest(shape.http_method, path, query, repeatable=shape.repeatable)


def read_answer(name: str, answer: Any) -> Any:
    """Return the value that an answer stands for.

    Fields that a newer server adds are ignored, so that servers can be upgraded before their clients.
    """
    if name == "context":
        return answer["text"]
    if name in ("facts", "history", "tools"):
        answer = answer["items"]
    return _result_of(name).validate_python(answer, extra="ignore")


def to_json(value: Any, where: str) -> Any:
    """Return an argument as JSON data: values and answers of SDKs as dicts, times as texts.

    where: the name of the parameter, for errors. Raises InvalidInput for bytes, functions and other things that JSON
    cannot carry, before anything is sent.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return to_iso(to_micros(value, where))
        case UUID() | date():
            return str(value)
        case Value():
            return value.model_dump(mode="json", by_alias=True)
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return {_require_text(f"a key of {where}", key): to_json(each, where) for key, each in value.items()}
        case _ if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [to_json(each, where) for each in value]
    raise InvalidInput(
        f"{where} has a {type(value).__name__}, which cannot be sent.", hint="Pass texts, numbers, lists and dicts."
    )


def _to_query(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool | dict) else value


def _require_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} must be a text that is not blank, not {type(value).__name__}.")
    return value


@cache
def _signature_of(name: str) -> inspect.Signature:
    method: Callable[..., Any] = getattr(Memory, name)
    return inspect.signature(method, eval_str=True)


@cache
def _result_of(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_signature_of(name).return_annotation)
