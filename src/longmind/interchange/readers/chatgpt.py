"""ChatGPT: `conversations.json` of a data export, whose conversations are trees of messages.

Each edit of a question and each further answer begins a branch. The branch that leads to `current_node` is what the
user last saw, and is imported; the others are left out. Messages of tools, hidden ones and thoughts are left out too:
much of them was never said, and the reader must not learn from web pages. Large exports have several files,
`conversations-000` and so on, next to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from longmind.interchange.readers.chat_content import parse_role, read_mapping
from longmind.interchange.records import (
    ForeignConversation,
    ForeignMessage,
    ForeignRecord,
    Format,
    Omission,
    clean_text,
    parse_time,
)
from longmind.interchange.source_files import SourceFiles

_SPOKEN = ("text", "multimodal_text")


def _is_item(value: Any) -> bool:
    """Return whether a value is a conversation of ChatGPT."""
    return isinstance(value, Mapping) and isinstance(value.get("mapping"), Mapping)


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the conversations of all files."""
    for part in source.parts:
        for item in part.read_values():
            if _is_item(item.value):
                yield from _read_conversation(item.value, item.place)
            else:
                yield Omission("No conversation: it lacks `mapping`", item.place)


def _read_conversation(conversation: Mapping[str, Any], place: str) -> Iterator[ForeignRecord]:
    """Yield a conversation and what stays out of it."""
    mapping = conversation["mapping"]
    branch = _list_branch(mapping, conversation.get("current_node"))
    messages, other = [], 0
    for node_id in branch:
        message = mapping[node_id].get("message")
        if not isinstance(message, Mapping):
            continue
        made = _read_message(message, node_id)
        if made is None:
            other += 1
        else:
            messages.append(made)
    title = clean_text(conversation.get("title")) or None
    if other:
        yield Omission("Hidden messages, tool calls and results, images and thoughts", title or place, other)
    on_branch = set(branch)
    if aside := sum(1 for node_id, node in mapping.items() if node_id not in on_branch and _has_words(node)):
        yield Omission("Messages of branches that were edited away or answered again", title or place, aside)
    key = conversation.get("conversation_id") or conversation.get("id") or (branch[0] if branch else place)
    if not messages:
        yield Omission("A conversation without a message of the user or the assistant", title or str(key))
        return
    yield ForeignConversation(
        id=str(key),
        messages=tuple(messages),
        title=title,
        at=parse_time(conversation.get("create_time")) or messages[0].at,
        metadata={
            name: conversation[name]
            for name in ("gizmo_id", "default_model_slug", "conversation_template_id")
            if isinstance(conversation.get(name), str)
        },
    )


def _list_branch(mapping: Mapping[str, Any], leaf: object) -> list[str]:
    """Return the nodes from the root to the leaf that the user last saw; without one, to the newest message."""
    if leaf not in mapping:
        leaf = max(mapping, key=lambda node_id: _find_time(mapping[node_id]), default=None)
    branch: list[str] = []
    seen: set[object] = set()
    while isinstance(leaf, str) and leaf in mapping and leaf not in seen and isinstance(mapping[leaf], Mapping):
        seen.add(leaf)
        branch.append(leaf)
        leaf = mapping[leaf].get("parent")
    branch.reverse()
    return branch


def _find_time(node: Any) -> float:
    """Return the time of a node in seconds; 0 if it has none."""
    message = node.get("message") if isinstance(node, Mapping) else None
    time = message.get("create_time") if isinstance(message, Mapping) else None
    return time if isinstance(time, int | float) else 0.0


def _has_words(node: Any) -> bool:
    """Return whether a node is a message that would be imported."""
    message = node.get("message") if isinstance(node, Mapping) else None
    return isinstance(message, Mapping) and _read_message(message, "") is not None


def _read_message(message: Mapping[str, Any], node_id: str) -> ForeignMessage | None:
    """Return a message that the user wrote or read; None for all that happens behind the scenes."""
    author, content = message.get("author"), message.get("content")
    details = read_mapping(message.get("metadata"))
    role = parse_role(author.get("role")) if isinstance(author, Mapping) else None
    if role not in ("user", "assistant") or not isinstance(content, Mapping):
        return None
    # A call of a tool is a message of the assistant to somebody else.
    if details.get("is_visually_hidden_from_conversation") or message.get("recipient", "all") not in ("all", None):
        return None
    if content.get("content_type") not in _SPOKEN:
        return None
    text = "\n".join(part for part in map(_read_part, content.get("parts") or []) if part)
    if not text:
        return None
    model = details.get("model_slug")
    key = str(message.get("id") or node_id)
    return ForeignMessage(
        key, role, text, parse_time(message.get("create_time")), model if isinstance(model, str) else None
    )


def _read_part(part: Any) -> str:
    """Return the words of a part: a text, or the transcription of speech."""
    if isinstance(part, Mapping) and part.get("content_type") == "audio_transcription":
        return clean_text(part.get("text"))
    return clean_text(part)


CHATGPT = Format(
    name="chatgpt",
    product="ChatGPT",
    files=("conversations*.json",),
    expected='a list of conversations, each with "mapping" and "current_node"; it may be in the .zip of the export',
    is_item=_is_item,
    read=_read,
)
