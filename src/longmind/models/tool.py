"""Answers of the memory tools: values in Python, snake_case JSON for models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from longmind.models.message import Role
from longmind.models.value import Value

EntryType = Literal["preference", "fact", "instruction", "context", "correction"]
Outcome = Literal["routed", "rejected", "sanitized", "error"]


class ToolValue(Value):
    """Base of the tools' answers: a value to a program, a mapping to code that expects JSON."""

    # The validator is built on first use: most programs that import Longmind call no tool.
    model_config = ConfigDict(alias_generator=None, defer_build=True)

    def __getitem__(self, name: str) -> Any:
        # The JSON has only what was set, and a mapping must not have more keys than that.
        if name not in self.model_fields_set:
            raise KeyError(name)
        return getattr(self, name)

    def as_json(self) -> dict[str, Any]:
        """Return the fields that were set, as JSON data."""
        return self.model_dump(exclude_unset=True)


class StoredEntry(ToolValue):
    """An entry as memory_store wrote it."""

    id: str
    type: EntryType
    content: str
    behavioral: bool
    tags: list[str]
    supersedes: str | None
    superseded_by: str | None
    session_id: str | None
    group: str
    created_at: str


class FoundEntry(ToolValue):
    """An entry that memory_search found."""

    id: str
    type: EntryType
    content: str
    behavioral: bool
    tags: list[str]
    created_at: str
    relevance_score: float
    """The probability that the entry is about the query; 0 without a query."""
    weak: bool = False
    """True if the relevance is too low for the entry to count as an answer."""


class FoundPassage(ToolValue):
    """A message of a conversation that memory_search found, word for word; of a long one, the parts that match."""

    conversation_id: str
    message_id: str
    role: Role
    text: str
    said_at: str
    relevance_score: float
    """The probability that the message is about the query."""
    weak: bool
    """True if the relevance is too low for the message to count as an answer."""


class Provenance(ToolValue):
    """The source of an entry: `trust` says who said it, `origin` how it arrived."""

    session_id: str | None
    group: str | None
    origin: str
    trust: str


class FoundEntries(ToolValue):
    """The answer of memory_search."""

    results: list[FoundEntry]
    passages: list[FoundPassage] = Field(default_factory=list)
    """Quotes from conversations that lead to the group's space, best first; left out of JSON if there are none."""
    notice: str | None = None
    """A note on how a model should treat the behavioural entries among them."""
    provenance: dict[str, Provenance] | None = None
    """The sources of the behavioural entries, by their ids."""


class BriefEntry(ToolValue):
    """An entry of a brief."""

    id: str
    type: EntryType
    content: str
    behavioral: bool
    tags: list[str]
    age_days: int
    session_id: str | None = None
    group: str | None = None
    origin: str | None = None
    trust: str | None = None


class Brief(ToolValue):
    """The answer of memory_brief: the entries that a session should start with."""

    entries: list[BriefEntry]
    generated_at: str
    entry_count: int
    brief_count: int
    notice: str | None = None


class DeletedEntry(ToolValue):
    """The answer of memory_delete."""

    deleted: bool
    id: str


class AuditEntry(Value):
    """A line of the audit: a call and its outcome, never the content of memory."""

    model_config = ConfigDict(defer_build=True)

    seq: int
    timestamp: str
    group: str
    source: str
    topic: str
    correlation: str
    stage: int
    outcome: Outcome
    reason: str | None = None
    field_paths: list[str] | None = None
    error: str | None = None
    phase: str | None = None
    hash: str
