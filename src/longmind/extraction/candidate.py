"""What an extractor reads, and what it gives: candidates, of which reconciling makes atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from longmind.clock import Micros
from longmind.models.atom import AtomKind, Trust
from longmind.models.atom import Precision as Precision
from longmind.models.entity import EntityType


@dataclass(frozen=True)
class SourceMessage:
    """One message of a conversation, with only the newest answer of each turn and nothing hidden among them."""

    id: str
    role: Literal["user", "assistant", "tool"]
    text: str
    said_at: Micros
    read_only: bool = False
    """Given for what it says about the others; it was extracted from before, or belongs to another window."""


@dataclass(frozen=True)
class Mention:
    """Somebody or something that a candidate speaks of, under the fullest name, with others it goes by."""

    name: str
    type: EntityType
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slot:
    """What a fact is about when only one value of it can be true at a time: whose, what, and the value.

    All three are folded, in lower case: ("user", "home", "oslo"), ("anna", "job", "nurse at ullevål").
    """

    subject: str
    attribute: str
    value: str


@dataclass(frozen=True)
class Candidate:
    """A fact that may be remembered."""

    text: str
    """Self-contained: who and when are said in it."""
    category_name: str
    kind: AtomKind
    trust: Trust
    source_message_ids: tuple[str, ...]
    importance: int = 3
    confidence: float = 1.0
    valid_from: Micros | None = None
    """When it began to be true or happened; None is the time it was said."""
    valid_to: Micros | None = None
    precision: Precision = "instant"
    mentions: tuple[Mention, ...] = ()
    tags: tuple[str, ...] = ()
    speaker: str | None = None
    search_context: tuple[str, ...] = ()
    """What was said around it, the nearest first; an empty text keeps the place of one that is missing."""
    slot: Slot | None = None
    corrects: bool = False
    """Whether the speaker says that something has changed or was wrong: "no longer", "not Tuesday: Thursday"."""


@dataclass(frozen=True)
class Cost:
    """What a model was asked and answered, in tokens, and in US dollars where the price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = None


@dataclass(frozen=True)
class Extracted:
    candidates: Sequence[Candidate]
    cost: Cost = field(default_factory=Cost)
    note: str | None = None
    """What is worth knowing of how it went, to be kept with the job: that another extractor took over, and why."""


class Extractor(Protocol):
    """Finds what is worth remembering. It writes nothing, and the same messages give the same candidates."""

    @property
    def name(self) -> str: ...

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        """Read messages in their order, with the prompt of a version where there is a prompt."""
