"""Zep: answers of its API, saved as JSON: threads with their messages, edges (facts), nodes and episodes.

Zep exports no file, so all that its client returns is read: one object or a list, in one file or several. An edge is a
fact with both of its times; one that was superseded has ended. A thread may be spread over pages and over messages that
name it, so messages are gathered, and threads come last.
"""

from __future__ import annotations

from collections import defaultdict
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

_LISTS = ("threads", "sessions", "edges", "facts", "relevant_facts", "nodes", "episodes", "messages")


def _is_fact(value: Any) -> bool:
    """Return whether a value is an edge of the graph, or a fact of the older API."""
    return isinstance(value, Mapping) and isinstance(value.get("fact"), str)


def _is_node(value: Any) -> bool:
    """Return whether a value is a node of the graph."""
    return isinstance(value, Mapping) and isinstance(value.get("summary"), str) and isinstance(value.get("name"), str)


def _is_thread(value: Any) -> bool:
    """Return whether a value is a thread with its messages."""
    return isinstance(value, Mapping) and isinstance(value.get("messages"), list) and _find_thread_id(value) is not None


def _is_message(value: Any) -> bool:
    """Return whether a value is a message, or an episode made of one."""
    known = isinstance(value, Mapping) and isinstance(value.get("content"), str) and "uuid" in value
    return known and bool(parse_role(value.get("role_type")) or parse_role(value.get("role")) or "source" in value)


def _is_item(value: Any) -> bool:
    """Return whether a value is one that the API returns."""
    if not isinstance(value, Mapping):
        return False
    if _is_fact(value) or _is_thread(value) or _is_message(value):
        return True
    if "uuid" in value and _is_node(value) and "chat_messages" not in value:
        return True
    inner = [value[name] for name in _LISTS if isinstance(value.get(name), list)]
    return any(_is_item(members[0]) or _is_node(members[0]) for members in inner if members)


def _find_thread_id(value: Mapping[str, Any]) -> str | None:
    """Return the id of a thread, under any of the names of its versions."""
    found = (value.get(name) for name in ("thread_id", "session_id", "thread_uuid", "uuid"))
    return next((each for each in found if isinstance(each, str) and each), None)


class _ZepReader:
    """Gathers the messages of threads, which Zep lists one page after another."""

    def __init__(self) -> None:
        self._messages: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self._threads: dict[str, Mapping[str, Any]] = {}

    def read(self, source: SourceFiles) -> Iterator[ForeignRecord]:
        """Yield facts as they come, and conversations at the end."""
        for part in source.parts:
            for item in part.read_values():
                yield from self._read_value(item.value, item.place, part.name.rpartition(".")[0])
        for thread_id, messages in self._messages.items():
            yield self._make_conversation(thread_id, messages)

    def _read_value(self, value: Any, place: str, default_thread: str) -> Iterator[ForeignRecord]:
        """Yield the records of a value, which may be a list of others."""
        if not isinstance(value, Mapping):
            yield Omission("No object", place)
        elif _is_fact(value):
            yield _read_fact(value)
        elif _is_message(value):
            yield from self._keep_message(value, _find_message_thread(value) or default_thread)
        # Before the nodes: an answer may have a name and a summary of its own.
        elif any(isinstance(value.get(name), list) for name in _LISTS):
            yield from self._read_lists(value, place, default_thread)
        elif _is_node(value):
            yield _read_node(value)
        else:
            yield Omission("Neither a message, nor a fact, nor a node", place)

    def _read_lists(self, value: Mapping[str, Any], place: str, default_thread: str) -> Iterator[ForeignRecord]:
        """Yield the records of the lists in an answer."""
        thread = _find_thread_id(value) or default_thread
        if isinstance(value.get("messages"), list):
            self._threads[thread] = value
        for name in _LISTS:
            for member in value.get(name) or []:
                yield from self._read_value(member, place, thread)

    def _keep_message(self, message: Mapping[str, Any], thread: str) -> Iterator[ForeignRecord]:
        """Keep a message for its thread; yield what is none."""
        if message.get("source") not in (None, "message"):
            yield Omission("A document or JSON that was added to the graph; its facts are imported", message["uuid"])
        else:
            self._messages[thread].append(message)

    def _make_conversation(self, thread_id: str, messages: list[Mapping[str, Any]]) -> ForeignRecord:
        """Return the messages of a thread in the order of their times."""
        thread = self._threads.get(thread_id, {})
        keys, made = MessageKeys(), []
        # Pages come newest first or oldest first, so the times decide; equal ones keep their order.
        for each in sorted(messages, key=lambda each: parse_time(_get_time(each)) or 0):
            text, at = read_text(each["content"]), parse_time(_get_time(each))
            role = parse_role(each.get("role_type")) or parse_role(each.get("role"))
            if text and role in ("user", "assistant"):
                made.append(ForeignMessage(str(each.get("uuid") or keys.make(role, text, at)), role, text, at))
        if not made:
            return Omission("A thread without messages of the user or the assistant", thread_id)
        owner = thread.get("user_id") or messages[0].get("user_id")
        return ForeignConversation(
            id=thread_id,
            messages=tuple(made),
            at=parse_time(thread.get("created_at")),
            owners=(owner,) if isinstance(owner, str) else (),
        )


def _find_message_thread(message: Mapping[str, Any]) -> str | None:
    """Return the id of the thread of a message, if it names one."""
    found = (message.get(name) for name in ("thread_uuid", "thread_id", "session_id"))
    return next((each for each in found if isinstance(each, str) and each), None)


def _get_time(message: Mapping[str, Any]) -> object:
    return message.get("reference_time") or message.get("created_at")


def _read_fact(edge: Mapping[str, Any]) -> ForeignRecord:
    """Return an edge as a fact, with the time in which it is true."""
    text = clean_text(edge["fact"])
    if not text:
        return Omission("A fact without text", str(edge.get("uuid")))
    relation = edge.get("name") if isinstance(edge.get("name"), str) else None
    # Facts of the graph of a user name the user; those of other graphs are nobody's.
    owner = edge.get("user_uuid") or edge.get("user_id")
    return ForeignFact(
        id=str(edge.get("uuid") or make_key(text)),
        text=text,
        category=(relation or "fact").lower(),
        at=parse_time(edge.get("created_at")),
        valid_from=parse_time(edge.get("valid_at")),
        valid_to=parse_time(edge.get("invalid_at")) or parse_time(edge.get("expired_at")),
        owners=(owner,) if isinstance(owner, str) else (),
        metadata={
            name: edge[name]
            for name in (
                "name",
                "source_node_name",
                "target_node_name",
                "source_node_uuid",
                "target_node_uuid",
                "rating",
            )
            if edge.get(name) is not None
        },
    )


def _read_node(node: Mapping[str, Any]) -> ForeignRecord:
    """Return the summary of a node as a fact."""
    name, summary = clean_text(node["name"]), clean_text(node["summary"])
    if not summary:
        return Omission("A node without a summary", name)
    labels = tuple(each for each in node.get("labels") or [] if isinstance(each, str))
    return ForeignFact(
        id=str(node.get("uuid") or make_key(name)),
        text=summary if name.lower() in summary.lower() else f"{name}: {summary}",
        category="summary",
        at=parse_time(node.get("created_at")),
        tags=labels,
        metadata={"name": name},
    )


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the records of all files."""
    return _ZepReader().read(source)


ZEP = Format(
    name="zep",
    product="Zep",
    files=("*.json", "*.jsonl"),
    expected='objects with "fact", with "messages" and a thread\'s id, or with lists called "edges" or "messages"',
    is_item=_is_item,
    read=_read,
)
