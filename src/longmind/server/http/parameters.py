"""What a request has to say, read off the signature of its operation: the path, the query and the body."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from inspect import Parameter
from operator import or_
from pathlib import Path
from typing import IO, Annotated, Any, Union, get_args, get_origin
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo

from longmind.errors import InvalidInput
from longmind.models.block import BlockScope
from longmind.models.value import Value
from longmind.providers.language_model import BoundTool, Cancel, LanguageModel, Tool
from longmind.server.http.encoded_slashes import name_in
from longmind.server.problems import invalid_shape
from longmind.server.routes import NOT_OVER_HTTP, Route
from longmind.validation.annotated import strip_limits

_NOT_JSON = (datetime, timedelta, LanguageModel, BoundTool, Tool, Cancel)
"""What Python callers may give instead of a text or a number, and nobody can send."""
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS = {"true": True, "false": False}


class Absent:
    """In the place of an argument that was not given, where that is something else than null."""


ABSENT = Absent()


class Parameters:
    """Reads the arguments of one operation out of requests."""

    def __init__(self, route: Route) -> None:
        self.route = route
        place = route.place
        taken = {
            name: each
            for name, each in route.operation.signature.parameters.items()
            if f"{route.operation.path}.{name}" not in NOT_OVER_HTTP
        }
        named_in_path = set(route.in_path.values())
        self.in_path = {name: each for name, each in taken.items() if name in named_in_path}
        rest = {name: each for name, each in taken.items() if name not in named_in_path}
        self.in_query = {
            name: each for name, each in rest.items() if not route.has_body or (place.of_block and name == "agent_id")
        }
        self.in_body = {name: each for name, each in rest.items() if name not in self.in_query}
        self.query_model = _model(route, "Query", self.in_query)
        self.body = self._body_adapter()
        self.body_required = place.tool is None and any(_is_required(each) for each in self.in_body.values())
        in_query = self.query_model.model_fields.values()
        self._readers = {str(field.alias): _reader(field) for field in in_query}
        self._lists = {
            str(field.alias)
            for field in in_query
            if any(get_origin(each) is list for each in _alternatives(field.annotation))
        }

    def _body_adapter(self) -> TypeAdapter[Any] | None:
        place = self.route.place
        if not self.in_body:
            return None
        if place.tool is not None:
            # The tool is strict about its arguments itself, and puts down in its audit what it refused.
            return TypeAdapter(dict[str, Any])
        if place.whole_body is not None:
            return TypeAdapter(on_the_wire(self.in_body[place.whole_body].annotation))
        return TypeAdapter(_model(self.route, "Body", self.in_body))

    def read(self, path: Mapping[str, str], query: bytes, body: bytes) -> dict[str, Any]:
        """The arguments, or an error that says which one is wrong and what is known here."""
        arguments: dict[str, Any] = {inner: name_in(path[outer]) for outer, inner in self.route.in_path.items()}
        if query or self._readers:
            arguments |= self._read_query(query)
        if self.body is not None:
            arguments |= self._read_body(self.body, body)
        elif body.strip() not in (b"", b"{}"):
            raise InvalidInput("A body was sent, and this takes none.", hint="Send the request without a body.")
        return arguments

    def _read_query(self, query: bytes) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, text in _pairs(query):
            if name in self._lists:
                given.setdefault(name, []).append(text)
                continue
            if name in given:
                raise InvalidInput(f"The parameter {name!r} is given twice.", hint="Give each parameter once.")
            reader = self._readers.get(name)
            given[name] = text if reader is None else reader(text)
        try:
            model = self.query_model.model_validate(given, strict=True)
        except ValidationError as error:
            raise invalid_shape(error, "The query", list(self._readers)) from None
        arguments = dict(model.__dict__)
        if self.route.place.of_block:
            _check_block_scope(arguments.pop("scope"), arguments["agent_id"])
        return arguments

    def _read_body(self, adapter: TypeAdapter[Any], body: bytes) -> dict[str, Any]:
        if not body and not self.body_required:
            body = b"{}"
        try:
            value = adapter.validate_json(body, strict=True)
        except ValidationError as error:
            raise invalid_shape(error, "The body", self.body_names) from None
        place = self.route.place
        if place.tool is not None:
            return {"tool_name": place.tool, "arguments": value}
        return {place.whole_body: value} if place.whole_body is not None else dict(value.__dict__)

    @property
    def body_names(self) -> list[str]:
        """The names at the top of the body."""
        schema = {} if self.body is None else self.body.json_schema()
        return list(schema.get("properties", {}))


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput("The query is not UTF-8.", hint="Write %C3%A9 for é: its bytes in UTF-8.") from None


def _model(route: Route, part: str, parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        if isinstance(default, tuple):
            default = list(default)
        known = {"default_factory": lambda: ABSENT} if name == "expected_updated_at" else {"default": default}
        fields[name] = (on_the_wire(parameter.annotation), Field(alias=route.outer_name(name), **known))
    if part == "Query" and route.place.of_block:
        fields["scope"] = (BlockScope | None, Field(default=None, alias="scope"))
    config = ConfigDict(extra="forbid", protected_namespaces=())
    return create_model(f"{route.id[:1].upper()}{route.id[1:]}{part}", __config__=config, **fields)


def _is_required(parameter: Parameter) -> bool:
    # A body that may be any object may be left out, which is the same as an empty one.
    return parameter.default is parameter.empty and get_origin(parameter.annotation) is not dict


def _check_block_scope(scope: BlockScope | None, agent_id: str | None) -> None:
    """An agent's id alone says whose block is meant; a scope that is given has to agree."""
    if scope == "agent" and agent_id is None:
        raise InvalidInput("The scope 'agent' needs an agent_id.", hint="Name the agent whose block is meant.")
    if scope == "user" and agent_id is not None:
        raise InvalidInput("The scope 'user' has no agent.", hint="Leave agent_id out, or ask for scope=agent.")


