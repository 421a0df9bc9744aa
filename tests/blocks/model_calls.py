"""Shorthand for what a model and a user do."""

from __future__ import annotations

from typing import Any

import longmind
from longmind.providers.language_model import BoundTool


def tools(context: longmind.Context, agent_id: str | None = None) -> dict[str, BoundTool]:
    return {bound.tool.name: bound for bound in context.blocks.tools(agent_id)}


def update_memory(context: longmind.Context, agent_id: str | None = None, **given: Any) -> str:
    return tools(context, agent_id)["update_memory"].run({"block_type": "core", **given})


def recall_memory(context: longmind.Context, agent_id: str | None = None, **given: Any) -> str:
    return tools(context, agent_id)["recall_memory"].run(given)


def talk(context: longmind.Context, *said: str, close: bool = False, **named: Any) -> longmind.Conversation:
    """A conversation in which the user says something and the assistant answers nothing of note."""
    conversation = context.conversations.create_conversation("chat")
    for text in said:
        context.conversations.append_turn(conversation.id, user_content=text, assistant={"content": "I see."}, **named)
    return context.conversations.close_conversation(conversation.id) if close else conversation


def core(context: longmind.Context, agent_id: str | None = None) -> list[str]:
    block = context.blocks.get("core", agent_id=agent_id)
    return block.entries if block else []


def archival(context: longmind.Context, agent_id: str | None = None) -> list[str]:
    block = context.blocks.get("archival", agent_id=agent_id)
    return block.entries if block else []
