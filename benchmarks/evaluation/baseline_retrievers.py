"""What simpler retrievers find among the same turns: words alone, vectors alone, and the two fused by rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.caching_embedder import RememberingEmbedder
from benchmarks.evaluation.corpus_loader import FedTurn
from longmind.language.words import terms_of
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex

_RANK_CONSTANT = 60
Order = NDArray[np.intp]


class Baselines:
    """Ranks the turns of one corpus in each of the simpler ways, by name."""

    def __init__(self, turns: Sequence[FedTurn], embedder: RememberingEmbedder | None) -> None:
        self._embedder = embedder
        texts = [fed.text for fed in turns]
        self._alone = SpaceIndex.from_words(WordsSegment.from_texts(texts, [()] * len(texts)))
        self._among = SpaceIndex.from_words(WordsSegment.from_texts(texts, [fed.around for fed in turns]))
        if embedder is not None:
            self._among.add_vectors(0, VectorsSegment.from_vectors(embedder.embed_texts(texts)))

    def rank(self, query: str, limit: int) -> dict[str, list[int]]:
        """The places of the best turns, best first, for each baseline."""
        terms = tuple(dict.fromkeys(terms_of(query)))
        among = _by_words(self._among, terms)
        orders = {"BM25": _by_words(self._alone, terms), "BM25 with neighbours": among}
        if self._embedder is not None:
            similarity = self._among.similarity(self._embedder.embed_query(query))
            if similarity is not None:
                orders["dense"] = _best_first(similarity)
                orders["rank fusion"] = _fused(len(similarity), orders["dense"], among)
        return {name: order[:limit].tolist() for name, order in orders.items()}


def _best_first(scores: NDArray[np.floating]) -> Order:
    return np.argsort(-scores, kind="stable")


def _by_words(index: SpaceIndex, terms: Sequence[int]) -> Order:
    # Turns with none of the words were not found: in the order in which they are kept, some would be right by luck.
    scores = index.word_scores(terms)
    order = _best_first(scores)
    return order[scores[order] > 0]


def _fused(turns: int, *orders: Order) -> Order:
    total = np.zeros(turns)
    for order in orders:
        total[order] += 1 / (_RANK_CONSTANT + 1 + np.arange(len(order)))
    return np.argsort(-total, kind="stable")
