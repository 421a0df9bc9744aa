"""JSON lines: the notation that Longmind exports, and the plain ones that people write themselves.

A line is a conversation (`{"messages": [{"role", "content"}, …]}`), a message (`{"role", "content"}`), or a fact: an
object with `text`, or a text alone. Lines of all kinds may be mixed. Messages without a conversation around them are
one conversation, named after the file.

Ids are kept where there are some; else the words identify a fact, and the first message a conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from longmind.clock import Micros
from longmind.interchange.readers.chat_content import parse_role, read_mapping, read_text
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
from longmind.interchange.source_files import SourceFiles, SourcePart
from longmind.models.atom import AtomKind, Trust

_KINDS, _TRUSTS = get_args(AtomKind), get_args(Trust)
_TEXT_FIELDS = ("text", "memory", "fact", "content")
_FACT_FIELDS = frozenset(
    "type id text memory fact content category kind created_at createdAt timestamp date valid_from valid_to importance"
    " confidence trust tags metadata superseded_at".split()
)


def _is_item(value: Any) -> bool:
    """Return whether a value is a line that can be read."""
    if isinstance(value, str):
        return True
    if not isinstance(value, Mapping):
        return False
    return (
        _is_conversation(value) or _is_message(value) or any(isinstance(value.get(name), str) for name in _TEXT_FIELDS)
    )


def _is_conversation(value: Mapping[str, Any]) -> bool:
    """Return whether an object has messages."""
    return isinstance(value.get("messages"), list)


def _is_message(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a message."""
    return "content" in value and parse_role(value.get("role")) is not None


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the records of all files."""
    for part in source.parts:
        yield from _read_part(part)


def _read_part(part: SourcePart) -> Iterator[ForeignRecord]:
    """Yield the records of one file."""
    single: list[Mapping[str, Any]] = []
    for item in part.read_values():
        if isinstance(item.value, str):
            yield from _read_fact({"text": item.value}, item.place)
        elif not isinstance(item.value, Mapping):
            yield Omission("Neither an object nor a text", item.place)
        elif _is_conversation(item.value):
            yield from _read_conversation(item.value, item.place, None)
        elif _is_message(item.value):
            single.append(item.value)
        else:
            yield from _read_fact(item.value, item.place)
    if single:
        # At the end, since they may stand between other lines.
        # Messages line by line are one conversation, which may grow: the name of the file identifies it.
        yield from _read_conversation({"messages": single}, part.name, part.name)


def _read_conversation(value: Mapping[str, Any], place: str, name: str | None) -> Iterator[ForeignRecord]:
    """Yield a conversation, under its own id or a given name."""
    keys, messages, other = MessageKeys(), [], 0
    for each in value["messages"]:
        made = _read_message(each, keys) if isinstance(each, Mapping) else None
        if made is None:
            other += 1
        else:
            messages.append(made)
    if other:
        yield Omission("Messages without a known role or without content", place, other)
    if not messages:
        yield Omission("A conversation without messages", place)
        return
    key = value.get("id") or name
    yield ForeignConversation(
        # The first message stays the same when a conversation grows.
        id=str(key) if key else make_key(messages[0].id),
        messages=tuple(messages),
        title=clean_text(value.get("title")) or None,
        at=_find_time(value) or messages[0].at,
        metadata=read_mapping(value.get("metadata")),
    )


def _read_message(message: Mapping[str, Any], keys: MessageKeys) -> ForeignMessage | None:
    """Return a message; None if it lacks a known role or content."""
    role, at = parse_role(message.get("role")), _find_time(message)
    content = _keep_blocks(message.get("content"))
    if role is None or not content:
        return None
    model = message.get("model")
    key = str(message.get("id") or keys.make(role, content, at))
    return ForeignMessage(key, role, content, at, model if isinstance(model, str) else None)


def _keep_blocks(content: Any) -> str | list[dict[str, Any]]:
    """Return content as it is if it consists of our own blocks, and else its text."""
    if isinstance(content, list) and content and all(isinstance(each, Mapping) for each in content):
        kinds = {each.get("type") for each in content}
        if kinds & {"tool_use", "tool_result", "image"} and all(map(_is_own_block, content)):
            return [dict(each) for each in content]
    return read_text(content)


def _is_own_block(block: Mapping[str, Any]) -> bool:
    """Return whether a content block has exactly the fields of one of ours."""
    match block.get("type"):
        case "text":
            return block.keys() == {"type", "text"}
        case "image":
            return block.keys() == {"type", "url", "mimeType"}
        case "tool_use":
            return block.keys() == {"type", "id", "name", "arguments"}
        case "tool_result":
            return {"type", "toolUseId", "content"} <= block.keys() <= {"type", "toolUseId", "content", "isError"}
        case _:
            return False


def _read_fact(value: Mapping[str, Any], place: str) -> Iterator[ForeignRecord]:
    """Yield the fact of a line. Fields with values out of bounds have their defaults."""
    text = next((clean_text(value[name]) for name in _TEXT_FIELDS if isinstance(value.get(name), str)), "")
    if not text:
        yield Omission("A line with neither `text` nor `messages`", place)
        return
    category: Any = value.get("category")
    kind = value.get("kind")
    if isinstance(category, Mapping):
        category, kind = category.get("name"), category.get("kind")
    importance, confidence, trust = value.get("importance"), value.get("confidence"), value.get("trust")
    others = {name: each for name, each in value.items() if name not in _FACT_FIELDS}
    yield ForeignFact(
        id=str(value.get("id") or make_key(text)),
        text=text,
        category=clean_text(category) or "note",
        # Patterns rest on the counted episodes of a space, so elsewhere one is a fact.
        kind=kind if kind in _KINDS and kind != "PATTERN" else "FACT",  # type: ignore[arg-type]  # it is one of the known
        at=_find_time(value),
        valid_from=parse_time(value.get("valid_from")),
        valid_to=parse_time(value.get("valid_to")),
        importance=importance if isinstance(importance, int) and 1 <= importance <= 5 else 3,
        confidence=float(confidence) if isinstance(confidence, int | float) and 0 <= confidence <= 1 else 1.0,
        trust=trust if trust in _TRUSTS else "app",  # type: ignore[arg-type]  # it is one of the known
        tags=tuple(each for each in value.get("tags") or [] if isinstance(each, str) and each.strip()),
        metadata={**others, **read_mapping(value.get("metadata"))},
    )


def _find_time(value: Mapping[str, Any]) -> Micros | None:
    """Return the time of an object by the first of the names that it has."""
    for name in ("created_at", "createdAt", "timestamp", "date"):
        if (at := parse_time(value.get(name))) is not None:
            return at
    return None


JSONL = Format(
    name="jsonl",
    product="JSON lines",
    files=("*.jsonl", "*.ndjson", "*.json"),
    expected='lines with "messages", with "role" and "content", or with "text"',
    is_item=_is_item,
    read=_read,
)
