"""Definitions of recall tools, as an agent's JSON lists them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Literal, get_args

from longmind.errors import InvalidInput, LimitExceeded
from longmind.memory.validation import validate_value
from longmind.models.value import Value
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import DESCRIPTION
from longmind.validation.text import validate_text

ToolType = Literal["RECALL_BY_TOPIC", "RECALL_BY_ENTITY", "RECALL_TIMELINE"]
TOOLS_LIMIT = 1_000

_OURS = "RECALL"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RecallToolDefinition(Value):
    """One recall tool as it is defined: its type, its name for the model and its memory space."""

    type: ToolType
    name: str
    """The name by which the model calls it."""
    memory_space_id: str
    """The id of a space, or `$` and the name of the argument that brings it when the tool runs."""
    description: str | None = None

    @property
    def variable(self) -> str | None:
        """The argument that brings the memory space, or None if the definition names one."""
        return self.memory_space_id[1:] if self.memory_space_id.startswith("$") else None


def validate_tool_definitions(given: object) -> list[RecallToolDefinition]:
    """Return the recall tools of one definition, a list, or a whole agent, whose other tools are skipped."""
    whole = isinstance(given, dict) and "tools" in given
    listed = given["tools"] if isinstance(given, dict) and whole else [given] if isinstance(given, dict) else given
    if not isinstance(listed, list | tuple):
        raise InvalidInput(
            f"The tools must be a list, not {type(listed).__name__}.",
            hint="Pass a list of definitions, or an agent with such a list under 'tools'.",
        )
    if len(listed) > TOOLS_LIMIT:
        raise LimitExceeded("tools", limit=TOOLS_LIMIT, given=len(listed), unit="members")
    twice = [name for name, count in Counter(map(_name_of, listed)).items() if name is not None and count > 1]
    if twice:
        raise InvalidInput(f"Two tools have the name {twice[0]!r}.", hint="Give each tool a name of its own.")
    ours = [(place, each) for place, each in enumerate(listed) if not (whole and _is_foreign_tool(each))]
    return [_validate_definition(each, f"tools[{place}]") for place, each in ours]


def _is_foreign_tool(definition: object) -> bool:
    """Return whether a tool has a foreign type. One that begins like ours is a typing error, and not foreign."""
    type = definition.get("type") if isinstance(definition, dict) else None
    return isinstance(type, str) and not type.upper().startswith(_OURS)


def _name_of(definition: Any) -> str | None:
    name = definition.get("name") if isinstance(definition, dict) else None
    return name if isinstance(name, str) else None


def _validate_definition(given: object, where: str) -> RecallToolDefinition:
    if isinstance(given, dict) and given.get("type") not in get_args(ToolType):
        raise InvalidInput(
            f"{where}.type is {given.get('type')!r}.", hint=f"Pass one of {', '.join(get_args(ToolType))}."
        )
    definition = validate_value(RecallToolDefinition, given, where)
    if not _NAME.fullmatch(definition.name):
        raise InvalidInput(
            f"{where}.name is {definition.name!r}.",
            hint="Use at most 64 letters, digits, '_' and '-', as vendors require.",
        )
    validate_id(f"{where}.memorySpaceId", definition.memory_space_id)
    if not definition.memory_space_id.removeprefix("$").strip():
        raise InvalidInput(f"{where}.memorySpaceId is blank.", hint="Pass an id, or $ and the name of an argument.")
    if definition.description is not None:
        validate_text(f"{where}.description", definition.description, limit=DESCRIPTION.most, blank=False)
    return definition
