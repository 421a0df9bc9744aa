"""The recall tools of an agent as its JSON defines them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Literal, get_args

from longmind.errors import InvalidInput, LimitExceeded
from longmind.memory.validation import validate_value
from longmind.models.value import Value
from longmind.validation.annotated import DESCRIPTION
from longmind.validation.identifiers import validate_id
from longmind.validation.text import validate_text

ToolType = Literal["RECALL_BY_TOPIC", "RECALL_BY_ENTITY", "RECALL_TIMELINE"]
TOOLS_LIMIT = 1_000

_OURS = "RECALL"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RecallToolDefinition(Value):
    type: ToolType
    name: str
    """What the model calls it by."""
    memory_space_id: str
    """A space's id, or `$` and the name of the argument that brings it when the tool is run."""
    description: str | None = None

    @property
    def variable(self) -> str | None:
        return self.memory_space_id[1:] if self.memory_space_id.startswith("$") else None


def validate_tool_definitions(given: object) -> list[RecallToolDefinition]:
    """The recall tools of one definition, of a list of them, or of a whole agent, whose other tools are left alone."""
    whole = isinstance(given, dict) and "tools" in given
    listed = given["tools"] if isinstance(given, dict) and whole else [given] if isinstance(given, dict) else given
    if not isinstance(listed, list | tuple):
        raise InvalidInput(
            f"The tools must be a list, not {type(listed).__name__}.",
            hint="Give a list of definitions, or an agent with a list of them under 'tools'.",
        )
    if len(listed) > TOOLS_LIMIT:
        raise LimitExceeded("tools", limit=TOOLS_LIMIT, given=len(listed), unit="members")
    twice = [name for name, count in Counter(map(_name_of, listed)).items() if name is not None and count > 1]
    if twice:
        raise InvalidInput(f"Two tools have the name {twice[0]!r}.", hint="A model calls a tool by its name.")
    ours = [(place, each) for place, each in enumerate(listed) if not (whole and _is_of_others(each))]
    return [_validate_definition(each, f"tools[{place}]") for place, each in ours]


def _is_of_others(definition: object) -> bool:
    """Whether a tool has a type of its own. One that begins like ours is a slip of the pen, and not passed over."""
    type = definition.get("type") if isinstance(definition, dict) else None
    return isinstance(type, str) and not type.upper().startswith(_OURS)


def _name_of(definition: Any) -> str | None:
    name = definition.get("name") if isinstance(definition, dict) else None
    return name if isinstance(name, str) else None


def _validate_definition(given: object, where: str) -> RecallToolDefinition:
    if isinstance(given, dict) and given.get("type") not in get_args(ToolType):
        raise InvalidInput(
            f"{where}.type is {given.get('type')!r}.", hint=f"It is one of {', '.join(get_args(ToolType))}."
        )
    definition = validate_value(RecallToolDefinition, given, where)
    if not _NAME.fullmatch(definition.name):
        raise InvalidInput(
            f"{where}.name is {definition.name!r}.",
            hint="Use letters, digits, '_' and '-', at most 64: vendors insist.",
        )
    validate_id(f"{where}.memorySpaceId", definition.memory_space_id)
    if not definition.memory_space_id.removeprefix("$").strip():
        raise InvalidInput(f"{where}.memorySpaceId is blank.", hint="Give an id, or $ and the name of an argument.")
    if definition.description is not None:
        validate_text(f"{where}.description", definition.description, limit=DESCRIPTION.most, blank=False)
    return definition
