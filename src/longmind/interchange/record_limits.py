"""Records of other products within the limits of memory here: lengths, times, metadata.

What is too long is shortened where it is a name, a title or metadata. Texts are never cut: one that is too long is left
out, and the report says so. Two keys of metadata say where each record came from, `import_format` and `import_id`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from longmind.clock import Micros, to_iso
from longmind.conversations.conversation_archive import ArchivedConversation, ArchivedMessage
from longmind.interchange.records import ForeignConversation, ForeignFact, ForeignMessage, Format, clean_text
from longmind.memory.fact_archive import ArchivedFact
from longmind.validation.text import to_storable

_LONGEST_TITLE = 1_000
_LONGEST_NAME = 255
_MOST_TAGS = 1_000
_MOST_KEYS = 60
"""Keys of metadata that are kept, which leaves room for those of the import."""
_MOST_BYTES = 12 * 1024
_DEEPEST = 8


def to_archived_fact(fact: ForeignFact, format: Format, now: Micros) -> ArchivedFact:
    """Return a fact as it is stored here. A time that lies in the future is a wrong clock, and becomes now."""
    created = None if fact.at is None else min(fact.at, now)
    begins, ends = fact.valid_from, fact.valid_to
    if ends is not None and (begins if begins is not None else created if created is not None else now) >= ends:
        # Its beginning is unknown, or is the time when it was noted, after it had ended.
        begins = max(0, ends - 1)
    atom: dict[str, Any] = {
        "text": fact.text,
        "category": {"name": _shorten_name(fact.category) or "note", "kind": fact.kind},
        "importance": fact.importance,
        "confidence": fact.confidence,
        "tags": [tag for tag in map(_shorten_name, fact.tags[:_MOST_TAGS]) if tag],
        "origin": "import",
        "trust": fact.trust,
        "metadata": {**fit_metadata(fact.metadata), "import_format": format.name, "import_id": _shorten_name(fact.id)},
    }
    times = {"created_at": created, "valid_from": begins, "valid_to": ends}
    atom |= {name: to_iso(at) for name, at in times.items() if at is not None and at > 0}
    former = fact.id if fact.id.startswith("atom_") else None
    return ArchivedFact(f"import:{format.name}:{to_storable(fact.id)}", atom, former)


def to_archived_conversation(conversation: ForeignConversation, format: Format) -> ArchivedConversation:
    """Return a conversation as it is stored here."""
    title = clean_text(conversation.title)[:_LONGEST_TITLE]
    origin = {"import_format": format.name, "import_id": _shorten_name(conversation.id)}
    return ArchivedConversation(
        source=f"import:{format.name}:{conversation.id}",
        messages=[_to_archived_message(each) for each in conversation.messages],
        title=title or None,
        began_at=conversation.at,
        metadata={**fit_metadata(conversation.metadata), **origin},
        former_id=conversation.id if conversation.id.startswith("conv_") else None,
    )


def number_repeats(conversation: ForeignConversation) -> ForeignConversation:
    """Return a conversation in which no two messages have the same id: a repeated one gets a number."""
    seen: dict[str, int] = {}
    numbered = []
    for each in conversation.messages:
        count = seen[each.id] = seen.get(each.id, 0) + 1
        numbered.append(each if count == 1 else replace(each, id=f"{each.id}-{count}"))
    return replace(conversation, messages=tuple(numbered))


def _to_archived_message(message: ForeignMessage) -> ArchivedMessage:
    """Return a message as it is stored here."""
    model = _shorten_name(message.model) if message.model else None
    return ArchivedMessage(message.id, message.role, message.content, message.at, model or None)


def fit_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata within its limits: if there is too much, the largest values are left out."""
    clean = {clean_text(name)[:_LONGEST_NAME]: _clean_value(value, 0) for name, value in metadata.items()}
    sizes = {name: len(repr(value).encode("utf-8", "replace")) + len(name) for name, value in clean.items() if name}
    total = 0
    kept = set()
    # The small values first: there are many, and they are what filters ask for.
    for name in sorted(sizes, key=sizes.__getitem__)[:_MOST_KEYS]:
        total += sizes[name]
        if total <= _MOST_BYTES:
            kept.add(name)
    return {name: value for name, value in clean.items() if name in kept}


def _clean_value(value: Any, depth: int) -> Any:
    """Return a value of JSON with texts and numbers that can be stored."""
    if isinstance(value, str):
        return to_storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bool | int | float | None):
        return value
    if depth >= _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {to_storable(str(name)): _clean_value(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_value(each, depth + 1) for each in value]
    return to_storable(str(value))


def _shorten_name(name: str) -> str:
    """Return a name within the length of a label."""
    return clean_text(name)[:_LONGEST_NAME].strip()
