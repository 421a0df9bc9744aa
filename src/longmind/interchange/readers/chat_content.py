"""Content of messages in the notations of OpenAI, Anthropic and LangChain, as content blocks of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longmind.interchange.records import clean_text
from longmind.models.message import Role

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessage": "assistant",
    "humanmessage": "user",
    "bot": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def parse_role(value: object) -> Role | None:
    """Return the role that a product's word for it means; None for an unknown one."""
    return _ROLES.get(value.strip().lower()) if isinstance(value, str) else None


def read_text(content: object) -> str:
    """Return the text of content: a text, or a list of texts and of blocks, of which the texts count."""
    if isinstance(content, str):
        return clean_text(content)
    if isinstance(content, Mapping):
        return clean_text(content.get("text"))
    if isinstance(content, list):
        return "\n".join(text for text in map(_read_block, content) if text)
    return ""


def read_mapping(value: object) -> Mapping[str, Any]:
    """Return a value that should be an object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _read_block(block: Any) -> str:
    """Return the text of one block; empty for images, thoughts and calls of tools."""
    if isinstance(block, str):
        return clean_text(block)
    if isinstance(block, Mapping) and block.get("type", "text") in ("text", "input_text", "output_text"):
        return clean_text(block.get("text"))
    return ""
