"""Letta: agent files (`.af`) of both schemas, and lists of archival passages from its API.

An agent file has the newest messages of its agents, and their memory blocks. A line of a block is a fact, since blocks
are lists of notes; archival memory is in no agent file. Each export numbers its ids from the start, so names and words
identify what is in a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from longmind.clock import Micros
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

_SAY = "send_message"
"""The tool by which agents of the older kinds answer; their own content is then a monologue."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def _is_passage(value: Any) -> bool:
    """Return whether a value is an archival passage."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("text"), str)
        and str(value.get("id")).startswith("passage-")
    )


def _is_agent(value: Any) -> bool:
    """Return whether a value is an agent of the older schema."""
    return isinstance(value, Mapping) and isinstance(value.get("messages"), list) and "agent_type" in value


def _is_item(value: Any) -> bool:
    """Return whether a value is an agent file or a passage."""
    if not isinstance(value, Mapping):
        return False
    is_file = isinstance(value.get("agents"), list) and isinstance(value.get("blocks"), list)
    return is_file or _is_agent(value) or _is_passage(value)


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the records of all files."""
    for part in source.parts:
        for item in part.read_values():
            value = item.value
            if _is_passage(value):
                yield _read_passage(value)
            elif _is_agent(value):
                yield from _read_agent(value, part.name)
                for block in value.get("core_memory") or []:
                    yield from _read_block(block, str(value.get("name") or part.name))
            elif _is_item(value):
                yield from _read_file(value, part.name)
            else:
                yield Omission("Neither an agent nor a passage", item.place)


def _read_file(file: Mapping[str, Any], name: str) -> Iterator[ForeignRecord]:
    """Yield the agents and blocks of an agent file."""
    for agent in file["agents"]:
        yield from _read_agent(agent, str(agent.get("name") or agent.get("id") or name))
    # Blocks of the newer schema have no times of their own.
    exported = parse_time(file.get("created_at"))
    for block in file["blocks"]:
        yield from _read_block(block, name, exported)
    for noun in ("tools", "files", "sources", "mcp_servers", "groups"):
        if members := file.get(noun) or []:
            yield Omission(f"Letta's {noun.replace('_', ' ')} are no memory", name, len(members))


def _read_agent(agent: Mapping[str, Any], name: str) -> Iterator[ForeignRecord]:
    """Yield the messages of an agent as one conversation, which its name identifies."""
    messages = [each for each in agent.get("messages") or [] if isinstance(each, Mapping)]
    speaks_by_tool = any(_find_speech(each) for each in messages)
    keys, made, other = MessageKeys(), [], 0
    for each in messages:
        role, at = parse_role(each.get("role")), parse_time(each.get("created_at"))
        text = _read_message(each, role, speaks_by_tool=speaks_by_tool)
        if not text or role not in ("user", "assistant"):
            other += 1
            continue
        # The ids in an agent file are numbers of that file, so the content identifies a message.
        made.append(ForeignMessage(keys.make(role, text, at), role, text, at, each.get("model")))
    # Counted rather than listed: they are most of the file.
    if other:
        yield Omission("System messages, tool calls and results, heartbeats and monologues", name, other)
    if made:
        key = str(agent.get("name") or agent.get("id") or name)
        yield ForeignConversation(key, tuple(made), title=key, at=made[0].at, metadata={"agent": key})


def _read_message(message: Mapping[str, Any], role: str | None, *, speaks_by_tool: bool) -> str:
    """Return the words that were said with a message; empty for events and thoughts."""
    if role == "assistant":
        return _find_speech(message) if speaks_by_tool else read_text(message.get("content"))
    text = read_text(message.get("content"))
    return _unpack_user_text(text) if role == "user" else ""


def _find_speech(message: Mapping[str, Any]) -> str:
    """Return what an agent says by its tool."""
    said = []
    for call in message.get("tool_calls") or []:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping) and function.get("name") == _SAY:
            arguments = _parse_object(function.get("arguments"))
            said.append(clean_text(arguments.get("message")))
    return "\n".join(each for each in said if each)


def _unpack_user_text(text: str) -> str:
    """Return the words of a user's message, which Letta packs in JSON; empty for events such as heartbeats."""
    packed = _parse_object(text)
    if "type" not in packed:
        return text
    return clean_text(packed.get("message")) if packed["type"] == "user_message" else ""


def _parse_object(text: object) -> Mapping[str, Any]:
    """Return a JSON object that a text holds; an empty one for any other text."""
    if isinstance(text, Mapping):
        return text
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _read_block(block: Any, name: str, exported: Micros | None = None) -> Iterator[ForeignRecord]:
    """Yield the lines of a memory block as facts."""
    if not isinstance(block, Mapping) or not isinstance(block.get("value"), str):
        yield Omission("A block without a value", name)
        return
    label = clean_text(block.get("label")) or "block"
    at = parse_time(block.get("updated_at")) or parse_time(block.get("created_at")) or exported
    for line in block["value"].splitlines():
        text = clean_text(_BULLET.sub("", line))
        # Headings and rules arrange a block and state nothing.
        if text and not text.startswith("#") and any(character.isalnum() for character in text):
            yield ForeignFact(
                id=make_key(name, label, text),
                text=text,
                category=label,
                at=at,
                # Blocks are edited by the agent, which must not outrank its user.
                trust="assistant",
                metadata={"block": label},
            )


def _read_passage(passage: Mapping[str, Any]) -> ForeignRecord:
    """Return a passage as a fact."""
    text = clean_text(passage["text"])
    if not text:
        return Omission("A passage without text", str(passage["id"]))
    tags = tuple(each for each in passage.get("tags") or [] if isinstance(each, str))
    at = parse_time(passage.get("created_at"))
    return ForeignFact(str(passage["id"]), text, category="archival", at=at, trust="assistant", tags=tags)


LETTA = Format(
    name="letta",
    product="Letta",
    files=("*.af", "*.json"),
    expected='an agent file: an object with "agents" and "blocks", or with "agent_type", "core_memory" and "messages"',
    is_item=_is_item,
    read=_read,
)
