"""Recall by line: finds the lines of blocks that are about something, with the index that finds atoms."""

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
from longmind.recall.index.segments import IndexedText, VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.ranking.atoms import Query, measure_matches
from longmind.recall.retriever import AtomRetriever
from longmind.runtime.fork_safety import survive_forks
from longmind.scope import Scope

QUERY_LIMIT = 10_000
"""Characters of a question that are read."""
_REMEMBERED_BLOCKS = 64
_REMEMBERED_LINES = 4_096
_MIDDLE = 4.0
"""The sum at which a score is a half: about what words in common count, where meaning says nothing. Atoms are ranked
by a much steeper curve that begins far above it, so that only the best of thousands stand out; of a few lines nearly
all would score 0 by that one, also the one that answers the question."""
_LEAST_ALIKE = 0.25
"""The score below which a line that shares no word with the question has nothing to do with it."""
_MISSING_WEIGHT = 0.25
"""What a word of the question counts that no line has."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Line:
    text: str
    number: int
    block: Block

    def found(self, score: float, raw: float) -> BlockLine:
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
    """Keeps what it has made of the blocks that were asked last, and of their lines. Threads may share it."""

    def __init__(self, retriever: AtomRetriever) -> None:
        self._retriever = retriever
        self._indexes: OrderedDict[tuple[object, ...], SpaceIndex] = OrderedDict()
        self._vectors: OrderedDict[tuple[str, str], VectorsSegment] = OrderedDict()
        self._lock = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._lock = threading.Lock()

    def find(self, scope: Scope, blocks: Sequence[Block], query: str, limit: int, now: Micros) -> list[BlockLine]:
        """The lines that are about the query, best first; with a blank query the first lines as they stand."""
        lines = [
            _Line(text, number, block)
            for block in blocks
            for number, text in enumerate(split_lines(block.content), start=1)
            if text.strip()
        ]
        if not query.strip() or not lines:
            return [line.found(0.0, 0.0) for line in lines[:limit]]
        asked = self._retriever.understand_query(query[:QUERY_LIMIT], now)
        index = self._index(scope, blocks, lines, asked.model)
        # An index is for one caller at a time: what it derives is made when it is first asked for.
        with self._lock:
            scores, raw, matching = _by_words(index, asked) if asked.vector is None else _by_meaning(index, asked)
        best = np.lexsort((np.arange(len(lines)), -raw))
        chosen = [place for place in best.tolist() if matching[place]][:limit]
        return [lines[place].found(float(scores[place]), float(raw[place])) for place in chosen]

    def _index(self, scope: Scope, blocks: Sequence[Block], lines: Sequence[_Line], model: str | None) -> SpaceIndex:
        key = (scope.id, *((block.id, block.version) for block in blocks))
        with self._lock:
            known = self._indexes.get(key)
            if known is not None:
                self._indexes.move_to_end(key)
                return known
        texts = [line.text for line in lines]
        index = SpaceIndex.from_words(WordsSegment.from_texts(texts, [()] * len(texts)))
        if model is not None:
            index.model = model
            index.add_vectors(0, self._vectors_of(scope, texts))
        with self._lock:
            self._indexes[key] = index
            while len(self._indexes) > _REMEMBERED_BLOCKS:
                self._indexes.popitem(last=False)
        return index

    def _vectors_of(self, scope: Scope, texts: Sequence[str]) -> VectorsSegment:
        """The vectors of all lines; only those that are new are made, outside of the lock."""
        with self._lock:
            known = {text: self._vectors[scope.id, text] for text in texts if (scope.id, text) in self._vectors}
        missing = list(dict.fromkeys(text for text in texts if text not in known))
        made = self._retriever.index_texts([IndexedText(text) for text in missing]).vectors
        if made is not None:
            known |= {text: made.select([at]) for at, text in enumerate(missing)}
        with self._lock:
            for text in texts:
                self._vectors[scope.id, text] = known[text]
                self._vectors.move_to_end((scope.id, text))
            while len(self._vectors) > _REMEMBERED_LINES:
                self._vectors.popitem(last=False)
        return VectorsSegment.join([known[text] for text in texts])


def _by_words(index: SpaceIndex, asked: Query) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """BM25, and the share of it that a line would have which held all words of the question without end.

    A word of the question that no line has is missed in every line, so that a question about something else scores low
    whatever is there; but people say much beside what they ask for, so that it counts less.
    """
    raw, most = np.zeros(index.atoms), 0.0
    for term in asked.question.terms:
        held = index.word_scores([term]).astype(np.float64)
        holders = int(np.count_nonzero(held))
        rarity = math.log1p((index.atoms - (holders or 1) + 0.5) / ((holders or 1) + 0.5))
        most += rarity if holders else rarity * _MISSING_WEIGHT
        raw += rarity * held
    return raw / (most or 1.0), raw, raw > 0


def _by_meaning(index: SpaceIndex, asked: Query) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The sum of evidence that atoms are ranked by too, and the odds that it stands for."""
    evidence = measure_matches(index, asked)
    # The logistic function, in the form that cannot overflow.
    scores = 0.5 + 0.5 * np.tanh((evidence.standing - _MIDDLE) / 2)
    return scores, evidence.standing, (evidence.lexical > 0) | (scores >= _LEAST_ALIKE)
