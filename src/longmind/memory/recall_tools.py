"""Recall tools that an agent's model may call in the middle of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from longmind.errors import InvalidInput
from longmind.memory.recall import Recalls
from longmind.memory.recall_tool_arguments import ARGUMENTS_OF, build_schema, validate_arguments
from longmind.memory.recall_tool_schema import RecallToolDefinition, validate_tool_definitions
from longmind.memory.recalled_text import format_recall
from longmind.models.recall import Recall
from longmind.providers.language_model import BoundTool, Tool


def make_recall_tools(
    recalls: Recalls, definitions: dict[str, Any] | Sequence[dict[str, Any]], arguments: Mapping[str, Any] | None
) -> list[BoundTool]:
    """Make the recall tools of definitions, bound to the memory of one user."""
    if arguments is not None and not isinstance(arguments, Mapping):
        raise InvalidInput(f"arguments must be a dict, not {type(arguments).__name__}.")
    given = {} if arguments is None else arguments
    return [_make_tool(recalls, definition, given) for definition in validate_tool_definitions(definitions)]


def _make_tool(recalls: Recalls, definition: RecallToolDefinition, arguments: Mapping[str, Any]) -> BoundTool:
    kind = ARGUMENTS_OF[definition.type]
    tool = Tool(definition.name, definition.description or kind.purpose, deepcopy(build_schema(kind)))
    return BoundTool(tool, RecallTool(definition, arguments, recalls))


@dataclass(frozen=True)
class RecallTool:
    """One recall tool, bound to a user's memory: called with the model's arguments, it returns text."""

    definition: RecallToolDefinition
    arguments: Mapping[str, Any] = field(repr=False)
    recalls: Recalls = field(repr=False)

    def __call__(self, chosen: dict[str, Any]) -> str:
        return format_recall(self.find(chosen))

    def find(self, chosen: dict[str, Any]) -> Recall:
        """Return the recall as a value, for callers that show more than text."""
        checked_arguments = validate_arguments(ARGUMENTS_OF[self.definition.type], chosen)
        return checked_arguments.recall(self.recalls, self._space_id())

    def _space_id(self) -> str:
        variable = self.definition.variable
        if variable is None:
            return self.definition.memory_space_id
        hint = "Pass it from the program that runs the agent; the model cannot."
        source = f"The tool {self.definition.name!r} takes its memory space from the argument {variable!r}"
        if variable not in self.arguments:
            raise InvalidInput(f"{source}, which was not passed.", hint=hint)
        space_id = self.arguments[variable]
        if not isinstance(space_id, str) or not space_id.strip():
            raise InvalidInput(f"{source}, which is not an id.", hint=hint)
        return space_id
