"""The reference memory server of MCP: `memory.jsonl`, a graph of entities and relations without times.

An observation is often half a sentence about its entity, such as "Speaks French": the name of the entity goes in front,
so that it can be understood by itself. A relation is a statement with its verb in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from longmind.interchange.records import ForeignFact, ForeignRecord, Format, Omission, clean_text, make_key
from longmind.interchange.source_files import SourceFiles


def _is_item(value: Any) -> bool:
    """Return whether a value is an entity or a relation."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    return (kind == "entity" and "entityType" in value) or (kind == "relation" and "relationType" in value)


def _read(source: SourceFiles) -> Iterator[ForeignRecord]:
    """Yield the facts of the graph."""
    for part in source.parts:
        for item in part.read_values():
            if not _is_item(item.value):
                yield Omission("Neither an entity nor a relation", item.place)
            elif item.value["type"] == "entity":
                yield from _read_entity(item.value, item.place)
            else:
                yield _read_relation(item.value, item.place)


def _read_entity(entity: Mapping[str, Any], place: str) -> Iterator[ForeignRecord]:
    """Yield the observations of an entity as facts."""
    name, kind = clean_text(entity.get("name")), clean_text(entity.get("entityType"))
    observations = entity.get("observations") if isinstance(entity.get("observations"), list) else []
    if not name or not observations:
        yield Omission("An entity without observations", name or place)
    for observation in observations or []:
        words = clean_text(observation)
        if not words:
            yield Omission("An observation without text", name or place)
        else:
            yield _make_fact(_name_subject(name, words), kind or "entity", (name, words), {"entity": name})


def _name_subject(name: str, words: str) -> str:
    """Return an observation that can be understood by itself."""
    # Names are written with underscores where people write spaces.
    plain = name.replace("_", " ").lower()
    known = words.lower().replace("_", " ")
    return words if not name or plain in known else f"{name.replace('_', ' ')}: {words}"


def _read_relation(relation: Mapping[str, Any], place: str) -> ForeignRecord:
    """Return a relation as a statement."""
    first, verb, second = (clean_text(relation.get(name)) for name in ("from", "relationType", "to"))
    if not (first and verb and second):
        return Omission("A relation without `from`, `relationType` or `to`", place)
    text = f"{first} {verb} {second}".replace("_", " ")
    return _make_fact(text, "relation", (first, verb, second), {"from": first, "relation": verb, "to": second})


def _make_fact(text: str, category: str, identity: tuple[str, ...], metadata: dict[str, Any]) -> ForeignFact:
    """Return a fact whose words identify it, since the graph has no ids."""
    # An agent wrote the graph, so it must not outrank what the user says.
    return ForeignFact(make_key(*identity), text, category=category.lower(), trust="assistant", metadata=metadata)


MCP_MEMORY = Format(
    name="mcp-memory",
    product="the MCP memory server",
    files=("memory*.jsonl", "memory*.json"),
    expected='JSON lines with "type": "entity" and "entityType", or "type": "relation" and "relationType"',
    is_item=_is_item,
    read=_read,
)
