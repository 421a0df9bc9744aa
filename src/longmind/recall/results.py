"""What was chosen in a space, and the recall that is made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.models.atom import Atom
from longmind.models.recall import Explanation, Hit, Recall, RecallMode
from longmind.models.value import beside_fields
from longmind.recall import kernels as kernel
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.ranking.atoms import MatchScores, Scores
from longmind.recall.ranking.filter_masks import Mask, find_ends, mask_allowed
from longmind.recall.request import Filters

_BESIDE_FIELDS = beside_fields(Hit)
_FIELDS = ("atom", "score", "decay_weight", "entity_match_bonus", "explanation")

Choice = tuple[Scores, int, MatchScores | None]
"""The scores that were chosen, in the order they are shown, how many match at all, and what spoke for them.

The last is needed only where it is to be explained."""
Chooser = Callable[[SpaceIndex, Mask], Choice]
"""Chooses among the atoms that pass the filters."""


class Selection(NamedTuple):
    """What was chosen in a space at a revision, and those of the atoms that were at hand."""

    scores: Scores
    candidates: int
    explanations: list[Explanation | None]
    atoms: list[Atom | None]
    revision: int
    ends: Mapping[int, int | None]
    """Where each of them ended, by its position, as it was known at the instant that was asked for, if one was."""

    def find_missing(self) -> list[int]:
        """The positions of the atoms that have to be fetched."""
        return [place for place, atom in zip(self.scores.places, self.atoms, strict=True) if atom is None]

    def add_atoms(self, fetched: Mapping[int, Atom]) -> None:
        """Take in atoms that were not at hand."""
        self.atoms[:] = [atom or fetched.get(place) for place, atom in zip(self.scores.places, self.atoms, strict=True)]


def select(index: SpaceIndex, filters: Filters, choose: Chooser, explain: bool) -> Selection:
    passed = mask_allowed(index, filters)
    scores, candidates, evidence = choose(index, passed)
    explanations: list[Explanation | None] = [None] * len(scores.places)
    if explain and evidence is not None:
        explanations = [explain_score(scores, evidence, passed, place) for place in range(len(scores.places))]
    atoms, ends = get_cached_atoms(index, scores.places, filters), find_known_ends(index, scores.places, filters)
    return Selection(scores, candidates, explanations, atoms, index.revision, ends)


def get_cached_atoms(index: SpaceIndex, positions: list[int], filters: Filters) -> list[Atom | None]:
    """Those of the atoms that need not be fetched. What is kept is as it is now, and not as it was at an instant."""
    return index.get_cached(positions) if filters.known_at is None else [None] * len(positions)


def find_known_ends(index: SpaceIndex, positions: list[int], filters: Filters) -> dict[int, int | None]:
    """Where atoms ended as far as it was known at an instant; nothing where none is asked for."""
    if filters.known_at is None:
        return {}
    ends = find_ends(index, filters.known_at)[positions].tolist()
    return {position: None if end == FOREVER else end for position, end in zip(positions, ends, strict=True)}


def to_hits(draft: Selection) -> list[Hit]:
    """The hits; an atom that is gone is left out."""
    if draft.find_missing():
        there = [at for at, atom in enumerate(draft.atoms) if atom is not None]
        scores, explanations = draft.scores.select(there), [draft.explanations[at] for at in there]
        draft = draft._replace(scores=scores, explanations=explanations, atoms=[draft.atoms[at] for at in there])
    scores = draft.scores
    columns = (draft.atoms, scores.final, scores.decay, scores.bonus, draft.explanations)
    return kernel.loops.values(Hit, _BESIDE_FIELDS, _FIELDS, columns)


def to_recall(draft: Selection, hits: list[Hit], mode: RecallMode, began: float) -> Recall:
    """What is answered, and how long that has taken until now."""
    latency = (time.perf_counter() - began) * 1000
    return Recall.trusted({"mode": mode, "total_candidates": draft.candidates, "latency_ms": latency, "hits": hits})


def explain_score(scores: Scores, evidence: MatchScores, passed: Mask, place: int) -> Explanation:
    position = scores.places[place]
    lexical = float(evidence.lexical[position])
    dense = None if evidence.dense is None or np.isnan(evidence.dense[position]) else float(evidence.dense[position])
    return Explanation(
        similarity=scores.similarity[place],
        dense=dense,
        lexical=lexical,
        rerank=evidence.opinions.get(position),
        dense_rank=None if dense is None or evidence.dense is None else _find_rank(evidence.dense, passed, position),
        lexical_rank=_find_rank(evidence.lexical, passed, position) if lexical > 0 else None,
        decay_weight=scores.decay[place],
        importance_weight=scores.importance[place],
        entity_match_bonus=scores.bonus[place],
    )


def _find_rank(values: NDArray[np.floating], passed: Mask, position: int) -> int:
    return int(np.count_nonzero(passed & (values > values[position]))) + 1
