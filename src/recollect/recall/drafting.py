"""What was chosen in a space, and the recall that is made of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.models.atom import Atom
from recollect.models.recall import Explanation, Hit, Recall, RecallMode
from recollect.models.value import beside_fields
from recollect.recall import kernel
from recollect.recall.filters import Filters
from recollect.recall.passing import Mask, allowed
from recollect.recall.ranking import Evidence, Scores
from recollect.recall.space_index import SpaceIndex

_BESIDE_FIELDS = beside_fields(Hit)

Chosen = tuple[Scores, Mask, Evidence]
"""The scores that were chosen, in the order they are shown, all that match at all, and what spoke for them."""
Choose = Callable[[SpaceIndex, Mask], Chosen]
"""Chooses among the atoms that pass the filters."""


class Draft(NamedTuple):
    """What was chosen in a space at a revision, and those of the atoms that were at hand."""

    scores: Scores
    positions: list[int]
    candidates: int
    explanations: list[Explanation | None]
    atoms: dict[int, Atom]
    revision: int

    def lacking(self) -> list[int]:
        """The positions of the atoms that have to be fetched."""
        return [each for each in self.positions if each not in self.atoms]


def drafted(index: SpaceIndex, filters: Filters, choose: Choose, explain: bool) -> Draft:
    passed = allowed(index, filters)
    scores, matching, evidence = choose(index, passed)
    positions = scores.places.tolist()
    explanations: list[Explanation | None] = [None] * len(positions)
    if explain:
        explanations = [explanation(scores, evidence, passed, place) for place in range(len(positions))]
    candidates = int(np.count_nonzero(matching))
    return Draft(scores, positions, candidates, explanations, at_hand(index, positions, filters), index.revision)


def at_hand(index: SpaceIndex, positions: list[int], filters: Filters) -> dict[int, Atom]:
    """Those of the atoms that need not be fetched. What is kept is as it is now, and not as it was at an instant."""
    return index.kept(positions) if filters.known_at is None else {}


def shown(draft: Draft) -> list[Hit]:
    """The hits; an atom that is gone is left out."""
    scores, atoms = draft.scores, draft.atoms
    factors = zip(
        draft.positions,
        scores.final.tolist(),
        scores.decay.tolist(),
        scores.bonus.tolist(),
        draft.explanations,
        strict=True,
    )
    fields = [
        {
            "atom": atoms[position],
            "score": final,
            "decay_weight": decay,
            "entity_match_bonus": bonus,
            "explanation": explanation,
        }
        for position, final, decay, bonus, explanation in factors
        if position in atoms
    ]
    return kernel.loops.values(Hit, _BESIDE_FIELDS, fields)


def told(draft: Draft, hits: list[Hit], mode: RecallMode, began: float) -> Recall:
    """What is answered, and how long that has taken until now."""
    latency = (time.perf_counter() - began) * 1000
    return Recall.trusted({"mode": mode, "total_candidates": draft.candidates, "latency_ms": latency, "hits": hits})


def explanation(scores: Scores, evidence: Evidence, passed: Mask, place: int) -> Explanation:
    position = scores.places[place]
    lexical = float(evidence.lexical[position])
    dense = None if evidence.dense is None or np.isnan(evidence.dense[position]) else float(evidence.dense[position])
    return Explanation(
        similarity=float(scores.similarity[place]),
        dense=dense,
        lexical=lexical,
        rerank=evidence.opinions.get(int(position)),
        dense_rank=None if dense is None or evidence.dense is None else _rank(evidence.dense, passed, position),
        lexical_rank=_rank(evidence.lexical, passed, position) if lexical > 0 else None,
        decay_weight=float(scores.decay[place]),
        importance_weight=float(scores.importance[place]),
        entity_match_bonus=float(scores.bonus[place]),
    )


def _rank(values: NDArray[np.floating], passed: Mask, position: np.intp) -> int:
    return int(np.count_nonzero(passed & (values > values[position]))) + 1
