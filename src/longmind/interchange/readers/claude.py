"""Claude: `conversations.json` of a data export, and `memories.json`, what Claude has noted about the user.

Conversations are lists of messages; newer exports also name the parent of each, since questions can be edited. The
notes are a text with headings, rewritten by Claude every day: each paragraph is a fact of the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from longmind.interchange.readers.chat_content import parse_role, read_text
from longmind.interchange.records import (
    ForeignConversation,
    ForeignFact,
    ForeignMessage,
    ForeignRecord,
    Format,
    MessageKeys,
    Omission,
    clean_text,
    make_key,
    parse_time,
)
from longmind.interchange.source_files import SourceFiles

_HEADING = re.compile(r"^(?:#+\s+(?P<marks>.+?)|\*\*(?P<bold>[^*]+)\*\*):?$")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def _is_conversation(value: Any) -> bool:
    """Return whether a value is a conversation of Claude."""
    return isinstance(value, Mapping) and isinstance(value.get("chat_messages"), list)


def _is_notes(value: Any) -> bool:
    """Return whether a value is what Claude has noted about the user."""
    return isinstance(value, Mapping) and ("conversations_memory" in value or "project_memories" in value)


def _is_item(value: Any) -> bool:
    """Return whether a value is one that an export of Claude begins with."""
    return _is_conversation(value) or _is_notes(value)


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the conversations and notes of all files."""
    for part in source.parts:
        for item in part.read_values():
            if _is_conversation(item.value):
                yield from _read_conversation(item.value, item.place)
            elif _is_notes(item.value):
                yield from _read_notes(item.value)
            else:
                yield Omission("No conversation: it lacks `chat_messages`", item.place)


def _read_conversation(conversation: Mapping[str, Any], place: str) -> Iterator[ForeignRecord]:
    """Yield a conversation and what stays out of it."""
    keys, messages, other = MessageKeys(), [], 0
    for each in _choose_branch(conversation):
        role, at = parse_role(each.get("sender")), parse_time(each.get("created_at"))
        # `text` is the whole of older exports; newer ones repeat it in blocks, next to thoughts and calls of tools.
        text = read_text(each.get("content")) or read_text(each.get("text"))
        if not text or role not in ("user", "assistant"):
            other += 1
            continue
        messages.append(ForeignMessage(str(each.get("uuid") or keys.make(role, text, at)), role, text, at))
    title = clean_text(conversation.get("name")) or None
    if other:
        yield Omission("Messages without a text, such as calls of tools and attachments alone", title or place, other)
    if attached := sum(len(each.get("attachments") or []) for each in conversation["chat_messages"]):
        yield Omission("Attached files", title or place, attached)
    key = str(conversation.get("uuid") or place)
    if not messages:
        yield Omission("A conversation without a message of the user or the assistant", title or key)
        return
    at = parse_time(conversation.get("created_at")) or messages[0].at
    yield ForeignConversation(key, tuple(messages), title=title, at=at)


def _choose_branch(conversation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages that the user last saw: where they name their parents, those up from the newest one."""
    messages = [each for each in conversation["chat_messages"] if isinstance(each, Mapping)]
    by_id = {each["uuid"]: each for each in messages if isinstance(each.get("uuid"), str)}
    leaf = conversation.get("current_leaf_message_uuid")
    if not any("parent_message_uuid" in each for each in messages) or (leaf is None and not messages):
        return messages
    current: Mapping[str, Any] | None = by_id.get(str(leaf)) or messages[-1]
    branch: list[Mapping[str, Any]] = []
    while current is not None and len(branch) < len(messages):
        branch.append(current)
        current = by_id.get(str(current.get("parent_message_uuid")))
    branch.reverse()
    # A chain that breaks off names parents that are not in the file.
    return branch if len(branch) > 1 or len(messages) == 1 else messages


def _read_notes(notes: Mapping[str, Any]) -> Iterator[ForeignRecord]:
    """Yield the paragraphs of Claude's memory as facts. It is rewritten every day, so the words identify them."""
    texts = [("", notes.get("conversations_memory"))]
    projects = notes.get("project_memories")
    texts += list(projects.items()) if isinstance(projects, Mapping) else []
    for project, text in texts:
        heading = "memory"
        for line in text.splitlines() if isinstance(text, str) else []:
            stripped = line.strip()
            if found := _HEADING.match(stripped):
                heading = clean_text(found["marks"] or found["bold"]).strip("*: ") or heading
            elif words := clean_text(_BULLET.sub("", stripped)):
                metadata = {"project": project} if project else {}
                key = make_key(project, words)
                yield ForeignFact(key, words, category=heading.lower(), trust="assistant", metadata=metadata)


CLAUDE = Format(
    name="claude",
    product="Claude",
    files=("conversations*.json", "memories*.json"),
    expected='a list of conversations, each with "chat_messages"; it may be in the .zip of the export',
    is_item=_is_item,
    read=_read,
)
