"""Results of operations as response bodies.

The return annotation of an operation decides everything: whether the body is one object, a list or a page, whether
there is none (status 204), and whether None means 404. `body_type` is also what the OpenAPI document describes.
"""

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
    """A tool as a model receives it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON schema of its arguments."""


class Text(BaseModel):
    """A single text."""

    text: str


class ResultWriter:
    """The serialiser for the result of one operation. It is built once per route and shared by all threads."""

    def __init__(self, route: Route) -> None:
        returned = route.operation.signature.return_annotation
        members = list(get_args(returned)) if get_origin(returned) in (Union, types.UnionType) else [returned]
        self.can_be_missing = types.NoneType in members and len(members) > 1
        self.is_empty = returned is None
        self.status = 204 if self.is_empty else route.http.status
        members = [each for each in members if each is not types.NoneType]
        self.is_paged = "cursor" in route.operation.signature.parameters
        self.is_list = get_origin(members[0]) in (list, Page) if members else False
        self.is_bare = route.http.bare
        self._item_types = [get_args(each)[0] for each in members] if self.is_list else members
        self.body_type: Any = None if self.is_empty else self._choose_body_type()
        self._write = self._make_writer()

    def _choose_body_type(self) -> Any:
        """Return the type of the body; for a list, without the object that wraps it."""
        kinds = [ToolDefinition if each is BoundTool else each for each in self._item_types]
        if not self.is_list:
            return Text if kinds == [str] else kinds[0]
        return reduce(or_, (list[kind] for kind in kinds))  # type: ignore[valid-type]  # built at run time

    def _make_writer(self) -> Callable[[Any], bytes]:
        """Choose the serialiser once, so that a request does not inspect types."""
        if not self.is_list:
            return _write_text if self.body_type is Text else _write_one
        if self._item_types == [BoundTool]:
            return lambda tools: self._wrap_list(to_json([_define_tool(each.tool) for each in tools]), None)
        adapter = TypeAdapter(self.body_type)
        return lambda items: self._wrap_list(adapter.dump_json(items, by_alias=None), items)

    def write(self, result: Any) -> bytes:
        """Return the body for a result. Raises NotThere for None where the operation may find nothing."""
        if self.is_empty:
            return b""
        if result is None and self.can_be_missing:
            raise NotThere
        return self._write(result)

    def _wrap_list(self, items: bytes, page: Any) -> bytes:
        """Wrap the JSON of a list in its object; a page adds the cursor of the next one."""
        if self.is_bare:
            return items
        if not self.is_paged:
            return b'{"items":' + items + b"}"
        return b'{"items":' + items + b',"nextCursor":' + to_json(page.next_cursor) + b"}"


def _write_one(result: Any) -> bytes:
    if isinstance(result, ToolValue):
        return result.model_dump_json(exclude_unset=True).encode()
    if isinstance(result, BaseModel):
        # The serialiser itself is called because model_dump_json decodes its bytes to text, only to encode them again.
        return result.__pydantic_serializer__.to_json(result, by_alias=None)
    return to_json(result)


def _write_text(result: str) -> bytes:
    return to_json({"text": result})


def _define_tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
