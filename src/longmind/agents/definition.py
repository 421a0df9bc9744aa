"""Validation of an agent's definition, and its binding to the arguments of an invocation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from longmind.errors import InvalidInput, LimitExceeded
from longmind.memory.recall_tool_schema import validate_tool_definitions
from longmind.memory.validation import validate_value
from longmind.models.agent import AgentDefinition
from longmind.validation.text import encode_json, quote_value

DEFINITION_LIMIT = 64 * 1024
"""The size of a definition as JSON, in bytes."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_BOUND = ("model", "provider", "system_prompt", "user_text", "namespace")
_BOUND_IN_MEMORY = ("memory_space_id", "recall_query")


def validate_name(name: object) -> str:
    """Return the name of an agent, or raise InvalidInput."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"The name of an agent is {quote_value(name)}.", hint="Use at most 64 letters, digits, '_' and '-'."
        )
    return name


def validate_definition(given: object) -> tuple[AgentDefinition, str]:
    """Return a definition, and its JSON to be stored. Raises InvalidInput, naming the field that is wrong."""
    definition = validate_value(AgentDefinition, given, "definition")
    validate_name(definition.name)
    for name in ("model", "user_text"):
        if not getattr(definition, name).strip():
            raise InvalidInput(f"definition.{name} is blank.", hint="Pass a text, or $ and the name of an argument.")
    for place, tool in enumerate(definition.tools):
        if isinstance(tool, str) and not tool.strip():
            raise InvalidInput(
                f"definition.tools[{place}] is blank.", hint="Pass the name of a registered tool, or a recall tool."
            )
    validate_tool_definitions([tool for tool in definition.tools if isinstance(tool, dict)])
    # Only what was said is stored, so that a later version may choose other defaults for the rest.
    text = encode_json("definition", definition.model_dump(by_alias=True, exclude_unset=True))
    size = len(text.encode())
    if size > DEFINITION_LIMIT:
        raise LimitExceeded("A definition", limit=DEFINITION_LIMIT, given=size, unit="bytes")
    return definition, text


def validate_arguments(given: object) -> dict[str, Any]:
    """Return the arguments of an invocation."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidInput(
            f"arguments must be a dict with names, not {quote_value(given)}.",
            hint="Pass the values of the agent's $variables by their names.",
        )
    return dict(given)


def bind_definition(definition: AgentDefinition, arguments: Mapping[str, Any]) -> AgentDefinition:
    """Return the definition with the values of its variables; those of tools are read when a tool runs.

    Raises InvalidInput for a variable without an argument, and for one that is not a text, before anything is done.
    """
    missing = [name for name in dict.fromkeys(_list_variables(definition)) if name not in arguments]
    if missing:
        raise InvalidInput(
            f"The agent {definition.name!r} needs the arguments {', '.join(map(repr, missing))}.",
            hint="Pass them as arguments={…}; they stand for the texts with $ in its definition.",
        )
    changes: dict[str, Any] = {name: _bind(getattr(definition, name), arguments) for name in _BOUND}
    if definition.memory is not None:
        memory = definition.memory
        values = {name: _bind(getattr(memory, name), arguments) for name in _BOUND_IN_MEMORY}
        changes["memory"] = memory.model_copy(update=values)
    return definition.model_copy(update=changes)


def _list_variables(definition: AgentDefinition) -> Iterator[str]:
    """Yield the names of the arguments that a definition needs."""
    texts = [getattr(definition, name) for name in _BOUND]
    if definition.memory is not None:
        texts += [getattr(definition.memory, name) for name in _BOUND_IN_MEMORY]
    texts += [
        tool.get("memorySpaceId", tool.get("memory_space_id")) for tool in definition.tools if isinstance(tool, dict)
    ]
    for text in texts:
        if isinstance(text, str) and (found := _VARIABLE.fullmatch(text)):
            yield found[1]


def _bind(text: str | None, arguments: Mapping[str, Any]) -> str | None:
    found = None if text is None else _VARIABLE.fullmatch(text)
    if found is None:
        return text
    value = arguments[found[1]]
    if not isinstance(value, str):
        raise InvalidInput(
            f"The argument {found[1]!r} must be a text, not {type(value).__name__}.", hint="Pass it as a text."
        )
    return value
