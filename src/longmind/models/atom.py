"""Atoms: self-contained facts, with their source and the time in which they are true.

An atom has two times. `valid_from` and `valid_to` say when the fact holds in the world; `created_at` and
`superseded_at` say when it was recorded and replaced. Recall can ask for either.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from longmind.models.value import Value
from longmind.validation.parameter_limits import (
    INSTANT,
    AtomText,
    Confidence,
    ConversationId,
    Importance,
    MessageId,
    Name,
)

AtomKind = Literal["FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE", "PATTERN"]
AtomStatus = Literal["ACTIVE", "ARCHIVED", "DELETED"]
Origin = Literal["user", "tool", "extraction", "sleep", "import", "app"]
Trust = Literal["user", "app", "assistant", "tool"]
Decided = Literal["add", "supersede"]
Precision = Literal["instant", "day", "week", "month", "season", "year"]

BEHAVIORAL_KINDS = frozenset({"RULE", "PREFERENCE"})
"""Kinds that say how an agent should behave; prompts show them as suggestions, never as commands."""


GivenInstant = Annotated[str | Annotated[datetime, Field(strict=True)], INSTANT]
"""An instant as a caller writes it. Numbers are refused: seconds and milliseconds look the same."""


class Category(Value):
    """A category of facts: `name` is the app's own word, `kind` decides how the platform treats the fact.

    A text is taken for the name.
    """

    name: Name = "note"
    kind: AtomKind = "FACT"

    @model_validator(mode="before")
    @classmethod
    def _take_name(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given


class NewAtom(Value):
    """A fact as the caller passes it. Only `text` is required.

    A `PATTERN` cannot be passed: the platform finds patterns in episodes.
    """

    text: AtomText = Field(strict=True)
    category: Category = Field(default_factory=Category)
    importance: Importance = Field(default=3, strict=True)
    confidence: Confidence = Field(default=1.0, strict=True)
    valid_from: GivenInstant | None = None
    valid_to: GivenInstant | None = None
    source_conversation_id: ConversationId | None = None
    source_message_ids: list[MessageId] = Field(default_factory=list)
    entity_ids: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    """JSON of the app's own, at most 64 keys and 16 KiB; recall can filter by its texts, numbers and truth values."""
    key: Name | None = None
    """The app's own name for the fact. A space has one atom under a key: another text supersedes it, the same text
    reinforces it."""
    search_context: str | list[str] = Field(default_factory=list)
    """Texts around the fact, the nearest first. They help recall to find it and are never shown."""
    speaker: Name | None = None
    """The name of the speaker; by default the user or the assistant, as `trust` says."""
    origin: Origin = "app"
    trust: Trust = "app"
    created_at: GivenInstant | None = None
    """The time when it was recorded, by default now; for imports of older memory."""


class Atom(Value):
    """A fact as it is stored. Its text never changes: a changed fact gets a new version, which supersedes this one.

    A fact that has ended or was superseded stays ACTIVE; its times show the end.
    """

    shown = ("id", "text", "category", "importance", "key", "metadata", "valid_to", "superseded_by", "archived_at")

    # The owner.
    id: str
    memory_space_id: str
    tenant_id: str
    app_id: str
    user_id: str
    # The fact, and the time in which it is true.
    text: str
    category: Category
    importance: int
    confidence: float
    valid_from: str
    valid_to: str | None
    status: AtomStatus
    # Its sources, and what it is about.
    source_conversation_id: str | None
    source_message_ids: list[str]
    entity_ids: list[str]
    tags: list[str]
    metadata: dict[str, Any] = Field(default_factory=dict)
    key: str | None = None
    behavioral: bool
    # Its versions: ids of other atoms, and when this one changed its state.
    supersedes: str | None
    superseded_by: str | None
    superseded_at: str | None
    archived_at: str | None
    last_confirmed_at: str | None
    # Who said it, and the context that recorded it.
    origin: Origin
    trust: Trust
    session_id: str | None
    group: str | None
    run_id: str | None
    agent_id: str | None
    created_at: str
    updated_at: str
    # Results of extraction; None for atoms that the app added.
    decision: Decided | None = None
    """The decision of extraction when the fact was first heard: `add`, or `supersede` for a changed fact."""
    because: str | None = None
    """The reason for the decision."""
    precision: Precision | None = None
    """The precision to which `valid_from` is known."""
    extraction_version: str | None = None
    """The version of the extractor's instructions that found it."""
    evidence: list[str] = Field(default_factory=list)
    """For a pattern, the ids of the episodes that show it."""
    # The app's own.


AtomInput = NewAtom | dict[str, Any] | str
"""An atom as a caller writes it: a text alone is a fact in the category `note`."""
MetadataFilter = Mapping[str, str | int | float | bool | None]
"""Entries that an atom must have in its metadata: keys of the top level, each with its value."""
