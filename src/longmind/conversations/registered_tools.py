"""Tools that a turn may name instead of bringing them: those that the host registered, and recall tools in JSON.

A request over HTTP cannot carry a function. So the host registers its tools by name once, and a turn lists the names; a
tool of an agent's JSON is made from its definition, with the memory of the turn's user.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longmind.conversations.turn_tools import validate_tool
from longmind.errors import InvalidInput
from longmind.providers.language_model import BoundTool, Tool
from longmind.validation.text import quote_value

ToolFunction = Callable[[Any, dict[str, Any]], Any]
"""Runs a registered tool: receives the context of the turn's user, and the arguments that the model chose."""
RecallToolMaker = Callable[[list[dict[str, Any]], Mapping[str, Any] | None], list[BoundTool]]


class ToolRegistry:
    """The tools of an engine by name. Threads may share it."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[Tool, ToolFunction]] = {}
        self._lock = threading.Lock()

    def register(self, tool: object, function: ToolFunction) -> None:
        """Register a tool with its function; it replaces one of the same name."""
        checked = validate_tool("tool", tool)
        if not callable(function):
            raise InvalidInput(f"function must be a function, not {type(function).__name__}.")
        with self._lock:
            self._tools[checked.name] = (checked, function)

    def bind(self, name: str, make_context: Callable[[], Any]) -> BoundTool:
        """Return a registered tool for one user. Raises InvalidInput for an unknown name."""
        found = self._tools.get(name)
        if found is None:
            known = ", ".join(sorted(self._tools)) or "none"
            raise InvalidInput(
                f"No tool {quote_value(name)} is registered; the registered tools are: {known}.",
                hint="The host registers one with engine.register_tool(tool, function).",
            )
        tool, function = found
        return BoundTool(tool, functools.partial(_run, function, make_context))


def _run(function: ToolFunction, make_context: Callable[[], Any], arguments: dict[str, Any]) -> Any:
    # The context is made when the tool runs, since most turns call no tool.
    return function(make_context(), arguments)


@dataclass(frozen=True)
class ToolSource:
    """Everything that is needed to turn names and definitions into tools of one user."""

    registry: ToolRegistry
    make_context: Callable[[], Any]
    make_recall_tools: RecallToolMaker

    def expand(self, tools: object, arguments: object) -> object:
        """Return the tools of a turn with names and definitions replaced; what else they hold is checked later."""
        if arguments is not None and not isinstance(arguments, Mapping):
            raise InvalidInput(f"tool_arguments must be a dict, not {type(arguments).__name__}.")
        if isinstance(tools, str | Mapping) or not isinstance(tools, Sequence):
            return tools
        return [tool for each in tools for tool in self._expand_one(each, arguments)]

    def _expand_one(self, given: Any, arguments: Mapping[str, Any] | None) -> list[Any]:
        if isinstance(given, str):
            return [self.registry.bind(given, self.make_context)]
        if isinstance(given, Mapping) and "type" in given:
            return list(self.make_recall_tools([dict(given)], arguments))
        return [given]
