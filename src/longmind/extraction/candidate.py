"""The contract of an extractor: it reads source messages and returns candidates, which may become atoms.

Any object with a `name` and an `extract` method is an extractor. What it returns is validated and compared with what is
known before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from longmind.clock import Micros
from longmind.models.atom import AtomKind, Trust
from longmind.models.atom import Precision as Precision
from longmind.models.entity import EntityType

Change = Literal["none", "replaces", "corrects", "ends"]
"""The change that a fact makes to a known one: a new value, a denial that it was ever so, or an end."""


@dataclass(frozen=True)
class SourceMessage:
    """One message of a conversation. Hidden messages and superseded answers of a turn are left out."""

    id: str
    role: Literal["user", "assistant", "tool"]
    text: str
    said_at: Micros
    read_only: bool = False
    """True for context only: the message was extracted before, or belongs to another window."""


@dataclass(frozen=True)
class Mention:
    """A person or thing that a candidate mentions, under its fullest name, with its other names."""

    name: str
    type: EntityType
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slot:
    """The subject, attribute and value of a fact of which only one value can be true at a time.

    All three are folded, in lower case: ("user", "home", "oslo"), ("anna", "job", "nurse at ullevål"). A new value in
    the same slot supersedes the old one.
    """

    subject: str
    attribute: str
    value: str


@dataclass(frozen=True)
class Candidate:
    """A fact that may be remembered."""

    text: str
    """A self-contained text: it names the person and the time."""
    category_name: str
    kind: AtomKind
    trust: Trust
    source_message_ids: tuple[str, ...]
    importance: int = 3
    confidence: float = 1.0
    valid_from: Micros | None = None
    """The time when it happened or began to be true; None for the time when it was said."""
    valid_to: Micros | None = None
    precision: Precision = "instant"
    mentions: tuple[Mention, ...] = ()
    tags: tuple[str, ...] = ()
    speaker: str | None = None
    search_context: tuple[str, ...] = ()
    """Texts around it, the nearest first; an empty text stands for one that is missing."""
    slot: Slot | None = None
    corrects: bool = False
    """True if the speaker says that something has changed or was wrong: "no longer", "not Tuesday: Thursday"."""
    change: Change = "none"
    """The change that it makes to something known."""
    changes_atom: str | None = None
    """The id of the known atom that it changes or, with the change `none`, confirms: a proposal, which is checked."""


@dataclass(frozen=True)
class KnownFact:
    """A fact that is known before an extraction, as an extractor is shown it."""

    atom_id: str
    text: str
    attribute: str | None = None
    """The attribute of its slot, if it has one."""


@dataclass(frozen=True)
class Cost:
    """The cost of model calls in tokens, and in US dollars where the price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = None


@dataclass(frozen=True)
class Extracted:
    """The result of an extraction."""

    candidates: Sequence[Candidate]
    cost: Cost = field(default_factory=Cost)
    note: str | None = None
    """A remark to keep with the job, such as that another extractor took over, and why."""


class Extractor(Protocol):
    """Finds what is worth remembering. It writes nothing, and returns the same candidates for the same input."""

    @property
    def name(self) -> str:
        """The name of the extractor, for logs and notes."""

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        """Return the candidates in messages.

        messages: the messages in their order; read-only ones are context and give no candidates.
        version: the version of the prompt, for extractors that have one: one of Longmind's prompts or, if the extractor
            has an attribute `versions`, one of these names.
        """


@runtime_checkable
class InformedExtractor(Extractor, Protocol):
    """An extractor that can be shown what is known, so that it can say which fact a candidate changes."""

    def wants_known_facts(self, version: str) -> bool:
        """Return whether a version of the prompt shows known facts. Looking them up takes time."""

    def extract(self, messages: Sequence[SourceMessage], version: str, known: Sequence[KnownFact] = ()) -> Extracted:
        """Return the candidates in messages.

        known: facts that hold and are near to the messages, the most useful first.
        """
