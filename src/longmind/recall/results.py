"""The atoms that were chosen for a request, and the recall that is made of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.models.atom import Atom
from longmind.models.recall import WEAK_BELOW, Explanation, Hit, Passage, Recall, RecallMode
from longmind.models.value import list_hidden_attributes
from longmind.recall import kernels as kernel
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.ranking.atoms import AtomQuery, MatchScores, Scores
from longmind.recall.ranking.filter_masks import Mask, find_ends, mask_allowed
from longmind.recall.request import Filters

_BESIDE_FIELDS = list_hidden_attributes(Hit)
_AS_NEW = 0.995
"""The weight of age from which on an explanation does not mention it."""
_CHANCES = ((0.8, "very likely"), (0.5, "likely"), (WEAK_BELOW, "perhaps"))
_FIELDS = ("atom", "score", "weak", "decay_weight", "entity_match_bonus", "explanation")

Choice = tuple[Scores, int, MatchScores | None]
"""The scores of the chosen atoms in the order of the answer, the number of atoms that match, and the match scores.

The match scores are needed only to explain the scores."""
Chooser = Callable[[SpaceIndex, AtomQuery, Mask], Choice]
"""Chooses among the atoms that pass the filters."""


class Selection(NamedTuple):
    """The atoms that were chosen at a revision of a space, as far as they were cached."""

    scores: Scores
    candidates: int
    explanations: list[Explanation | None]
    atoms: list[Atom | None]
    """None for an atom that has to be fetched."""
    revision: int
    ends: Mapping[int, int | None]
    """By position, the end of each atom as it was known at `known_at`; empty for a request without that instant."""

    def find_missing(self) -> list[int]:
        """Return the positions of the atoms that have to be fetched."""
        return [place for place, atom in zip(self.scores.places, self.atoms, strict=True) if atom is None]

    def add_atoms(self, fetched: Mapping[int, Atom]) -> None:
        """Fill in fetched atoms by their positions."""
        self.atoms[:] = [atom or fetched.get(place) for place, atom in zip(self.scores.places, self.atoms, strict=True)]


def select(index: SpaceIndex, query: AtomQuery, filters: Filters, chooser: Chooser, explain: bool) -> Selection:
    """Choose among the atoms of an index that pass the filters, and take the chosen ones that are cached."""
    passed = mask_allowed(index, filters)
    scores, candidates, matches = chooser(index, query, passed)
    explanations: list[Explanation | None] = [None] * len(scores.places)
    if explain and matches is not None:
        explanations = [explain_score(scores, matches, passed, place) for place in range(len(scores.places))]
    atoms, ends = _get_cached_atoms(index, scores.places, filters), _find_known_ends(index, scores.places, filters)
    return Selection(scores, candidates, explanations, atoms, index.revision, ends)


def _get_cached_atoms(index: SpaceIndex, positions: list[int], filters: Filters) -> list[Atom | None]:
    # The cache has atoms as they are now, and not as they were at an instant.
    return index.get_cached(positions) if filters.known_at is None else [None] * len(positions)


def _find_known_ends(index: SpaceIndex, positions: list[int], filters: Filters) -> dict[int, int | None]:
    if filters.known_at is None:
        return {}
    ends = find_ends(index, filters.known_at)[positions].tolist()
    return {position: None if end == FOREVER else end for position, end in zip(positions, ends, strict=True)}


def to_hits(selection: Selection) -> list[Hit]:
    """Return the hits of a selection, without atoms that were deleted since."""
    if selection.find_missing():
        # Deleted between the choice and the fetch.
        present = [at for at, atom in enumerate(selection.atoms) if atom is not None]
        scores, explanations = selection.scores.select(present), [selection.explanations[at] for at in present]
        atoms = [selection.atoms[at] for at in present]
        selection = selection._replace(scores=scores, explanations=explanations, atoms=atoms)
    scores = selection.scores
    weak = [score < WEAK_BELOW for score in scores.final]
    columns = (selection.atoms, scores.final, weak, scores.decay, scores.bonus, selection.explanations)
    return kernel.loops.values(Hit, _BESIDE_FIELDS, _FIELDS, columns)


def to_recall(
    selection: Selection,
    hits: list[Hit],
    mode: RecallMode,
    began: float,
    passages: list[Passage] | None = None,
    notice: str | None = None,
) -> Recall:
    """Return the answer to a request that began at a time of `perf_counter`."""
    passages = passages or []
    latency = (time.perf_counter() - began) * 1000
    return Recall.from_trusted(
        {
            "mode": mode,
            "total_candidates": selection.candidates,
            "latency_ms": latency,
            "found": is_anything_known(hits, passages),
            "hits": hits,
            "passages": passages,
            "notice": notice,
        }
    )


def is_anything_known(hits: Sequence[Hit], passages: Sequence[Passage]) -> bool:
    """Return whether a hit or a passage is relevant enough to count as known."""
    return not all(hit.weak for hit in hits) or not all(passage.weak for passage in passages)


def explain_score(scores: Scores, matches: MatchScores, passed: Mask, place: int) -> Explanation:
    """Return how the score at a place among the chosen ones came about; ranks count the atoms that passed."""
    position = scores.places[place]
    lexical = float(matches.lexical[position])
    dense = None if matches.dense is None or np.isnan(matches.dense[position]) else float(matches.dense[position])
    explanation = Explanation(
        similarity=scores.similarity[place],
        dense=dense,
        lexical=lexical,
        rerank=matches.reranked.get(position),
        dense_rank=None if dense is None or matches.dense is None else find_rank(matches.dense, passed, position),
        lexical_rank=find_rank(matches.lexical, passed, position) if lexical > 0 else None,
        decay_weight=scores.decay[place],
        importance_weight=scores.importance[place],
        entity_match_bonus=scores.bonus[place],
    )
    return explanation.model_copy(update={"reasons": list_factors(explanation)})


def find_rank(values: NDArray[np.floating], passed: Mask, position: int) -> int:
    """Return the rank of one value among those that passed the filters, 1 for the highest."""
    return int(np.count_nonzero(passed & (values > values[position]))) + 1


def list_factors(explanation: Explanation) -> list[str]:
    """Return a phrase for each factor that matters, the most important first."""
    found = [f"{_describe_chance(explanation.similarity)} to be about the question ({explanation.similarity:.0%})"]
    if explanation.dense is not None and explanation.dense_rank is not None:
        found.append(f"number {explanation.dense_rank} by meaning (likeness {explanation.dense:.2f})")
    if explanation.lexical_rank is not None:
        found.append(f"number {explanation.lexical_rank} by shared words")
    elif explanation.lexical <= 0:
        found.append("shares no word with the question")
    if explanation.rerank is not None:
        found.append(f"the reranker gave it {explanation.rerank:+.1f}")
    if explanation.entity_match_bonus > 1:
        found.append(f"names who or what the question names (odds times {explanation.entity_match_bonus:.2g})")
    if explanation.decay_weight < _AS_NEW:
        found.append(f"is old or was not confirmed lately (odds times {explanation.decay_weight:.2g})")
    if explanation.importance_weight < 1:
        found.append(f"is of less than the highest importance (odds times {explanation.importance_weight:.2g})")
    return found


def _describe_chance(probability: float) -> str:
    return next((words for least, words in _CHANCES if probability >= least), "unlikely")
