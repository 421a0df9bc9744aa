"""Units of work that keep the search index in the database, in the transaction of the change it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.atom_columns import AtomColumns
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.store.database import Row, Transaction
from longmind.store.tables import index_segments, indexed_atoms, spaces
from longmind.store.tables.spaces import SpaceChange

SMALL = 256
LARGE = 4096
"""Segments are joined at multiples of these numbers of atoms, so that a space loads from few and large ones.

None crosses a multiple of the larger one, so that to delete an atom never means to write more than that anew.
"""


@dataclass(frozen=True)
class IndexEntries:
    """What the search index keeps of some texts: their words and, where there is an embedder, their vectors."""

    words: WordsSegment
    vectors: VectorsSegment | None
    model: str | None
    facts: AtomColumns | None = None
    """What is known of many atoms, where it is known before they are kept."""

    def select(self, places: Sequence[int]) -> IndexEntries:
        """The index of some of the texts alone, in the order that is given."""
        return IndexEntries(
            self.words.select(places), None if self.vectors is None else self.vectors.select(places), self.model
        )

    def decode_vector(self, place: int) -> NDArray[np.float32] | None:
        return None if self.vectors is None else self.vectors.decode_vector(place)


def write(run: Transaction, space_id: str, change: SpaceChange, indexed: IndexEntries) -> None:
    """Write the index of the atoms that a change adds."""
    if indexed.words.atoms >= SMALL:
        BulkIndexWriter(run, space_id, change, indexed.words.atoms, indexed.model).finish(indexed)
        return
    first = change.first
    bounds = _bounds(first, indexed.words.atoms)
    for place, words in zip(bounds, indexed.words.cut(bounds), strict=True):
        _put_words(run, space_id, first + place, words)
    if indexed.vectors is not None and indexed.model is not None:
        _adopt(run, space_id, change, indexed.model)
        for place, vectors in zip(bounds, indexed.vectors.cut(bounds), strict=True):
            _put_vectors(run, space_id, indexed.model, first + place, vectors)
    # Columns of a few atoms are read from the atoms themselves.
    _join_at(run, space_id, change, SMALL, indexed)
    _join_at(run, space_id, change, LARGE, indexed)


class BulkIndexWriter:
    """The index of many atoms that a change adds.

    Their vectors are most of it, and known before the rest, so that they can be written while the atoms are. Segments
    that were begun before, and that the atoms fill up to a multiple of the larger number, are joined with the first.
    """

    def __init__(self, run: Transaction, space_id: str, change: SpaceChange, atoms: int, model: str | None) -> None:
        self._run = run
        self._space_id = space_id
        self._change = change
        self._model = model
        self._bounds = _bounds(change.first, atoms)
        self._pieces_put = 0
        """Of the vectors."""
        self._start = change.first // LARGE * LARGE
        self._end = self._start + LARGE
        self._older_words: list[Row] = []
        self._older_vectors: list[Row] = []
        self._older_facts: tuple[list[AtomColumns], int] = [], change.revision
        if self._start < change.first and change.first + atoms >= self._end:
            # Nobody else changes them before this change has ended.
            words = index_segments.read_words_between(run, space_id, self._start, change.first)
            self._older_words = self._completed(words)
            if self._older_words:
                self._older_facts = _read_facts(run, space_id, self._start, change.first, change.revision)
            if model is not None:
                vectors = index_segments.read_vectors_between(run, space_id, model, self._start, change.first)
                self._older_vectors = self._completed(vectors)

    def _completed(self, older: Sequence[Row]) -> list[Row]:
        """The segments before, if the first atoms are just what they lack, or else none."""
        first = self._change.first
        return _whole([*older, (first, self._end - first)], self._start, self._end)[:-1]

    def put_vectors(self, vectors: VectorsSegment | None, until: int) -> None:
        """Write the segments of vectors that begin before so many atoms; what was written is not written again."""
        if vectors is None or self._model is None:
            return
        pieces = vectors.cut(self._bounds)
        while self._pieces_put < len(pieces) and self._bounds[self._pieces_put] < until:
            piece, place = pieces[self._pieces_put], self._change.first + self._bounds[self._pieces_put]
            if not self._pieces_put:
                _adopt(self._run, self._space_id, self._change, self._model)
                if self._older_vectors:
                    older = [VectorsSegment.decode(body) for _, _, body in self._older_vectors]
                    index_segments.drop_vectors(self._run, self._space_id, self._model, self._start, self._end)
                    piece, place = VectorsSegment.join([*older, piece]), self._start
            _put_vectors(self._run, self._space_id, self._model, place, piece)
            self._pieces_put += 1

    def finish(self, indexed: IndexEntries) -> None:
        """Write what is not yet written."""
        run, space_id, first, revision = self._run, self._space_id, self._change.first, self._change.revision
        atoms = indexed.words.atoms
        self.put_vectors(indexed.vectors, atoms)
        facts = indexed.facts or _facts_between(run, space_id, first, first + atoms)
        pieces = zip(self._bounds, indexed.words.cut(self._bounds), facts.cut(self._bounds), strict=True)
        for place, words, of_words in pieces:
            if place == 0 and self._older_words:
                older = [WordsSegment.decode(body) for _, _, body in self._older_words]
                index_segments.drop_words(run, space_id, self._start, self._end)
                _put_words(run, space_id, self._start, WordsSegment.join([*older, words]))
                older_facts, of_revision = self._older_facts
                _replace_facts(run, space_id, self._start, self._end, [*older_facts, of_words], of_revision)
            else:
                _put_words(run, space_id, first + place, words)
                _put_facts(run, space_id, first + place, of_words, revision)


def _bounds(first: int, atoms: int) -> list[int]:
    """Where so many atoms are cut, counted from the first of them, so that no segment crosses a larger multiple."""
    return [0, *range(LARGE - first % LARGE, atoms, LARGE)]


def _adopt(run: Transaction, space_id: str, change: SpaceChange, model: str) -> None:
    """Let recall ask the vectors of this model from the first atom on."""
    if change.vector_model is None and change.first == 0:
        # Where there are older atoms, which have no vector, the model is taken once they have theirs.
        spaces.adopt_vector_model(run, space_id, model)


def scrub(run: Transaction, space_id: str, position: int) -> None:
    """Leave nothing of an atom in the index."""
    for first, _, body in index_segments.read_words_of(run, space_id, position):
        _put_words(run, space_id, first, WordsSegment.decode(body).copy_without(position - first))
    for model, first, body in index_segments.read_vectors_of(run, space_id, position):
        _put_vectors(run, space_id, model, first, VectorsSegment.decode(body).copy_without(position - first))
    for first, revision, body in index_segments.read_facts_of(run, space_id, position):
        _put_facts(run, space_id, first, AtomColumns.decode(body).copy_without(position - first), revision)


def _join_at(run: Transaction, space_id: str, change: SpaceChange, size: int, indexed: IndexEntries) -> None:
    """Join the segments that were begun before, and that the atoms of a change fill up to a multiple of the size."""
    start = change.first // size * size
    end = start + size
    if start == change.first or change.first + indexed.words.atoms < end:
        return
    if _join_words(run, space_id, start, end):
        _join_facts(run, space_id, start, end, change.revision)
    if indexed.model is not None:
        _join_vectors(run, space_id, indexed.model, start, end)


def _join_words(run: Transaction, space_id: str, start: int, end: int) -> bool:
    whole = _whole(index_segments.read_words_between(run, space_id, start, end), start, end)
    if whole:
        joined = WordsSegment.join([WordsSegment.decode(body) for _, _, body in whole])
        index_segments.drop_words(run, space_id, start, end)
        _put_words(run, space_id, start, joined)
    return bool(whole)


def _join_vectors(run: Transaction, space_id: str, model: str, start: int, end: int) -> None:
    rows = index_segments.read_vectors_between(run, space_id, model, start, end)
    whole = _whole(rows, start, end)
    if whole:
        joined = VectorsSegment.join([VectorsSegment.decode(body) for _, _, body in whole])
        index_segments.drop_vectors(run, space_id, model, start, end)
        _put_vectors(run, space_id, model, start, joined)


def _join_facts(run: Transaction, space_id: str, start: int, end: int, revision: int) -> None:
    _replace_facts(run, space_id, start, end, *_read_facts(run, space_id, start, end, revision))


def _read_facts(run: Transaction, space_id: str, start: int, end: int, revision: int) -> tuple[list[AtomColumns], int]:
    """Columns have segments where words have, but not for a few atoms: those are read from the atoms.

    Gives them in pieces, and the revision up to which all are current.
    """
    pieces, until = [], start
    for first, atoms, of_revision, body in index_segments.read_facts_between(run, space_id, start, end):
        pieces += [_facts_between(run, space_id, until, first), AtomColumns.decode(body)]
        until = first + atoms
        revision = min(revision, of_revision)
    pieces.append(_facts_between(run, space_id, until, end))
    return pieces, revision


def _replace_facts(
    run: Transaction, space_id: str, start: int, end: int, pieces: Sequence[AtomColumns], revision: int
) -> None:
    index_segments.drop_facts(run, space_id, start, end)
    _put_facts(run, space_id, start, AtomColumns.join(pieces), revision)


def _facts_between(run: Transaction, space_id: str, first: int, until: int) -> AtomColumns:
    rows = indexed_atoms.read_facts_between(run, space_id, first, until) if first < until else []
    return AtomColumns.from_range(rows, first, until)


def _whole(rows: list[Row], start: int, end: int) -> list[Row]:
    """The segments, if there are several and together they are exactly the atoms from start to end, or else none."""
    exact = rows and rows[0][0] == start and rows[-1][0] + rows[-1][1] == end
    return rows if exact and len(rows) > 1 and sum(row[1] for row in rows) == end - start else []


def _put_words(run: Transaction, space_id: str, first: int, segment: WordsSegment) -> None:
    index_segments.put_words(run, space_id, first, segment.atoms, segment.encode())


def _put_vectors(run: Transaction, space_id: str, model: str, first: int, segment: VectorsSegment) -> None:
    index_segments.put_vectors(run, space_id, model, first, segment.atoms, segment.encode())


def _put_facts(run: Transaction, space_id: str, first: int, facts: AtomColumns, revision: int) -> None:
    index_segments.put_facts(run, space_id, first, facts.atoms, revision, facts.encode())
