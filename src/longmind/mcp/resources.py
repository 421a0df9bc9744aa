"""Resources and the prompt that a host may read: the skill, the user's memory blocks, the spaces, and the brief."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_types import GetPromptResult, Prompt, PromptMessage, Resource, TextContent, TextResourceContents

from longmind.blocks.prompt_text import build_reminder
from longmind.context import Context
from longmind.tools.memory_brief import as_prompt
from longmind.tools.skill_text import load_skill_text

BRIEF = Prompt(
    name="memory_brief",
    title="Memory brief",
    description="An overview of what earlier sessions remembered, for the start of a new session.",
)
NOTHING_REMEMBERED = "Nothing is remembered yet."


@dataclass(frozen=True)
class ReadableResource:
    """A resource, and the function that reads it. Reading uses the database: call it in a thread."""

    resource: Resource
    read: Callable[[Context], str] = field(repr=False)

    def read_contents(self, context: Context) -> TextResourceContents:
        """Read the resource for a user."""
        return TextResourceContents(uri=self.resource.uri, mime_type=self.resource.mime_type, text=self.read(context))


def _read_core_memory(context: Context) -> str:
    return context.blocks.user_memory(context.scope.agent_id) or NOTHING_REMEMBERED


def _read_archive(context: Context) -> str:
    lines = context.blocks.recall("", agent_id=context.scope.agent_id, limit=100)
    return build_reminder(lines) or NOTHING_REMEMBERED


def _list_spaces(context: Context) -> str:
    spaces = [*context.memory.list_memory_spaces(), *context.memory.list_shared_spaces()]
    rows = [{"name": each.name, "id": each.id, "kind": each.kind, "facts": each.atom_count} for each in spaces]
    return json.dumps(rows, ensure_ascii=False, indent=1)


_ALL = (
    ReadableResource(
        Resource(
            uri="longmind://skill",
            name="skill",
            title="How to use memory",
            description="Rules for storing and using memories. Read them once.",
            mime_type="text/markdown",
        ),
        lambda context: load_skill_text(),
    ),
    ReadableResource(
        Resource(
            uri="longmind://memory/core",
            name="core_memory",
            title="Core memory",
            description="The memory that update_memory keeps for every prompt, formatted for a prompt.",
            mime_type="text/plain",
        ),
        _read_core_memory,
    ),
    ReadableResource(
        Resource(
            uri="longmind://memory/archival",
            name="archival_memory",
            title="Archival memory",
            description="The lines that update_memory keeps outside the prompt.",
            mime_type="text/plain",
        ),
        _read_archive,
    ),
    ReadableResource(
        Resource(
            uri="longmind://spaces",
            name="spaces",
            title="Memory spaces",
            description="The names of the memory spaces that the recall tools can search.",
            mime_type="application/json",
        ),
        _list_spaces,
    ),
)
RESOURCES: dict[str, ReadableResource] = {each.resource.uri: each for each in _ALL}


def make_brief(context: Context) -> GetPromptResult:
    """Return the brief as a prompt. Its wording presents memories as suggestions, not as commands."""
    # `session_brief` would be empty if memory cannot be reached; a user who asks for the brief should see the error.
    text = as_prompt(context.tools.memory_brief().entries) or NOTHING_REMEMBERED
    return GetPromptResult(
        description=BRIEF.description, messages=[PromptMessage(role="user", content=TextContent(text=text))]
    )