def on_the_wire(annotation: Any) -> Any:
    """The annotation as far as it can be sent as JSON."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        members = get_args(annotation)
        # A text beside a path is one too: the server opens no files that a request names.
        left_out = {str, Path} if Path in members else set()
        return _union([each for each in members if not _is_left_out(each) and each not in left_out])
    if origin is Annotated:
        plain = strip_limits(annotation)
        if get_origin(plain) is not Annotated:
            return on_the_wire(plain)
        inner, *notes = get_args(plain)
        return Annotated[(on_the_wire(inner), *notes)]
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return list[on_the_wire(get_args(annotation)[0])]  # type: ignore[misc]  # made while it runs
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, Any]
    return annotation


def _union(members: list[Any]) -> Any:
    # A dict stands for a value that a caller has not made; what such a dict may hold is what the value tells.
    if any(isinstance(each, type) and issubclass(each, Value) for each in map(_bare, members)):
        members = [each for each in members if get_origin(each) is not dict]
    return reduce(or_, map(on_the_wire, members))


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _bare(annotation: Any) -> Any:
    """The first of what an annotated union holds, which tells what kind of thing it is."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return _bare(get_args(annotation)[0])
    return annotation


def _is_left_out(annotation: Any) -> bool:
    return annotation in _NOT_JSON or get_origin(annotation) in (Callable, IO)


def _reader(field: FieldInfo) -> Callable[[str], Any] | None:
    """How the text of a parameter in a query becomes a value; None when it stays a text."""
    kinds = _alternatives(field.annotation)
    if bool in kinds:
        return lambda text: _BOOLEANS.get(text, text)
    if int in kinds:
        return lambda text: int(text) if _WHOLE_NUMBER.fullmatch(text) else text
    if types.NoneType in kinds and field.default is not None and str not in kinds:
        # The one way to say in a query that nothing is to be filtered, where leaving it out says something else.
        return lambda text: None if text == "null" else text
    return None
