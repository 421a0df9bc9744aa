"""Explanations of the scores of passages: the evidence for the best piece of each, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from longmind.models.recall import Explanation
from longmind.recall.index.passage_index import PassageIndex
from longmind.recall.index.text_index import Mask
from longmind.recall.ranking.passages import PassageQuery, PieceEvidence, measure_evidence
from longmind.recall.results import find_rank, list_factors

_NEAR = 0.5
"""The nearness from which on a message counts as said on a date."""


def explain_pieces(
    index: PassageIndex, query: PassageQuery, there: Mask, rows: Sequence[int], scores: Sequence[float]
) -> list[Explanation]:
    """Return how the scores of some pieces came about; ranks count the pieces that may be found.

    there: the pieces that the space has.
    """
    evidence = measure_evidence(index, query, there)
    return [_explain(evidence, row, score) for row, score in zip(rows, scores, strict=True)]


def _explain(evidence: PieceEvidence, row: int, score: float) -> Explanation:
    likeness, words, passing = evidence.likeness, evidence.words, evidence.passing
    is_compared = likeness is not None and not np.isnan(likeness[row])
    explanation = Explanation(
        similarity=score,
        dense=float(likeness[row]) if likeness is not None and is_compared else None,
        lexical=float(words[row]),
        dense_rank=find_rank(likeness, passing, row) if likeness is not None and is_compared else None,
        lexical_rank=find_rank(words, passing, row) if words[row] > 0 else None,
        # Neither age nor importance nor entities weigh what was said.
        decay_weight=1.0,
        importance_weight=1.0,
        entity_match_bonus=1.0,
    )
    reasons = [*list_factors(explanation), *_list_circumstances(evidence, row)]
    return explanation.model_copy(update={"reasons": reasons})


def _list_circumstances(evidence: PieceEvidence, row: int) -> Iterator[str]:
    """Yield a phrase for each circumstance that only passages have."""
    if evidence.words[row] > 0 and not evidence.own_words[row]:
        yield "the shared words are in the messages around it"
    if evidence.spoken[row]:
        yield "said by whom the question asks about"
    if evidence.nearness[row] >= _NEAR:
        yield "said at the time that the question asks about"
    if evidence.opposite[row]:
        yield "says the opposite of what is asked for"
