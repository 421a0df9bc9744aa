"""mem0: the answer of `get_all()`, of the open library and of the platform, or the list in it.

A memory is a fact without a time in which it is true: it holds since it was last written, and up to the end of its
expiration date. Its own id identifies it, so that a memory with another text supersedes its former version here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from longmind.clock import Micros
from longmind.interchange.readers.chat_content import read_mapping
from longmind.interchange.records import ForeignFact, ForeignRecord, Format, Omission, clean_text, make_key, parse_time
from longmind.interchange.source_files import SourceFiles
from longmind.models.atom import Trust

_OWNERS = ("user_id", "agent_id", "run_id", "app_id")
# Fields beside the metadata that say where a memory came from.
_KEPT = (*_OWNERS, "actor_id", "role", "attributed_to", "memory_type", "immutable")
_DAY = 24 * 3600 * 1_000_000


def _is_memory(value: Any) -> bool:
    """Return whether a value is a memory."""
    return isinstance(value, Mapping) and isinstance(value.get("memory"), str) and "id" in value


def _is_item(value: Any) -> bool:
    """Return whether a value is a memory, or a page of them."""
    if not isinstance(value, Mapping) or _is_memory(value):
        return _is_memory(value)
    inner = value.get("results")
    return isinstance(inner, list) and (all(map(_is_memory, inner[:3])) if inner else value.keys() <= _PAGE)


# An empty page has nothing else by which it could be recognised.
_PAGE = {"results", "count", "next", "previous", "relations"}


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the memories of all files."""
    for part in source.parts:
        for item in part.read_values():
            inner = item.value.get("results") if isinstance(item.value, Mapping) else None
            for memory in inner if isinstance(inner, list) else [item.value]:
                yield _read_memory(memory, item.place)
            relations = item.value.get("relations") if isinstance(item.value, Mapping) else None
            if relations:
                yield Omission("A relation of the graph, which the memories state as well", item.place, len(relations))


def _read_memory(memory: Any, place: str) -> ForeignRecord:
    """Return a memory as a fact."""
    if not _is_memory(memory):
        return Omission("A value without `id` or `memory`", place)
    text = clean_text(memory["memory"])
    if not text:
        return Omission("A memory without text", str(memory["id"]))
    metadata = read_mapping(memory.get("metadata"))
    categories = [each for each in memory.get("categories") or [] if isinstance(each, str)]
    named = metadata.get("category") if isinstance(metadata.get("category"), str) else None
    return ForeignFact(
        id=str(memory["id"] or make_key(text)),
        text=text,
        category=clean_text(named) or (categories[0] if categories else "memory"),
        at=parse_time(memory.get("created_at")),
        # A memory that was rewritten holds in its present words since then.
        valid_from=parse_time(memory.get("updated_at")),
        valid_to=_read_expiry(memory.get("expiration_date")),
        trust=_read_trust(memory),
        tags=tuple(categories),
        owners=_list_owners(memory),
        metadata={**metadata, **{name: memory[name] for name in _KEPT if memory.get(name) is not None}},
    )


def _list_owners(memory: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the owner of a memory: its user, or without one its agent or its run."""
    for name in _OWNERS:
        if memory.get(name) is not None:
            return (str(memory[name]),)
    return ()


def _read_trust(memory: Mapping[str, Any]) -> Trust:
    """Return `assistant` for a memory of an agent about itself, which must not outrank its user."""
    by_agent = memory.get("attributed_to", memory.get("role")) == "assistant"
    return "assistant" if by_agent or (memory.get("user_id") is None and memory.get("agent_id")) else "app"


def _read_expiry(value: object) -> Micros | None:
    """Return the end of the last day of a memory."""
    day = parse_time(value)
    return None if day is None else day + _DAY


MEM0 = Format(
    name="mem0",
    product="mem0",
    files=("*.json", "*.jsonl"),
    expected='a list of objects with "id" and "memory", or an object with such a list under "results"',
    is_item=_is_item,
    read=_read,
)
