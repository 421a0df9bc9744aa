"""Results of a recall, in one shape for all three modes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, overload

from pydantic import Field

from longmind.models.atom import Atom
from longmind.models.message import Role
from longmind.models.value import Value

RecallMode = Literal["BY_TOPIC", "BY_ENTITY", "TIMELINE"]
Effort = Literal["normal", "high"]

WEAK_BELOW = 0.15
"""The score below which a hit is weak: it may well have nothing to do with the question. All surfaces use it."""


class Explanation(Value):
    """The factors of a hit's score, and its rank in the lists by meaning and by words."""

    reasons: list[str] = Field(default_factory=list)
    """The factors in words, the most telling first."""
    similarity: float
    """The probability that the hit is about the question, before age, importance and entities."""
    dense: float | None
    lexical: float
    dense_rank: int | None
    lexical_rank: int | None
    rerank: float | None = None
    """The reranker's score, if there is a reranker and it read the hit."""
    decay_weight: float
    importance_weight: float
    entity_match_bonus: float


class Hit(Value):
    """An atom that was found, with its score."""

    shown = ("score", "weak", "atom")

    atom: Atom
    score: float
    """The probability, from 0 to 1, that it is about the question; age, importance and entities weigh its odds."""
    weak: bool = False
    """True if the score is too low for the atom to count as known about the question."""
    decay_weight: float
    entity_match_bonus: float
    explanation: Explanation | None = None


class QuotedMessage(Value):
    """A message of a passage, word for word; of a long one, the parts that were found."""

    id: str
    sequence: int
    role: Role
    text: str
    said_at: str


class Passage(Value):
    """A quote from a conversation that was found, with its messages in order."""

    conversation_id: str
    messages: list[QuotedMessage]
    score: float
    """The probability, from 0 to 1, that the passage is about the question."""
    weak: bool
    said_at: str
    """The time of its first message."""
    explanation: Explanation | None = None

    @property
    def text(self) -> str:
        """The words of all messages."""
        return "\n".join(message.text for message in self.messages)


class Recall(Value):
    """The hits of a recall and how they were found. It is a sequence of its hits.

    By topic the best hit comes first, by entity the newest, on a timeline the oldest.
    """

    mode: RecallMode
    total_candidates: int
    """Atoms that passed the filters and matched, before the limit."""
    latency_ms: float
    found: bool = False
    """True if anything relevant is known: a hit or a passage that is not weak."""
    hits: list[Hit]
    passages: list[Passage] = Field(default_factory=list)
    """Quotes from conversations, best first, without those whose words are among the hits."""
    notice: str | None = None
    """Set if meaning could not be searched, so that words alone decided: a sentence with the reason and the remedy."""

    # A sequence of hits, since that is what most callers want of it.

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]  # pydantic iterates over the fields
        """Iterate over the hits."""
        return iter(self.hits)

    def __len__(self) -> int:
        """Return the number of hits; an empty recall is false."""
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> list[Hit]: ...

    def __getitem__(self, place: int | slice) -> Hit | list[Hit]:
        return self.hits[place]

    def __repr__(self) -> str:
        hits = f"{len(self.hits)} of {self.total_candidates:,} hits"
        return f"Recall({self.mode}, {hits}, {len(self.passages)} passages, {self.latency_ms:.1f} ms)"


class WhyNot(Value):
    """The reasons why an atom is not among the hits of a query, or its rank if it is."""

    atom_id: str
    found: bool
    rank: int | None
    reasons: list[str]
    explanation: Explanation | None
