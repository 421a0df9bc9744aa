"""LangGraph: the SQLite files of its store and its checkpointer, and items of a store saved as JSON.

The files are opened read-only. Of a thread, the messages of its newest checkpoint are read; earlier checkpoints say
when each message came, where there are few enough of them to look through. State that is encrypted or pickled is not
read. Any part of a namespace may be the user's id, so a store with several namespaces is imported for a chosen one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longmind.clock import Micros
from longmind.interchange.msgpack import decode_msgpack
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
    parse_time,
)
from longmind.interchange.source_files import SourceFiles, SourcePart
from longmind.store.langgraph_file import LangGraphFile

# The usual names of the text of an item, the most particular first.
_TEXT_FIELDS = ("text", "content", "memory", "data", "fact", "value", "summary", "description")
_LOOKED_THROUGH = 64 * 1024 * 1024
"""Bytes of the checkpoints of a thread up to which all of them are read for the times of messages."""


def _is_item(value: Any) -> bool:
    """Return whether a value is an item of a store."""
    return isinstance(value, Mapping) and "namespace" in value and "key" in value and "value" in value


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the records of databases and of JSON files."""
    for part in source.parts:
        if part.is_sqlite:
            yield from _read_database(part.path)
        else:
            yield from _read_items(part)


def _read_items(part: SourcePart) -> Iterator[ForeignRecord]:
    """Yield the items of a JSON file as facts."""
    for item in part.read_values():
        if not _is_item(item.value):
            yield Omission("No item of a store: it lacks `namespace`, `key` or `value`", item.place)
            continue
        namespace = item.value["namespace"]
        path = [str(each) for each in namespace] if isinstance(namespace, list) else str(namespace).split(".")
        yield _make_fact(path, str(item.value["key"]), item.value["value"], parse_time(item.value.get("created_at")))


def _read_database(path: Path) -> Iterator[ForeignRecord]:
    """Yield the items of the store and the threads of the checkpointer, if they are there."""
    with LangGraphFile(path) as file:
        tables = file.list_tables()
        if "store" in tables:
            yield from _read_store(file)
        if "checkpoints" in tables:
            for thread_id, size, newest in file.list_threads():
                every = (size or 0) <= _LOOKED_THROUGH
                yield from _read_thread(file, thread_id, newest, every=every, has_writes="writes" in tables)


def _read_store(file: LangGraphFile) -> Iterator[ForeignRecord]:
    """Yield the items of a store as facts, oldest first."""
    for prefix, key, value, created_at in file.list_items():
        try:
            decoded = json.loads(value)
        except (ValueError, TypeError, RecursionError):
            yield Omission("An item whose value is no JSON", f"{prefix}/{key}")
            continue
        yield _make_fact(str(prefix).split("."), str(key), decoded, parse_time(created_at))


def _make_fact(namespace: list[str], key: str, value: Any, at: Micros | None) -> ForeignRecord:
    """Return an item as a fact."""
    text = _find_text(value)
    if not text:
        return Omission("An item without a text", f"{'.'.join(namespace)}/{key}")
    prefix = ".".join(namespace)
    return ForeignFact(
        id=f"{prefix}/{key}",
        text=text,
        category=namespace[0] or "item",
        at=at,
        # Any part of a namespace may be the id of its user.
        owners=(prefix, *namespace) if len(namespace) > 1 else (prefix,),
        metadata={"namespace": prefix, "key": key},
    )


def _find_text(value: Any) -> str:
    """Return the text of an item: its text field, that of its only part, or else all of it as JSON."""
    if not isinstance(value, Mapping):
        return clean_text(value) if isinstance(value, str) else _write_json(value)
    for name in _TEXT_FIELDS:
        inner = value.get(name)
        if isinstance(inner, str) and inner.strip():
            return clean_text(inner)
        if isinstance(inner, Mapping):
            return _find_text(inner)
    return _write_json(value)


def _write_json(value: Any) -> str:
    """Return a value as JSON; empty for an empty value."""
    return clean_text(json.dumps(value, ensure_ascii=False)) if value else ""


def _read_thread(
    file: LangGraphFile, thread_id: object, newest: object, *, every: bool, has_writes: bool
) -> Iterator[ForeignRecord]:
    """Yield the conversation of a thread, and what stays out of it."""
    times: dict[str, Micros] = {}
    messages: list[Any] = []
    damaged = 0
    for kind, data in file.list_states(thread_id, newest, every=every):
        state = _decode(kind, data)
        if not isinstance(state, Mapping):
            damaged += 1
            continue
        values = state.get("channel_values")
        found = values.get("messages") if isinstance(values, Mapping) else None
        messages = found if isinstance(found, list) else messages
        at = parse_time(state.get("ts"))
        if isinstance(found, list) and at is not None:
            for each in found:
                times.setdefault(_find_id(each), at)
    if not messages and has_writes:
        # Channels that store only their changes have no value in the checkpoint.
        for kind, data in file.list_writes(thread_id):
            written = _decode(kind, data)
            messages += written if isinstance(written, list) else [written]
    if damaged:
        yield Omission("Checkpoints in an unknown notation", str(thread_id), damaged)
    yield from _make_conversation(str(thread_id), messages, times)


def _make_conversation(thread_id: str, messages: list[Any], times: Mapping[str, Micros]) -> Iterator[ForeignRecord]:
    """Yield a thread with the messages of its user and its assistant."""
    keys, made, other = MessageKeys(), [], 0
    for each in messages:
        fields = each.get("kwargs", each) if isinstance(each, Mapping) else {}
        role = parse_role(fields.get("type")) or parse_role(fields.get("role"))
        text = read_text(fields.get("content"))
        if role not in ("user", "assistant") or not text:
            other += 1
            continue
        key = fields.get("id")
        at = times.get(_find_id(each))
        made.append(
            ForeignMessage(key if isinstance(key, str) and key else keys.make(role, text, None), role, text, at)
        )
    if other:
        yield Omission("System messages, calls of tools and their results", thread_id, other)
    if made:
        yield ForeignConversation(thread_id, tuple(made), at=made[0].at, metadata={"thread_id": thread_id})
    else:
        yield Omission("A thread without messages of the user or the assistant", thread_id)


def _find_id(message: Any) -> str:
    """Return the id of a message; empty if it has none."""
    fields = message.get("kwargs", message) if isinstance(message, Mapping) else {}
    return str(fields.get("id") or "")


def _decode(kind: object, data: object) -> Any:
    """Return a stored value; None for one in a notation that is not read, such as an encrypted or a pickled one."""
    if not isinstance(data, bytes | str):
        return None
    try:
        if kind == "msgpack" and isinstance(data, bytes):
            return decode_msgpack(data)
        return json.loads(data) if kind in ("json", None) else None
    except (ValueError, RecursionError):
        return None


LANGGRAPH = Format(
    name="langgraph",
    product="LangGraph",
    files=("*.db", "*.sqlite", "*.sqlite3", "*.json", "*.jsonl"),
    expected='an SQLite file with the table "store" or "checkpoints", or JSON objects with "namespace", "key", "value"',
    is_item=_is_item,
    read=_read,
)
