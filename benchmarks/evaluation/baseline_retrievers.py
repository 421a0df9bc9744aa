"""Baseline retrievers on the same turns: words alone, vectors alone, and both fused by rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.corpus_loader import LoadedTurn
from longmind.language.words import terms_of
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex

_RANK_CONSTANT = 60
Order = NDArray[np.intp]


class Baselines:
    """The baseline retrievers of one corpus."""

    def __init__(self, turns: Sequence[LoadedTurn], embedder: CachingEmbedder | None) -> None:
        self._embedder = embedder
        texts = [loaded.text for loaded in turns]
        self._turns = SpaceIndex.from_words(WordsSegment.from_texts(texts, [()] * len(texts)))
        self._turns_in_context = SpaceIndex.from_words(
            WordsSegment.from_texts(texts, [loaded.around for loaded in turns])
        )
        if embedder is not None:
            self._turns_in_context.add_vectors(0, VectorsSegment.from_vectors(embedder.embed_texts(texts)))

    def rank(self, query: str, limit: int) -> dict[str, list[int]]:
        """Return the indexes of the best turns, best first, for each baseline."""
        terms = tuple(dict.fromkeys(terms_of(query)))
        in_context = _rank_by_words(self._turns_in_context, terms)
        orders = {"BM25": _rank_by_words(self._turns, terms), "BM25 with neighbours": in_context}
        if self._embedder is not None:
            similarity = self._turns_in_context.similarity(self._embedder.embed_query(query))
            if similarity is not None:
                orders["dense"] = _sort_by_score(similarity)
                orders["rank fusion"] = _fuse(len(similarity), orders["dense"], in_context)
        return {name: order[:limit].tolist() for name, order in orders.items()}


def _sort_by_score(scores: NDArray[np.floating]) -> Order:
    return np.argsort(-scores, kind="stable")


def _rank_by_words(index: SpaceIndex, terms: Sequence[int]) -> Order:
    # Turns without any of the words are left out: in storage order, some would be right by luck.
    scores = index.word_scores(terms)
    order = _sort_by_score(scores)
    return order[scores[order] > 0]


def _fuse(turns: int, *orders: Order) -> Order:
    total = np.zeros(turns)
    for order in orders:
        total[order] += 1 / (_RANK_CONSTANT + 1 + np.arange(len(order)))
    return np.argsort(-total, kind="stable")
