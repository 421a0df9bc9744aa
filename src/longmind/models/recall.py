"""Results of a recall, in one shape for all three modes."""

from __future__ import annotations

from typing import Literal

from longmind.models.atom import Atom
from longmind.models.value import Value

RecallMode = Literal["BY_TOPIC", "BY_ENTITY", "TIMELINE"]


class Explanation(Value):
    """The factors of a hit's score, and its rank in the lists by meaning and by words."""

    similarity: float
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

    atom: Atom
    score: float
    decay_weight: float
    entity_match_bonus: float
    explanation: Explanation | None = None


class Recall(Value):
    """The hits of a recall and how they were found.

    By topic the best hit comes first, by entity the newest, on a timeline the oldest.
    """

    mode: RecallMode
    total_candidates: int
    """Atoms that passed the filters and matched, before the limit."""
    latency_ms: float
    hits: list[Hit]


class WhyNot(Value):
    """The reasons why an atom is not among the hits of a query, or its rank if it is."""

    atom_id: str
    found: bool
    rank: int | None
    reasons: list[str]
    explanation: Explanation | None
