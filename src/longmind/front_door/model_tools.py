"""Tools of a memory in the shapes that OpenAI and Anthropic take, and calls of them in the shapes that they return."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from longmind.errors import InvalidInput, LongmindError, ToolError
from longmind.providers.language_model import BoundTool
from longmind.validation.text import quote_value

ToolShape = Literal["openai", "openai-responses", "anthropic"]


def describe_tools(tools: Sequence[BoundTool], shape: object) -> list[dict[str, Any]]:
    """Return the definitions of tools as the SDK of a vendor takes them."""
    match shape:
        case "openai":
            return [{"type": "function", "function": _describe(each, "parameters")} for each in tools]
        case "openai-responses":
            return [{"type": "function", **_describe(each, "parameters")} for each in tools]
        case "anthropic":
            return [_describe(each, "input_schema") for each in tools]
    known = ", ".join(map(repr, get_args(ToolShape)))
    raise InvalidInput(f"shape is {quote_value(shape)}.", hint=f"Use one of {known}.")


def run_tool(tools: Sequence[BoundTool], call: object) -> dict[str, Any]:
    """Run the tool that a model has called, and return the message with its result in the shape of the call.

    A tool that refuses or fails is no exception: its result says so to the model.
    """
    plain = call.model_dump() if hasattr(call, "model_dump") and not isinstance(call, type) else call
    if not isinstance(plain, Mapping):
        raise InvalidInput(
            f"A call of a tool cannot be of the type {type(call).__name__}.",
            hint="Pass one of message.tool_calls (OpenAI), or one block of the type tool_use (Anthropic).",
        )
    if plain.get("type") == "tool_use":
        call_id = _require_id(plain, "id")
        text, failed = _run(tools, plain.get("name"), plain.get("input"))
        result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        return result | {"is_error": True} if failed else result
    if plain.get("type") == "function_call":
        call_id = _require_id(plain, "call_id")
        text, _ = _run(tools, plain.get("name"), plain.get("arguments"))
        return {"type": "function_call_output", "call_id": call_id, "output": text}
    function = plain.get("function")
    if isinstance(function, Mapping):
        call_id = _require_id(plain, "id")
        text, _ = _run(tools, function.get("name"), function.get("arguments"))
        return {"role": "tool", "tool_call_id": call_id, "content": text}
    if "role" in plain or "tool_calls" in plain:
        raise InvalidInput(
            "This is a whole message, and run_tool takes one call.",
            hint="Call run_tool for each of message.tool_calls, or for each block of the type tool_use.",
        )
    raise InvalidInput(
        f"This is no call of a tool; it has {', '.join(map(repr, plain)) or 'no fields'}.",
        hint="Pass one of message.tool_calls (OpenAI), or one block of the type tool_use (Anthropic).",
    )


def _describe(bound: BoundTool, schema: str) -> dict[str, Any]:
    """Return the definition of a tool, with its schema under the name that a vendor gives it."""
    return {"name": bound.tool.name, "description": bound.tool.description, schema: bound.tool.parameters}


def _require_id(call: Mapping[str, Any], field: str) -> str:
    """Return the id of a call; its result would have no place without one."""
    value = call.get(field)
    if not isinstance(value, str) or not value:
        raise InvalidInput(
            f"The call has no {field!r}, which its result must name.", hint="Pass it as the model sent it."
        )
    return value


def _run(tools: Sequence[BoundTool], name: object, arguments: object) -> tuple[str, bool]:
    """Return the text of a result, and whether the tool refused or failed."""
    # A model may call what was never offered, and learns from the answer what there is.
    bound = next((each for each in tools if each.tool.name == name), None)
    if bound is None:
        known = ", ".join(each.tool.name for each in tools)
        return f"There is no tool {quote_value(name)} here. The tools are {known}.", True
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return "The arguments are not valid JSON. Call the tool again with a JSON object.", True
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        return "The arguments must be a JSON object. Call the tool again with one.", True
    try:
        return bound.run(dict(arguments)), False
    except ToolError as error:
        return json.dumps(error.as_json()), True
    except LongmindError as error:
        return str(error), True
