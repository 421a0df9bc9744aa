"""An atom: one self-contained fact, with where it was learned and when it is true."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from longmind.models.value import Value
from longmind.validation.annotated import INSTANT, AtomText, Confidence, ConversationId, Importance, MessageId, Name

AtomKind = Literal["FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE", "PATTERN"]
AtomStatus = Literal["ACTIVE", "ARCHIVED", "DELETED"]
Origin = Literal["user", "tool", "extraction", "sleep", "import", "app"]
Trust = Literal["user", "app", "assistant", "tool"]
Decided = Literal["add", "supersede"]
Precision = Literal["instant", "day", "week", "month", "season", "year"]

BEHAVIORAL_KINDS = frozenset({"RULE", "PREFERENCE"})
"""Kinds that tell an agent how to behave; in a prompt they are suggestions, never commands."""


GivenInstant = Annotated[str | Annotated[datetime, Field(strict=True)], INSTANT]
"""An instant as a caller writes it. A number is none: nobody could tell seconds from milliseconds."""


class Category(Value):
    """`name` is the app's own word, `kind` says how the platform treats it."""

    name: Name
    kind: AtomKind


class NewAtom(Value):
    """A fact as the caller gives it."""

    text: AtomText = Field(strict=True)
    category: Category
    importance: Importance = Field(default=3, strict=True)
    confidence: Confidence = Field(default=1.0, strict=True)
    valid_from: GivenInstant | None = None
    valid_to: GivenInstant | None = None
    source_conversation_id: ConversationId | None = None
    source_message_ids: list[MessageId] = Field(default_factory=list)
    entity_ids: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    search_context: str | list[str] = Field(default_factory=list)
    """Texts around the fact, the nearest first, that help to find it and are shown to nobody."""
    speaker: Name | None = None
    """Who said it, by name; without one, the user or the assistant as `trust` tells."""
    origin: Origin = "app"
    trust: Trust = "app"
    created_at: GivenInstant | None = None
    """When it was recorded: now, unless older memory is being brought in."""


class Atom(Value):
    id: str
    memory_space_id: str
    tenant_id: str
    app_id: str
    user_id: str
    text: str
    category: Category
    importance: int
    confidence: float
    valid_from: str
    valid_to: str | None
    status: AtomStatus
    source_conversation_id: str | None
    source_message_ids: list[str]
    entity_ids: list[str]
    tags: list[str]
    behavioral: bool
    supersedes: str | None
    superseded_by: str | None
    superseded_at: str | None
    archived_at: str | None
    last_confirmed_at: str | None
    origin: Origin
    trust: Trust
    session_id: str | None
    group: str | None
    run_id: str | None
    agent_id: str | None
    created_at: str
    updated_at: str
    decision: Decided | None = None
    """What extraction made of it when it was first told: a new fact, or one in the place of another."""
    because: str | None = None
    """Why."""
    precision: Precision | None = None
    """How exactly `valid_from` is known."""
    extraction_version: str | None = None
    """The version of the extractor's instructions that it was found with."""
    evidence: list[str] = Field(default_factory=list)
    """Of a pattern: the ids of the events that it was found in."""


AtomInput = NewAtom | dict[str, Any]
