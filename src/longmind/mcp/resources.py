"""What an agent's host may read beside the tools: the skill, the user's memory blocks and spaces; and the brief."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_types import GetPromptResult, Prompt, PromptMessage, Resource, TextContent, TextResourceContents

from longmind.blocks.prompt_text import reminder_of
from longmind.context import Context
from longmind.tools.brief import as_prompt
from longmind.tools.skill_text import load_skill_text

BRIEF = Prompt(
    name="memory_brief",
    title="What is remembered",
    description="What earlier sessions have remembered, for the start of a new one.",
)
NOTHING_REMEMBERED = "Nothing is remembered yet."


@dataclass(frozen=True)
class Readable:
    """One resource, and how to read it."""

    resource: Resource
    read: Callable[[Context], str] = field(repr=False)

    def contents(self, context: Context) -> TextResourceContents:
        return TextResourceContents(uri=self.resource.uri, mime_type=self.resource.mime_type, text=self.read(context))


def _user_memory(context: Context) -> str:
    return context.blocks.user_memory(context.scope.agent_id) or NOTHING_REMEMBERED


def _archive(context: Context) -> str:
    lines = context.blocks.recall("", agent_id=context.scope.agent_id, limit=100)
    return reminder_of(lines) or NOTHING_REMEMBERED


def _spaces(context: Context) -> str:
    spaces = [*context.memory.list_memory_spaces(), *context.memory.list_shared_spaces()]
    told = [{"name": each.name, "id": each.id, "kind": each.kind, "facts": each.atom_count} for each in spaces]
    return json.dumps(told, ensure_ascii=False, indent=1)


_READABLE = (
    Readable(
        Resource(
            uri="longmind://skill",
            name="skill",
            title="How to use memory",
            description="When to remember something, when not to, and how to take what is found. Read it once.",
            mime_type="text/markdown",
        ),
        lambda context: load_skill_text(),
    ),
    Readable(
        Resource(
            uri="longmind://memory/core",
            name="core_memory",
            title="Core memory",
            description="What update_memory keeps for every prompt, ready to be put into one.",
            mime_type="text/plain",
        ),
        _user_memory,
    ),
    Readable(
        Resource(
            uri="longmind://memory/archival",
            name="archival_memory",
            title="Archival memory",
            description="The lines that update_memory keeps apart from the prompt.",
            mime_type="text/plain",
        ),
        _archive,
    ),
    Readable(
        Resource(
            uri="longmind://spaces",
            name="spaces",
            title="Memory spaces",
            description="The names of the memory spaces that the recall tools can look in.",
            mime_type="application/json",
        ),
        _spaces,
    ),
)
READABLE: dict[str, Readable] = {each.resource.uri: each for each in _READABLE}


def brief(context: Context) -> GetPromptResult:
    """The brief as a message, worded by the tools so that memories read as suggestions."""
    # Not `session_brief`, which is empty when memory cannot be reached: a user who asks is told so.
    text = as_prompt(context.tools.memory_brief()) or NOTHING_REMEMBERED
    return GetPromptResult(
        description=BRIEF.description, messages=[PromptMessage(role="user", content=TextContent(text=text))]
    )
