"""Search of the lines of blocks, with the kind of index that finds atoms.

Blocks are small and change often, so an index is built per set of block versions and kept in memory only. A new
version is a new key: an index never has to be updated, and an outdated one leaves the cache by age. Vectors are kept by
text and user, so that a changed block embeds only its new lines.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longmind.clock import Micros
from longmind.models.block import Block, BlockLine, split_lines
from longmind.models.recall import WEAK_BELOW
from longmind.recall.index.segments import IndexedText, VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.ranking.atoms import AtomQuery, measure_matches
from longmind.recall.retriever import AtomRetriever
from longmind.runtime.fork_safety import survive_forks
from longmind.scope import Scope

QUERY_LIMIT = 10_000
"""Characters of a query that are read."""
_CACHED_INDEXES = 64
_CACHED_VECTORS = 4_096
_MISSING_WEIGHT = 0.25
"""The weight of a word of the query that no line has."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _NumberedLine:
    """A line, its number from 1, and its block."""

    text: str
    number: int
    block: Block

    def to_block_line(self, score: float, raw: float) -> BlockLine:
        block = self.block
        return BlockLine(
            content=self.text,
            score=score,
            raw_score=raw,
            block_type=block.block_type,
            scope=block.scope,
            agent_id=block.agent_id,
            line_number=self.number,
            updated_at=block.updated_at,
        )


class LineRetriever:
    """Finds lines of blocks, and keeps the indexes and vectors that were used last. Threads may share it."""

    def __init__(self, retriever: AtomRetriever) -> None:
        self._retriever = retriever
        self._indexes: OrderedDict[tuple[object, ...], SpaceIndex] = OrderedDict()
        self._vectors: OrderedDict[tuple[str, str], VectorsSegment] = OrderedDict()
        self._lock = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        """Replace the lock, which another thread of the parent may hold for ever."""
        self._lock = threading.Lock()

    def find(self, scope: Scope, blocks: Sequence[Block], query: str, limit: int, now: Micros) -> list[BlockLine]:
        """Return the lines that are about the query, best first; for a blank query the first lines in their order."""
        lines = [
            _NumberedLine(text, number, block)
            for block in blocks
            for number, text in enumerate(split_lines(block.content), start=1)
            if text.strip()
        ]
        if not query.strip() or not lines:
            return [line.to_block_line(0.0, 0.0) for line in lines[:limit]]
        parsed = self._retriever.understand_query(query[:QUERY_LIMIT], now)
        index = self._get_index(scope, blocks, lines, parsed.model)
        # An index derives data lazily, so only one caller may use it at a time.
        with self._lock:
            scores, raw, related = (
                _score_by_words(index, parsed) if parsed.vector is None else _score_by_meaning(index, parsed)
            )
        # Of equal scores the earlier line comes first.
        best = np.lexsort((np.arange(len(lines)), -raw))
        chosen = [place for place in best.tolist() if related[place]][:limit]
        return [lines[place].to_block_line(float(scores[place]), float(raw[place])) for place in chosen]

    def _get_index(
        self, scope: Scope, blocks: Sequence[Block], lines: Sequence[_NumberedLine], model: str | None
    ) -> SpaceIndex:
        key = (scope.id, *((block.id, block.version) for block in blocks))
        with self._lock:
            cached = self._indexes.get(key)
            if cached is not None:
                self._indexes.move_to_end(key)
                return cached
        # Two threads may build the same index at once. Both results are equal, so the later one simply stays.
        texts = [line.text for line in lines]
        index = SpaceIndex.from_words(WordsSegment.from_texts(texts, [()] * len(texts)))
        if model is not None:
            index.model = model
            index.add_vectors(0, self._embed_lines(scope, texts))
        with self._lock:
            self._indexes[key] = index
            while len(self._indexes) > _CACHED_INDEXES:
                self._indexes.popitem(last=False)
        return index

    def _embed_lines(self, scope: Scope, texts: Sequence[str]) -> VectorsSegment:
        """Return the vectors of texts. Missing ones are made outside of the lock, since embedding is slow."""
        with self._lock:
            vectors = {text: self._vectors[scope.id, text] for text in texts if (scope.id, text) in self._vectors}
        missing = list(dict.fromkeys(text for text in texts if text not in vectors))
        embedded = self._retriever.index_texts([IndexedText(text) for text in missing]).vectors
        if embedded is not None:
            vectors |= {text: embedded.select([at]) for at, text in enumerate(missing)}
        with self._lock:
            for text in texts:
                self._vectors[scope.id, text] = vectors[text]
                self._vectors.move_to_end((scope.id, text))
            while len(self._vectors) > _CACHED_VECTORS:
                self._vectors.popitem(last=False)
        return VectorsSegment.join([vectors[text] for text in texts])


def _score_by_words(index: SpaceIndex, query: AtomQuery) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return scores by words, BM25, and which lines match.

    The score is BM25 as a share of its upper bound, which a line with endless repetitions of every word would reach. A
    word that no line has raises the bound, so that a query about something else scores low everywhere; but it counts
    less, since people add words that are not essential.
    """
    raw, bound = np.zeros(index.atoms), 0.0
    for term in query.question.terms:
        matches = index.word_scores([term]).astype(np.float64)
        holders = int(np.count_nonzero(matches))
        rarity = math.log1p((index.atoms - (holders or 1) + 0.5) / ((holders or 1) + 0.5))
        bound += rarity if holders else rarity * _MISSING_WEIGHT
        raw += rarity * matches
    return raw / (bound or 1.0), raw, raw > 0


def _score_by_meaning(index: SpaceIndex, query: AtomQuery) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return scores by words and meaning, the sums of evidence that also rank atoms, and which lines match.

    The score means what that of an atom means: the probability that the line is about the query. A line matches if it
    shares a word with the query, or is not weak.
    """
    evidence = measure_matches(index, query)
    # The logistic function in a form that cannot overflow. Its middle grows with the number of lines, so that the best
    # of a few can score high, though the best of thousands has to stand out more.
    scores = 0.5 + 0.5 * np.tanh((evidence.standing - evidence.scale.middle) / evidence.scale.spread / 2)
    return scores, evidence.standing, (evidence.lexical > 0) | (scores >= WEAK_BELOW)
