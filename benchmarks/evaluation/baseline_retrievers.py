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

BM25 = "BM25"
BM25_WITH_NEIGHBOURS = "BM25 with neighbours"
DENSE = "dense"
FUSION = "rank fusion"
_RANK_CONSTANT = 60
Order = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Baselines:
    """The baseline retrievers of one corpus."""

    def __init__(self, turns: Sequence[LoadedTurn], embedder: CachingEmbedder | None) -> None:
        self._embedder = embedder
        self._size = len(turns)
        texts = [loaded.text for loaded in turns]
        self._turns = SpaceIndex.from_words(WordsSegment.from_texts(texts, [()] * len(texts)))
        self._turns_in_context = SpaceIndex.from_words(
            WordsSegment.from_texts(texts, [loaded.around for loaded in turns])
        )
        if embedder is not None:
            self._turns_in_context.add_vectors(0, VectorsSegment.from_vectors(embedder.embed_texts(texts)))

    def rank(self, query: str, limit: int, turns: int | None = None) -> dict[str, list[int]]:
        """Return the indexes of the best turns, best first, for each baseline.

        turns: the number of first turns that are known by then; None for all.
        """
        known = np.arange(self._size) < (self._size if turns is None else turns)
        terms = tuple(dict.fromkeys(terms_of(query)))
        in_context = _rank_by_words(self._turns_in_context, terms, known)
        orders = {BM25: _rank_by_words(self._turns, terms, known), BM25_WITH_NEIGHBOURS: in_context}
        if self._embedder is not None:
            similarity = self._turns_in_context.similarity(self._embedder.embed_query(query))
            if similarity is not None:
                orders[DENSE] = _sort_by_score(similarity, known)
                orders[FUSION] = _fuse(known, orders[DENSE], in_context)
        return {name: order[:limit].tolist() for name, order in orders.items()}


def _sort_by_score(scores: NDArray[np.floating], known: Mask) -> Order:
    order = np.argsort(-scores, kind="stable")
    return order[known[order]]


def _rank_by_words(index: SpaceIndex, terms: Sequence[int], known: Mask) -> Order:
    # Turns without any of the words are left out: in storage order, some would be right by luck.
    scores = index.word_scores(terms, known)
    order = _sort_by_score(scores, known)
    return order[scores[order] > 0]


def _fuse(known: Mask, *orders: Order) -> Order:
    total = np.zeros(len(known))
    for order in orders:
        total[order] += 1 / (_RANK_CONSTANT + 1 + np.arange(len(order)))
    return _sort_by_score(total, known)
