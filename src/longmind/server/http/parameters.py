"""Arguments of operations, read from the path, the query and the body of a request.

The signature of an operation is its schema: `ArgumentReader` builds pydantic models from it once per route. Input is
read strictly: a number is not taken from a JSON string, unknown names and repeated query parameters are refused, and
types that cannot be sent (files, functions) are removed from the annotations.
"""

from __future__ import annotations

import json
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
from longmind.scope import Level
from longmind.server.http.encoded_slashes import decode_slashes
from longmind.server.problems import to_shape_error
from longmind.server.routes import NOT_OVER_HTTP, Route
from longmind.validation.parameter_limits import Identity, Name, strip_limits

_NOT_JSON = (datetime, timedelta, LanguageModel, BoundTool, Tool, Cancel)
"""Types that Python callers may pass instead of a text or a number, and that JSON cannot carry."""
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS = {"true": True, "false": False}


class Absent:
    """The type of ABSENT, which marks an argument that was not sent where null has a meaning of its own."""


ABSENT = Absent()
CHOOSING_PARAMETERS: dict[str, dict[str, Any]] = {
    "events": {"at": Level | None, "bucket": Identity | None},
    "front_door": {"space": Name | None},
}
"""Parameters of the query that choose what the operations of a service work on: the timeline, like `events.at(…)` in
Python, or the space, like `Memory(space=…)`."""


class ArgumentReader:
    """The reader of one operation's arguments. It is built once per route and shared by all threads."""

    def __init__(self, route: Route) -> None:
        self.route = route
        http = route.http
        accepted = {
            name: each
            for name, each in route.operation.signature.parameters.items()
            if f"{route.operation.path}.{name}" not in NOT_OVER_HTTP
        }
        path_names = set(route.in_path.values())
        self.in_path = {name: each for name, each in accepted.items() if name in path_names}
        rest = {name: each for name, each in accepted.items() if name not in path_names}
        self.in_query = {
            name: each for name, each in rest.items() if not route.has_body or (http.of_block and name == "agent_id")
        }
        self.in_body = {name: each for name, each in rest.items() if name not in self.in_query}
        self.query_model = _make_model(route, "Query", self.in_query)
        self.body = self._make_body_adapter()
        self.body_required = http.tool is None and any(_is_required(each) for each in self.in_body.values())
        query_fields = self.query_model.model_fields.values()
        self._converters = {str(field.alias): _choose_converter(field) for field in query_fields}
        self._lists = {
            str(field.alias)
            for field in query_fields
            if any(get_origin(each) is list for each in _list_alternatives(field.annotation))
        }

    def _make_body_adapter(self) -> TypeAdapter[Any] | None:
        """Return the validator of the body, or None if the operation takes no body."""
        http = self.route.http
        if not self.in_body:
            return None
        if http.tool is not None:
            # The tool validates its arguments itself, and records refused ones in its audit.
            return TypeAdapter(dict[str, Any])
        if http.whole_body is not None:
            return TypeAdapter(to_wire_type(self.in_body[http.whole_body].annotation))
        return TypeAdapter(_make_model(self.route, "Body", self.in_body))

    def read(self, path: Mapping[str, str], query: bytes, body: bytes) -> dict[str, Any]:
        """Return the arguments of a request by parameter name.

        Raises ShapeError or InvalidInput, naming the first thing that is wrong and the names that are known.
        """
        arguments: dict[str, Any] = {inner: decode_slashes(path[outer]) for outer, inner in self.route.in_path.items()}
        if query or self._converters:
            arguments |= self._read_query(query)
        if self.body is not None:
            arguments |= self._read_body(self.body, body)
        elif body.strip() not in (b"", b"{}"):
            raise InvalidInput("This operation takes no body.", hint="Send the request without a body.")
        return arguments

    def _read_query(self, query: bytes) -> dict[str, Any]:
        """Return the arguments in the query. Repetition is allowed only for parameters that are lists."""
        sent: dict[str, Any] = {}
        for name, text in _parse_query(query):
            if name in self._lists:
                sent.setdefault(name, []).append(text)
                continue
            if name in sent:
                raise InvalidInput(f"The parameter {name!r} is given twice.", hint="Give each parameter once.")
            convert = self._converters.get(name)
            sent[name] = text if convert is None else convert(text)
        try:
            model = self.query_model.model_validate(sent, strict=True)
        except ValidationError as error:
            raise to_shape_error(error, "The query", list(self._converters)) from None
        arguments = dict(model.__dict__)
        if self.route.http.of_block:
            _check_block_scope(arguments.pop("scope"), arguments["agent_id"])
        return arguments

    def _read_body(self, adapter: TypeAdapter[Any], body: bytes) -> dict[str, Any]:
        """Return the arguments in the body; an empty body equals an empty object unless something is required."""
        if not body and not self.body_required:
            body = b"{}"
        try:
            value = adapter.validate_json(body, strict=True)
        except ValidationError as error:
            raise to_shape_error(error, "The body", self.body_names) from None
        http = self.route.http
        if http.tool is not None:
            return {"tool_name": http.tool, "arguments": value}
        return {http.whole_body: value} if http.whole_body is not None else dict(value.__dict__)

    @property
    def body_names(self) -> list[str]:
        """The names that the top level of the body may have."""
        schema = {} if self.body is None else self.body.json_schema()
        return list(schema.get("properties", {}))


