"""The tools an agent is offered: those of a context, each with how it is shown and how it is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp_types import Tool, ToolAnnotations

from longmind.blocks.tools import BlockTool, describe_update_tool
from longmind.context import Context
from longmind.errors import InvalidInput
from longmind.mcp.recall_results import RecalledFacts, recalled_facts
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
    "description": "The name of the memory space to look in. Leave it out unless an error asks you to name one.",
}
_UPDATE = describe_update_tool("is not in prompts, and is read as the resource longmind://memory/archival")
_RECALLS: dict[str, ToolType] = {
    "recall_by_topic": "RECALL_BY_TOPIC",
    "recall_by_entity": "RECALL_BY_ENTITY",
    "recall_timeline": "RECALL_TIMELINE",
}
_ANSWERS: dict[str, type[Value]] = {
    "memory_store": StoredEntry,
    "memory_search": FoundEntries,
    "memory_brief": Brief,
    "memory_delete": DeletedEntry,
    **dict.fromkeys(_RECALLS, RecalledFacts),
}


def _reads(title: str) -> ToolAnnotations:
    return ToolAnnotations(
        title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )


def _writes(title: str, *, destructive: bool, idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        title=title,
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=False,
    )


_ANNOTATIONS: dict[str, ToolAnnotations] = {
    # What is superseded is kept as history, so that storing destroys nothing.
    "memory_store": _writes("Remember something", destructive=False, idempotent=False),
    "memory_search": _reads("Search what was remembered"),
    "memory_brief": _reads("Overview of what was remembered"),
    "memory_delete": _writes("Forget something for good", destructive=True, idempotent=True),
    "recall_by_topic": _reads("Recall what is known about a topic"),
    "recall_by_entity": _reads("Recall what is known about somebody or something"),
    "recall_timeline": _reads("Recall how things have changed"),
    "update_memory": _writes("Change the memory that is in every prompt", destructive=True, idempotent=False),
}


@dataclass(frozen=True)
class Answer:
    """What a tool says, as text for a model and, where it has a shape, as a value for a program."""

    text: str
    value: dict[str, Any] | None = None


@dataclass(frozen=True)
class Offered:
    """One tool of one context."""

    tool: Tool
    run: Callable[[dict[str, Any]], Answer] = field(repr=False)


def offered(context: Context, space: str | None = None) -> dict[str, Offered]:
    """The tools of a context by their names. `space` is where recall looks when the agent names no space."""
    update = next(each for each in context.blocks.tools(context.scope.agent_id) if each.tool.name == "update_memory")
    tools = [
        *(Offered(_shown(each), _in_json(each)) for each in context.tools.bound()),
        *(_recall(context, name, space) for name in _RECALLS),
        Offered(_shown(update).model_copy(update={"description": _UPDATE}), _in_words(update)),
    ]
    return {each.tool.name: each for each in tools}


def _shown(bound: BoundTool, **more: Any) -> Tool:
    name, parameters = bound.tool.name, bound.tool.parameters
    answer = _ANSWERS.get(name)
    return Tool(
        name=name,
        title=_ANNOTATIONS[name].title,
        description=bound.tool.description,
        input_schema={**parameters, "properties": {**parameters["properties"], **more}},
        # As it is read: what an answer may leave out is not required.
        output_schema=None if answer is None else answer.model_json_schema(mode="validation"),
        annotations=_ANNOTATIONS[name],
    )


def _in_json(bound: BoundTool) -> Callable[[dict[str, Any]], Answer]:
    def run(given: dict[str, Any]) -> Answer:
        text = bound.run(given)
        return Answer(text, json.loads(text))

    return run


def _in_words(bound: BoundTool) -> Callable[[dict[str, Any]], Answer]:
    tool = bound.run
    assert isinstance(tool, BlockTool)
    return lambda given: Answer(tool.attempt(given))


def _recall(context: Context, name: str, space: str | None) -> Offered:
    """A recall tool of the context, with one argument more: an agent knows spaces by name, if at all."""
    definition = {"type": _RECALLS[name], "name": name, "memorySpaceId": f"${SPACE}"}
    (bound,) = context.memory.agent_tools(definition)
    shown = _shown(bound, **{SPACE: _SPACE_SCHEMA})

    def run(given: dict[str, Any]) -> Answer:
        chosen = {argument: value for argument, value in given.items() if argument != SPACE}
        # Looked at first: what is wrong is wrong in any space.
        try:
            validate_arguments(ARGUMENTS_OF[_RECALLS[name]], chosen)
        except InvalidInput as error:
            raise InvalidInput(
                error.message, hint=f"The tool takes {', '.join(shown.input_schema['properties'])}."
            ) from None
        space_id = _space_id(context, given, space)
        if space_id is None:
            return Answer(NOTHING_FOUND, RecalledFacts(facts=[]).model_dump(mode="json"))
        (tool,) = context.memory.agent_tools(definition, {SPACE: space_id})
        assert isinstance(tool.run, RecallTool)
        recall = tool.run.find(chosen)
        return Answer(format_recall(recall), recalled_facts(recall).model_dump(mode="json"))

    return Offered(shown, run)


def _space_id(context: Context, given: dict[str, Any], space: str | None) -> str | None:
    named = given.get(SPACE, space)
    if named is None and SPACE not in given:
        found = find_default_space(context.memory, context.scope.group)
        return None if found is None else found.id
    if not isinstance(named, str) or not named.strip():
        raise InvalidInput("space is not a name.", hint="Give the name of a memory space, or leave it out.")
    return find_space(context.memory, named).id
