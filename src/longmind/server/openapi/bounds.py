"""The limits that operations keep, as the description tells them: by the names of the fields that have them.

They are not checked here: the operation does that, and its answer says which limit it was.
"""

from __future__ import annotations

from typing import Any

from pydantic.alias_generators import to_snake

from longmind.blocks.service import LINES_LIMIT
from longmind.conversations.service import CYCLES_LIMIT
from longmind.conversations.validation import TITLE_LIMIT
from longmind.memory.recall import HITS_LIMIT
from longmind.memory.validation import NAME_LIMIT
from longmind.scope import IDENTITY_LIMIT
from longmind.validation.identifiers import READ_LIMIT

Schema = dict[str, Any]

_KEPT = {"pattern": r"^[^\u0000]*$"}
_SAID = {"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"}
_LABEL = {**_SAID, "maxLength": IDENTITY_LIMIT}
IN_HEADER = {
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
}
"""A text in a header: control characters are refused there, and some of them before they are read."""
_ID = {"pattern": "^[A-Za-z0-9_-]+$"}
_IDENTITY = {"minLength": 1, "maxLength": IDENTITY_LIMIT, "pattern": r"^[^\s\u0000-\u001f\u007f-\u009f*]+$"}
_INSTANT = {"format": "date-time"}

_NAME = {**_SAID, "maxLength": NAME_LIMIT}
_HITS = {"minimum": 1, "maximum": HITS_LIMIT}
_NUMBER = {"pattern": "^[0-9]{1,18}$"}

_BOUNDS: tuple[tuple[str, Schema], ...] = (
    ("limit", {"minimum": 1, "maximum": READ_LIMIT}),
    ("namespace session_id agent_id reader", _IDENTITY),
    ("trace_id idempotency_key unique_key tool_use_id tool_name stop_reason model provider", _LABEL),
    ("extraction_version correlation topic", _LABEL),
    ("conversation_id memory_space_id memory_space_ids atom_id entity_id canonical_id alias_id binding_id", _ID),
    ("job_id source_conversation_id source_message_ids", _ID),
    ("NewAtom.text user_content user_text", _SAID),
    ("text query url category description", _KEPT),
    ("name canonical_name aliases speaker", _NAME),
    ("created_at valid_from valid_to valid_at known_at from to run_at since until expected_updated_at", _INSTANT),
    ("importance min_importance", {"minimum": 1, "maximum": 5}),
    ("max_attempts", {"minimum": 1, "maximum": 100}),
    ("max_cycles", {"minimum": 1, "maximum": CYCLES_LIMIT}),
    ("confidence", {"minimum": 0, "maximum": 1}),
    ("title", {**_KEPT, "maxLength": TITLE_LIMIT}),
    ("idle", {"minimum": 0}),
    ("revision before", {"minimum": 1}),
    ("jobs.enqueue.kind jobs.list_jobs.kind", {"pattern": "^[a-z0-9_.-]+$", "maxLength": IDENTITY_LIMIT}),
    ("memory.recall_by_topic.limit memory.recall_by_entity.limit memory.recall_timeline.limit", _HITS),
    ("memory.why_not.limit", _HITS),
    ("events.chat_history_for_llm.limit", {"minimum": 0, "maximum": READ_LIMIT}),
    # What events are searched for may be any text: what no database can keep is passed over.
    ("events.search.query events.search_state.query", {}),
    ("blocks.recall.limit", {"minimum": 1, "maximum": LINES_LIMIT}),
    ("conversations.list_conversations.cursor", {"pattern": "^[0-9]+/conv_[0-9a-f]+$"}),
    ("memory.list_atoms.cursor tools.audit.cursor", _NUMBER),
)
"""By the names of fields, or of parameters of one operation."""
_BY_NAME = {name: limits for names, limits in _BOUNDS for name in names.split()}
_OF_TEXTS = frozenset({"minLength", "maxLength", "pattern", "format"})


def bound(name: str, schema: Schema, *, of: str = "") -> Schema:
    """The schema with the limits of what is called so, and of the parts of it, in an operation."""
    if "properties" in schema:
        parts = {each: bound(each, part, of=of) for each, part in schema["properties"].items()}
        return {**schema, "properties": parts}
    plain = to_snake(name)
    limits = _BY_NAME.get(f"{of}.{plain}", _BY_NAME.get(plain))
    return schema if limits is None else _limited(schema, limits)


def _limited(schema: Schema, limits: Schema) -> Schema:
    """The schema with those limits that can hold for it: of texts, or of numbers."""
    if "anyOf" in schema:
        limited = [_limited(each, limits) for each in schema["anyOf"]]
        # An instant may be given as a text or as a value, and both are written the same way.
        return {**schema, "anyOf": [each for at, each in enumerate(limited) if each not in limited[:at]]}
    if schema.get("type") == "array":
        return {**schema, "items": _limited(schema["items"], limits)}
    if "enum" in schema or "const" in schema:
        return schema
    if schema.get("type") == "string":
        return {**schema, **{name: limit for name, limit in limits.items() if name in _OF_TEXTS}}
    if schema.get("type") in ("integer", "number"):
        return {**schema, **{name: limit for name, limit in limits.items() if name not in _OF_TEXTS}}
    return schema
