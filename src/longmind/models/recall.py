"""What a recall answers: one shape for all three modes."""

from __future__ import annotations

from typing import Literal

from longmind.models.atom import Atom
from longmind.models.value import Value

RecallMode = Literal["BY_TOPIC", "BY_ENTITY", "TIMELINE"]


class Explanation(Value):
    """How a hit came to its score: each factor, and its place in each of the two lists."""

    similarity: float
    dense: float | None
    lexical: float
    dense_rank: int | None
    lexical_rank: int | None
    rerank: float | None = None
    """What the reranker thinks of it, where there is one and the hit was among those it read."""
    decay_weight: float
    importance_weight: float
    entity_match_bonus: float


class Hit(Value):
    atom: Atom
    score: float
    decay_weight: float
    entity_match_bonus: float
    explanation: Explanation | None = None


class Recall(Value):
    mode: RecallMode
    total_candidates: int
    """How many atoms passed the filters and matched at all, before the limit."""
    latency_ms: float
    hits: list[Hit]


class WhyNot(Value):
    """Why an atom is not among the hits of a query, or at which place it is."""

    atom_id: str
    found: bool
    rank: int | None
    reasons: list[str]
    explanation: Explanation | None
