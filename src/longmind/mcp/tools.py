"""The nine tools of an agent: four memory tools, three recall tools, update_memory and recall_memory.

Tools belong to a context, so they are built for each request, by `build_tools`. Each one is a definition for the
protocol (`tool`) and a function (`run`) that takes the arguments of the model, in three kinds:

- The memory tools answer with JSON, which is both the text and the value.
- The recall tools take one more argument, the name of a memory space, because a model does not know ids. The arguments
  are validated before the space is looked up, so that the error about an argument is the same for every space.
- update_memory and recall_memory, which edit and search memory blocks, answer with text and have no value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp_types import Tool, ToolAnnotations

from longmind.blocks.tools import BlockTool
from longmind.context import Context
from longmind.errors import InvalidInput
from longmind.mcp.tool_results import RecalledFacts, ToolAnswer, to_recalled_facts
from longmind.memory.recall_tool_arguments import ARGUMENTS_OF, validate_arguments
from longmind.memory.recall_tool_schema import ToolType
from longmind.memory.recall_tools import RecallTool
from longmind.memory.recalled_text import NOTHING_FOUND, format_recall
from longmind.memory.space_lookup import find_default_space, find_space
from longmind.models.tool import Brief, DeletedEntry, FoundEntries, StoredEntry
from longmind.models.value import Value
from longmind.providers.language_model import BoundTool

SPACE = "space"
_SPACE_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": 255,
    "description": "The name of the memory space to search. Leave it out unless an error asks you to name one.",
}
_RECALLS: dict[str, ToolType] = {
    "recall_by_topic": "RECALL_BY_TOPIC",
    "recall_by_entity": "RECALL_BY_ENTITY",
    "recall_timeline": "RECALL_TIMELINE",
}
_VALUE_TYPES: dict[str, type[Value]] = {
    "memory_store": StoredEntry,
    "memory_search": FoundEntries,
    "memory_brief": Brief,
    "memory_delete": DeletedEntry,
    **dict.fromkeys(_RECALLS, RecalledFacts),
}


def _make_read_annotations(title: str) -> ToolAnnotations:
    return ToolAnnotations(
        title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )


def _make_write_annotations(title: str, *, destructive: bool, idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        title=title,
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=False,
    )


_ANNOTATIONS: dict[str, ToolAnnotations] = {
    # Superseded memories stay as history, so storing destroys nothing.
    "memory_store": _make_write_annotations("Remember something", destructive=False, idempotent=False),
    "memory_search": _make_read_annotations("Search memories"),
    "memory_brief": _make_read_annotations("Overview of memories"),
    "memory_delete": _make_write_annotations("Delete a memory for good", destructive=True, idempotent=True),
    "recall_by_topic": _make_read_annotations("Recall facts and quotes about a topic"),
    "recall_by_entity": _make_read_annotations("Recall facts about a person or thing"),
    "recall_timeline": _make_read_annotations("Recall how facts changed"),
    "update_memory": _make_write_annotations("Change the memory in every prompt", destructive=True, idempotent=False),
    "recall_memory": _make_read_annotations("Search archival memory"),
}


@dataclass(frozen=True)
class McpTool:
    """One tool of one context."""

    tool: Tool
    run: Callable[[dict[str, Any]], ToolAnswer] = field(repr=False)
    """Call the tool with the arguments of a model. It blocks, and raises LongmindError for invalid arguments."""


def build_tools(context: Context, space: str | None = None) -> dict[str, McpTool]:
    """Return the tools of a context by name.

    space: the memory space that recall tools search if the agent names none.
    """
    tools = [
        *(McpTool(_define_tool(each), _answer_with_json(each)) for each in context.tools.bound()),
        *(_build_recall_tool(context, name, space) for name in _RECALLS),
        *(McpTool(_define_tool(each), _answer_with_text(each)) for each in context.blocks.tools()),
    ]
    return {each.tool.name: each for each in tools}


def _define_tool(bound: BoundTool, **more: Any) -> Tool:
    """Return the definition of a tool; `more` are additional properties of its input schema."""
    name, parameters = bound.tool.name, bound.tool.parameters
    value_type = _VALUE_TYPES.get(name)
    return Tool(
        name=name,
        title=_ANNOTATIONS[name].title,
        description=bound.tool.description,
        input_schema={**parameters, "properties": {**parameters["properties"], **more}},
        # The schema for reading: it does not require fields that an answer may leave out.
        output_schema=None if value_type is None else value_type.model_json_schema(mode="validation"),
        annotations=_ANNOTATIONS[name],
    )


def _answer_with_json(bound: BoundTool) -> Callable[[dict[str, Any]], ToolAnswer]:
    """Return the function of a memory tool, whose text is the JSON of its value."""

    def run(arguments: dict[str, Any]) -> ToolAnswer:
        text = bound.run(arguments)
        return ToolAnswer(text, json.loads(text))

    return run


def _answer_with_text(bound: BoundTool) -> Callable[[dict[str, Any]], ToolAnswer]:
    """Return the function of a block tool. `attempt` raises errors, which `run` would turn into text."""
    tool = bound.run
    assert isinstance(tool, BlockTool)
    return lambda arguments: ToolAnswer(tool.attempt(arguments))


def _build_recall_tool(context: Context, name: str, space: str | None) -> McpTool:
    """Return a recall tool with the additional argument `space`.

    The tool is bound twice: here to a placeholder, for its definition, and in each call to the space that is meant.
    """
    definition = {"type": _RECALLS[name], "name": name, "memorySpaceId": f"${SPACE}"}
    (bound,) = context.memory.agent_tools(definition)
    tool = _define_tool(bound, **{SPACE: _SPACE_SCHEMA})

    def run(arguments: dict[str, Any]) -> ToolAnswer:
        # `space` is our own argument, which the recall tool does not know.
        own = {argument: value for argument, value in arguments.items() if argument != SPACE}
        try:
            validate_arguments(ARGUMENTS_OF[_RECALLS[name]], own)
        except InvalidInput as error:
            # The hint of the error does not know the additional argument.
            hint = f"The tool takes {', '.join(tool.input_schema['properties'])}."
            raise InvalidInput(error.message, hint=hint) from None
        space_id = _find_space(context, arguments, space)
        # A user without a space has learned nothing yet; that is an empty answer, not an error.
        if space_id is None:
            return ToolAnswer(NOTHING_FOUND, RecalledFacts(found=False, facts=[], passages=[]).model_dump(mode="json"))
        (bound,) = context.memory.agent_tools(definition, {SPACE: space_id})
        assert isinstance(bound.run, RecallTool)
        recall = bound.run.find(own)
        return ToolAnswer(format_recall(recall), to_recalled_facts(recall).model_dump(mode="json"))

    return McpTool(tool, run)


def _find_space(context: Context, arguments: dict[str, Any], default: str | None) -> str | None:
    """Return the id of the space that the arguments name, or of the default; None if the user has no space yet."""
    name = arguments.get(SPACE, default)
    if name is None and SPACE not in arguments:
        found = find_default_space(context.memory, context.scope.group)
        return None if found is None else found.id
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(
            "space must be a name that is not blank.", hint="Give the name of a memory space, or leave it out."
        )
    return find_space(context.memory, name).id