def _parse_query(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput("The query is not UTF-8.", hint="Encode it as UTF-8: %C3%A9 for é.") from None


def _make_model(route: Route, part: str, parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    """Return a model of the query or body. Its name is public: it becomes a component of the OpenAPI document."""
    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        if isinstance(default, tuple):
            default = list(default)
        # Here null means "the block must not exist", so a missing argument needs a value of its own.
        known = {"default_factory": lambda: ABSENT} if name == "expected_updated_at" else {"default": default}
        fields[name] = (to_wire_type(parameter.annotation), Field(alias=route.to_wire_name(name), **known))
    if part == "Query" and route.http.of_block:
        fields["scope"] = (BlockScope | None, Field(default=None, alias="scope"))
    if part == "Query":
        choosing = CHOOSING_PARAMETERS.get(route.operation.service, {})
        fields |= {name: (to_wire_type(kind), Field(default=None, alias=name)) for name, kind in choosing.items()}
    config = ConfigDict(extra="forbid", protected_namespaces=())
    return create_model(f"{route.id[:1].upper()}{route.id[1:]}{part}", __config__=config, **fields)


def _is_required(parameter: Parameter) -> bool:
    # A body that may be any object may also be left out, which equals an empty object.
    return parameter.default is parameter.empty and get_origin(parameter.annotation) is not dict


def _check_block_scope(scope: BlockScope | None, agent_id: str | None) -> None:
    """Raise InvalidInput unless `scope` agrees with `agent_id`, which alone decides whose block is meant."""
    if scope == "agent" and agent_id is None:
        raise InvalidInput("The scope 'agent' needs an agent_id.", hint="Add the agent_id of the block.")
    if scope == "user" and agent_id is not None:
        raise InvalidInput("The scope 'user' takes no agent_id.", hint="Remove agent_id, or use scope=agent.")


def to_wire_type(annotation: Any) -> Any:
    """Return an annotation without the alternatives that JSON cannot carry."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        members = get_args(annotation)
        # A text that stands next to Path is a path too, and the server must not open files that a request names.
        removed = {str, Path} if Path in members else set()
        return _make_union([each for each in members if not _is_unsendable(each) and each not in removed])
    if origin is Annotated:
        plain = strip_limits(annotation)
        if get_origin(plain) is not Annotated:
            return to_wire_type(plain)
        inner, *notes = get_args(plain)
        return Annotated[(to_wire_type(inner), *notes)]
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return list[to_wire_type(get_args(annotation)[0])]  # type: ignore[misc]  # built at run time
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, Any]
    return annotation


def _make_union(members: list[Any]) -> Any:
    """Return the union of types that can be sent."""
    # A dict next to a model is that model in another form, and so is a text next to both; the model alone describes it.
    has_dict = any(get_origin(each) is dict for each in members)
    if has_dict and any(isinstance(each, type) and issubclass(each, Value) for each in map(_unwrap, members)):
        members = [each for each in members if get_origin(each) is not dict and each is not str]
    return reduce(or_, map(to_wire_type, members))


def _list_alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _unwrap(annotation: Any) -> Any:
    """Return the first plain type inside an annotation."""
    if get_origin(annotation) is Annotated:
        return _unwrap(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return _unwrap(get_args(annotation)[0])
    return annotation


def _is_unsendable(annotation: Any) -> bool:
    return annotation in _NOT_JSON or get_origin(annotation) in (Callable, IO)


def _read_object(text: str) -> Any:
    """Return the object that a query parameter holds as JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _choose_converter(field: FieldInfo) -> Callable[[str], Any] | None:
    """Return the function that converts the text of a query parameter; None if it stays a text.

    Text that a converter does not understand is passed on, so that the model reports it.
    """
    kinds = _list_alternatives(field.annotation)
    if bool in kinds:
        return lambda text: _BOOLEANS.get(text, text)
    if int in kinds:
        return lambda text: int(text) if _WHOLE_NUMBER.fullmatch(text) else text
    if any(get_origin(kind) is dict for kind in kinds):
        return _read_object
    if types.NoneType in kinds and field.default is not None and str not in kinds:
        # A missing parameter means the default, so "null" is the only way to switch such a filter off.
        return lambda text: None if text == "null" else text
    return None
