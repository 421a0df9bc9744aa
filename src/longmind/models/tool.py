"""What the memory tools answer, in the words of their callers: JSON in snake_case, and values in Python."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict

from longmind.models.value import Value

EntryType = Literal["preference", "fact", "instruction", "context", "correction"]
Outcome = Literal["routed", "rejected", "sanitized", "error"]


class ToolValue(Value):
    """An answer of a tool. It is JSON to a model and a value to a program, so it can be read both ways."""

    # Built at the first use: most programs that import Longmind call no tool.
    model_config = ConfigDict(alias_generator=None, defer_build=True)

    def __getitem__(self, name: str) -> Any:
        if name not in self.model_fields_set:
            raise KeyError(name)
        return getattr(self, name)

    def as_json(self) -> dict[str, Any]:
        """What was told, and nothing that was left out."""
        return self.model_dump(exclude_unset=True)


class StoredEntry(ToolValue):
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
    id: str
    type: EntryType
    content: str
    behavioral: bool
    tags: list[str]
    created_at: str
    relevance_score: float


class Provenance(ToolValue):
    """Where an entry came from: who said it is `trust`, and the way it came in `origin`."""

    session_id: str | None
    group: str | None
    origin: str
    trust: str


class FoundEntries(ToolValue):
    results: list[FoundEntry]
    notice: str | None = None
    """How to take the behavioural ones among them."""
    provenance: dict[str, Provenance] | None = None
    """Where the behavioural ones came from, by their ids."""


class BriefEntry(ToolValue):
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
    entries: list[BriefEntry]
    generated_at: str
    entry_count: int
    brief_count: int
    notice: str | None = None


class DeletedEntry(ToolValue):
    deleted: bool
    id: str


class AuditEntry(Value):
    """A line of the audit. It tells what was asked and what came of it, never what memory says."""

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
