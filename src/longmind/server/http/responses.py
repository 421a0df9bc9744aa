"""What an operation gives, as the body of an answer."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from longmind.models.tool import ToolValue
from longmind.models.value import Page
from longmind.providers.language_model import BoundTool, Tool
from longmind.server.problems import NotThere
from longmind.server.routes import Route


class ToolDefinition(BaseModel):
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON schema of its arguments."""


class Text(BaseModel):
    """An answer that is one text."""

    text: str


class Answer:
    """Writes what one operation gives."""

    def __init__(self, route: Route) -> None:
        self._path = route.operation.path
        given = route.operation.signature.return_annotation
        members = list(get_args(given)) if get_origin(given) in (Union, types.UnionType) else [given]
        self.may_be_missing = types.NoneType in members and len(members) > 1
        self.nothing = given is None
        self.status = 204 if self.nothing else route.place.status
        members = [each for each in members if each is not types.NoneType]
        self.paged = "cursor" in route.operation.signature.parameters
        self._is_list = get_origin(members[0]) in (list, Page) if members else False
        self.bare = route.place.bare
        self.item = [get_args(each)[0] for each in members] if self._is_list else members
        self.schema_of: Any = None if self.nothing else self._shape()
        self._write = self._writer()

    def _shape(self) -> Any:
        """The type of the body, without the wrapping of lists."""
        kinds = [ToolDefinition if each is BoundTool else each for each in self.item]
        if not self._is_list:
            return Text if kinds == [str] else kinds[0]
        return reduce(or_, (list[kind] for kind in kinds))  # type: ignore[valid-type]  # made while it runs

    @property
    def is_list(self) -> bool:
        return self._is_list

    def _writer(self) -> Callable[[Any], bytes]:
        if not self._is_list:
            return _write_text if self.schema_of is Text else _write_one
        if self.item == [BoundTool]:
            return lambda tools: _write_list(to_json([_definition(each.tool) for each in tools]), None, self)
        adapter = TypeAdapter(self.schema_of)
        return lambda items: _write_list(adapter.dump_json(items, by_alias=None), items, self)

    def body(self, given: Any) -> bytes:
        if self.nothing:
            return b""
        if given is None and self.may_be_missing:
            raise NotThere
        return self._write(given)


def _write_one(given: Any) -> bytes:
    if isinstance(given, ToolValue):
        return given.model_dump_json(exclude_unset=True).encode()
    if isinstance(given, BaseModel):
        return given.__pydantic_serializer__.to_json(given, by_alias=None)
    return to_json(given)


def _write_text(given: str) -> bytes:
    return to_json({"text": given})


def _write_list(items: bytes, given: Any, answer: Answer) -> bytes:
    if answer.bare:
        return items
    if not answer.paged:
        return b'{"items":' + items + b"}"
    return b'{"items":' + items + b',"nextCursor":' + to_json(given.next_cursor) + b"}"


def _definition(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
