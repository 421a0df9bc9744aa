"""The tools of a turn: their descriptions for the model, and the functions that run them."""

from __future__ import annotations

import copy
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longmind.errors import InvalidInput
from longmind.models.content import ToolUseBlock, encode_tool_result
from longmind.models.turn import ToolInvocation
from longmind.models.value import Value
from longmind.providers.language_model import UNREADABLE, BoundTool, Cancel, Tool, ToolHandler
from longmind.validation.text import encode_json, to_storable, validate_text

Waiting = Callable[[Awaitable[Any], Cancel], Any]
"""Waits for the result of a coroutine, in a thread without an event loop."""

CANCELLED = "The turn was cancelled before this tool was used."

_FIELDS = ("name", "description", "parameters")
_SCHEMA_NAMES = ("parameters", "input_schema", "inputSchema")


@dataclass(frozen=True)
class Toolbox:
    """The tools of one turn, checked and ready to be called."""

    tools: tuple[Tool, ...]
    runners: Mapping[str, Callable[[dict[str, Any]], Any]]
    """The functions, by the names of the tools."""
    wait_for: Waiting
    cancel: Cancel

    def use(self, call: ToolUseBlock) -> ToolInvocation:
        """Run the tool that the model calls. Failures become results, since the model may know another way."""
        started = time.monotonic()
        try:
            result, is_error = self._run_tool(call), False
        except Exception as error:
            result, is_error = describe_error(error), True
        return ToolInvocation(
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            result=result,
            is_error=is_error,
            latency_ms=round((time.monotonic() - started) * 1000, 1),
        )

    def _run_tool(self, call: ToolUseBlock) -> str:
        if self.cancel.cancelled:
            raise RefusedToolCall(CANCELLED)
        run = self.runners.get(call.name)
        if run is None:
            known = ", ".join(self.runners) or "none"
            raise RefusedToolCall(f"Unknown tool {call.name!r}. Known tools: {known}.")
        # Providers wrap arguments that they could not parse.
        if call.arguments.keys() == {UNREADABLE}:
            raise RefusedToolCall("The arguments are not a readable JSON object. Call the tool again with one.")
        # A copy: the tool may change its arguments, which are stored as the model wrote them.
        outcome = run(copy.deepcopy(call.arguments))
        if inspect.isawaitable(outcome):
            outcome = self.wait_for(outcome, self.cancel)
        result = to_storable(outcome if isinstance(outcome, str) else _to_json(call.name, outcome))
        # Too large a result is refused here, where the model learns of it and can ask for less.
        encode_tool_result(call.id, result, is_error=False)
        return result


class RefusedToolCall(Exception):
    """A call that reaches no tool."""


def make_toolbox(tools: object, handler: ToolHandler | None, wait_for: Waiting, cancel: Cancel) -> Toolbox:
    """Check the tools before anything is written: each has a name of its own and a function that runs it."""
    if handler is not None and not callable(handler):
        raise InvalidInput(f"tool_handler must be a function, not {type(handler).__name__}.")
    if isinstance(tools, str | Mapping) or not isinstance(tools, Sequence):
        raise InvalidInput(f"tools must be a list of tools, not {type(tools).__name__}.")
    runners: dict[str, Callable[[dict[str, Any]], Any]] = {}
    listed = []
    for number, given in enumerate(tools):
        tool = validate_tool(f"tools[{number}]", given.tool if isinstance(given, BoundTool) else given)
        if tool.name in runners:
            raise InvalidInput(f"Two tools have the name {tool.name!r}.", hint="Give each tool a name of its own.")
        if isinstance(given, BoundTool):
            runners[tool.name] = given.run
        elif handler is not None:
            runners[tool.name] = _bind_handler(handler, tool.name)
        else:
            raise InvalidInput(
                f"The tool {tool.name!r} has no handler.",
                hint="Pass tool_handler(name, arguments), a BoundTool, or the name of a registered tool.",
            )
        listed.append(tool)
    return Toolbox(tuple(listed), runners, wait_for, cancel)


def _bind_handler(handler: ToolHandler, name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda arguments: handler(name, arguments)


def validate_tool(where: str, given: object) -> Tool:
    """Return a tool that may be described to a model, from a value or a dict."""
    hint = f"Pass a Tool, a BoundTool, or a dict of {', '.join(_FIELDS)}."
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in (*_FIELDS, *_SCHEMA_NAMES)]
        if unknown or "name" not in given:
            raise InvalidInput(f"{where} {f'has {unknown[0]!r}' if unknown else 'has no name'}.", hint=hint)
        schema = next((given[name] for name in _SCHEMA_NAMES if name in given), Tool("").parameters)
        given = Tool(given["name"], given.get("description") or "", schema)
    if not isinstance(given, Tool):
        raise InvalidInput(f"{where} is a {type(given).__name__}.", hint=hint)
    validate_text(f"{where}.name", given.name, limit=128, blank=False)
    validate_text(f"{where}.description", given.description)
    if not isinstance(given.parameters, dict):
        raise InvalidInput(f"{where}.parameters must be a JSON schema, not {type(given.parameters).__name__}.")
    encode_json(f"{where}.parameters", given.parameters)
    return given


def _to_json(name: str, outcome: object) -> str:
    """Return a tool's result as JSON text; raise RefusedToolCall if it is neither a text nor JSON."""
    if isinstance(outcome, Value):
        return outcome.model_dump_json()
    try:
        return json.dumps(outcome, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise RefusedToolCall(
            f"{name} returned a {type(outcome).__name__}, which is neither a text nor JSON."
        ) from None


def describe_error(error: Exception) -> str:
    """Return the kind and the message of an error as storable text."""
    if isinstance(error, RefusedToolCall):
        return str(error)
    try:
        return to_storable(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
    except Exception:  # an error whose own __str__ fails
        return type(error).__name__


_LONGEST_ERROR = 10_000
