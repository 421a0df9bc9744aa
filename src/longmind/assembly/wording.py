"""The words of facts and messages in a prompt: one line each, with date and source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from longmind.assembly.sanitiser import sanitise
from longmind.assembly.sections import Piece
from longmind.models.atom import Atom, Trust
from longmind.models.content import Block, ImageBlock, TextBlock, ToolUseBlock
from longmind.models.message import Message
from longmind.models.recall import Passage, QuotedMessage

_SOURCES: dict[Trust, str] = {
    "user": "user",
    "app": "from the application",
    "assistant": "said by the assistant, not confirmed by the user",
    "tool": "from a tool, not confirmed by the user",
}
_WEAK = "perhaps unrelated"
_ROLES = {"user": "User", "assistant": "Assistant", "system": "Application", "tool": "Tool"}


def make_atom_piece(atom: Atom, *, weak: bool = False, relevance: float | None = None) -> Piece:
    """Return a fact with the day it holds from, its end, and its source.

    weak: pass True to remark that it was recalled, but may have nothing to do with the question. relevance: the score
    of what was recalled.
    """
    category, date = _sanitise_category(atom.category.name), atom.valid_from[:10]
    until = atom.valid_to[:10] if atom.valid_to is not None else ""
    source = _SOURCES[atom.trust]
    remarks = (date, f"until {until}" if until else "", source, _WEAK if weak else "")
    about = "; ".join(filter(None, remarks))
    fields = {
        "text": sanitise(atom.text),
        "about": about,
        "category": category,
        "kind": atom.category.kind,
        "date": date,
        "until": until,
        "source": source,
    }
    return Piece(fields, atom=atom, weak=weak, relevance=relevance)


# Few categories have many atoms each.
@lru_cache(maxsize=1024)
def _sanitise_category(name: str) -> str:
    """Return the sanitised name of a category."""
    return sanitise(name)


def make_turns_piece(messages: Sequence[Message]) -> Piece:
    """Return turns as one piece, with one line per message; an empty message has none."""
    lines = []
    for message in messages:
        speaker, text = _name_speaker(message), sanitise(describe_message(message))
        if text:
            date = message.created_at[:16]
            lines.append(
                {"line": f"{speaker}: {text}", "who": speaker, "role": message.role, "date": date, "text": text}
            )
    return Piece({"messages": lines}, messages=tuple(messages))


def make_quote_piece(passage: Passage, message: QuotedMessage) -> Piece:
    """Return a message of a passage with the day on which it was said, and who said it."""
    date, speaker, text = message.said_at[:10], _ROLES[message.role], sanitise(message.text)
    remark = f" ({_WEAK})" if passage.weak else ""
    fields = {
        "line": f"{date}, {speaker}{remark}: {text}",
        "conversation": passage.conversation_id,
        "who": speaker,
        "role": message.role,
        "date": date,
        "text": text,
    }
    return Piece(fields, quoted=message, weak=passage.weak, relevance=passage.score)


def describe_message(message: Message) -> str:
    """Return what a message says in words, including images, calls and results."""
    content = message.content
    return _describe_block(content[0]) if len(content) == 1 else " ".join(_describe_block(block) for block in content)


def _name_speaker(message: Message) -> str:
    """Return the speaker of a message as prompts name it."""
    if message.role != "tool":
        return _ROLES[message.role]
    failed = ", which failed" if message.is_error else ""
    return f"Tool {sanitise(message.tool_name)}{failed}" if message.tool_name else f"Tool{failed}"


def _describe_block(block: Block) -> str:
    """Return what a block says in words."""
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ImageBlock):
        return f"[image {block.url}]" if len(block.url) <= _LONGEST_URL else "[image]"
    if isinstance(block, ToolUseBlock):
        return f"[calls {block.name} {json.dumps(block.arguments, ensure_ascii=False)}]"
    return block.content if isinstance(block.content, str) else " ".join(map(_describe_block, block.content))


_LONGEST_URL = 200
"""A longer address holds the image itself."""
