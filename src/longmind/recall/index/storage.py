"""Writes of the search index, in the transaction of the change that they belong to. Invariants:

- The segments of a kind do not overlap, and together cover the atoms that have entries of that kind. Every atom has
words; vectors may be missing, and columns have segments only from `SMALL` atoms on.
- No segment crosses a multiple of `LARGE`, so that deleting an atom never rewrites more than that many.
- Segments that fill a range up to a multiple of `SMALL`, and then of `LARGE`, are joined into one, so that a space
loads from few blobs. Each posting is rewritten at most twice.
- Joins use only segments that are complete and adjacent; a gap, where a vector is missing, leaves the pieces as they
are.
- A columns segment carries the oldest revision of its pieces: a loader reads later changes from the rows.
- The model of a space is set with its first atom, or by `embedding_jobs` when every atom has a vector. Vectors of
another model are written next to it and are not compared.
- All writers of a space hold its row (`spaces.begin_change`), so that nothing changes between reading segments and
replacing them.
"""

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
"""Segments are joined at multiples of these numbers of atoms."""


@dataclass(frozen=True)
class IndexEntries:
    """The entries of some texts in the search index: their words and, where there is an embedder, their vectors."""

    words: WordsSegment
    vectors: VectorsSegment | None
    model: str | None
    columns: AtomColumns | None = None
    """The columns of many atoms, prepared before they are inserted."""

    def select(self, places: Sequence[int]) -> IndexEntries:
        """Return the entries of some of the texts in the given order."""
        return IndexEntries(
            self.words.select(places), None if self.vectors is None else self.vectors.select(places), self.model
        )

    def decode_vector(self, place: int) -> NDArray[np.float32] | None:
        """Return the vector of one text, if there are vectors."""
        return None if self.vectors is None else self.vectors.decode_vector(place)


def write(run: Transaction, space_id: str, change: SpaceChange, indexed: IndexEntries) -> None:
    """Write the entries of the atoms that a change adds."""
    if indexed.words.atoms >= SMALL:
        BulkIndexWriter(run, space_id, change, indexed.words.atoms, indexed.model).finish(indexed)
        return
    first = change.first
    bounds = _find_bounds(first, indexed.words.atoms)
    for place, words in zip(bounds, indexed.words.cut(bounds), strict=True):
        _put_words(run, space_id, first + place, words)
    if indexed.vectors is not None and indexed.model is not None:
        _adopt_model(run, space_id, change, indexed.model)
        for place, vectors in zip(bounds, indexed.vectors.cut(bounds), strict=True):
            _put_vectors(run, space_id, indexed.model, first + place, vectors)
    # Columns of a few atoms are read from their rows.
    _join_at(run, space_id, change, SMALL, indexed)
    _join_at(run, space_id, change, LARGE, indexed)


class BulkIndexWriter:
    """Writes the entries of many atoms that a change adds.

    Their vectors are most of the data and known before the rest, so that they can be written while the atoms are.
    Earlier segments that the new atoms complete to a multiple of `LARGE` are joined with the first new one.
    """

    def __init__(self, run: Transaction, space_id: str, change: SpaceChange, atoms: int, model: str | None) -> None:
        self._run = run
        self._space_id = space_id
        self._change = change
        self._model = model
        self._bounds = _find_bounds(change.first, atoms)
        self._pieces_put = 0
        """The number of segments of vectors that are written."""
        self._start = change.first // LARGE * LARGE
        self._end = self._start + LARGE
        self._older_words: list[Row] = []
        self._older_vectors: list[Row] = []
        self._older_columns: tuple[list[AtomColumns], int] = [], change.revision
        if self._start < change.first and change.first + atoms >= self._end:
            # The change holds the row of the space, so nobody else replaces these segments.
            words = index_segments.read_words_between(run, space_id, self._start, change.first)
            self._older_words = self._select_completed(words)
            if self._older_words:
                self._older_columns = _read_columns(run, space_id, self._start, change.first, change.revision)
            if model is not None:
                vectors = index_segments.read_vectors_between(run, space_id, model, self._start, change.first)
                self._older_vectors = self._select_completed(vectors)

    def _select_completed(self, older: Sequence[Row]) -> list[Row]:
        """Return the earlier segments if the new atoms complete them to a full range, or else none."""
        first = self._change.first
        return _select_whole([*older, (first, self._end - first)], self._start, self._end)[:-1]

    def put_vectors(self, vectors: VectorsSegment | None, until: int) -> None:
        """Write the segments of vectors that begin before an atom, except for those that are written already."""
        if vectors is None or self._model is None:
            return
        pieces = vectors.cut(self._bounds)
        while self._pieces_put < len(pieces) and self._bounds[self._pieces_put] < until:
            piece, place = pieces[self._pieces_put], self._change.first + self._bounds[self._pieces_put]
            if not self._pieces_put:
                _adopt_model(self._run, self._space_id, self._change, self._model)
                if self._older_vectors:
                    older = [VectorsSegment.decode(body) for _, _, body in self._older_vectors]
                    index_segments.drop_vectors(self._run, self._space_id, self._model, self._start, self._end)
                    piece, place = VectorsSegment.join([*older, piece]), self._start
            _put_vectors(self._run, self._space_id, self._model, place, piece)
            self._pieces_put += 1

    def finish(self, indexed: IndexEntries) -> None:
        """Write everything that is not written yet."""
        run, space_id, first, revision = self._run, self._space_id, self._change.first, self._change.revision
        atoms = indexed.words.atoms
        self.put_vectors(indexed.vectors, atoms)
        columns = indexed.columns or _read_columns_between(run, space_id, first, first + atoms)
        pieces = zip(self._bounds, indexed.words.cut(self._bounds), columns.cut(self._bounds), strict=True)
        for place, words, of_words in pieces:
            if place == 0 and self._older_words:
                older = [WordsSegment.decode(body) for _, _, body in self._older_words]
                index_segments.drop_words(run, space_id, self._start, self._end)
                _put_words(run, space_id, self._start, WordsSegment.join([*older, words]))
                older_columns, of_revision = self._older_columns
                _replace_columns(run, space_id, self._start, self._end, [*older_columns, of_words], of_revision)
            else:
                _put_words(run, space_id, first + place, words)
                _put_columns(run, space_id, first + place, of_words, revision)


def _find_bounds(first: int, atoms: int) -> list[int]:
    """Return where to split atoms into segments, counted from the first of them, so that none crosses a multiple of
    `LARGE`.
    """
    return [0, *range(LARGE - first % LARGE, atoms, LARGE)]


def _adopt_model(run: Transaction, space_id: str, change: SpaceChange, model: str) -> None:
    """Make recall compare vectors of this model, if the first atom of the space is among the new ones."""
    if change.vector_model is None and change.first == 0:
        # Older atoms have no vectors: `embedding_jobs` adopts the model once they have.
        spaces.adopt_vector_model(run, space_id, model)


def scrub(run: Transaction, space_id: str, position: int) -> None:
    """Remove every trace of an atom from the index."""
    for first, _, body in index_segments.read_words_of(run, space_id, position):
        _put_words(run, space_id, first, WordsSegment.decode(body).copy_without(position - first))
    for model, first, body in index_segments.read_vectors_of(run, space_id, position):
        _put_vectors(run, space_id, model, first, VectorsSegment.decode(body).copy_without(position - first))
    for first, revision, body in index_segments.read_facts_of(run, space_id, position):
        _put_columns(run, space_id, first, AtomColumns.decode(body).copy_without(position - first), revision)


def _join_at(run: Transaction, space_id: str, change: SpaceChange, size: int, indexed: IndexEntries) -> None:
    """Join the earlier segments that the new atoms complete to a multiple of the size."""
    start = change.first // size * size
    end = start + size
    if start == change.first or change.first + indexed.words.atoms < end:
        return
    if _join_words(run, space_id, start, end):
        _join_columns(run, space_id, start, end, change.revision)
    if indexed.model is not None:
        _join_vectors(run, space_id, indexed.model, start, end)


def _join_words(run: Transaction, space_id: str, start: int, end: int) -> bool:
    complete = _select_whole(index_segments.read_words_between(run, space_id, start, end), start, end)
    if complete:
        joined = WordsSegment.join([WordsSegment.decode(body) for _, _, body in complete])
        index_segments.drop_words(run, space_id, start, end)
        _put_words(run, space_id, start, joined)
    return bool(complete)


def _join_vectors(run: Transaction, space_id: str, model: str, start: int, end: int) -> None:
    rows = index_segments.read_vectors_between(run, space_id, model, start, end)
    complete = _select_whole(rows, start, end)
    if complete:
        joined = VectorsSegment.join([VectorsSegment.decode(body) for _, _, body in complete])
        index_segments.drop_vectors(run, space_id, model, start, end)
        _put_vectors(run, space_id, model, start, joined)


def _join_columns(run: Transaction, space_id: str, start: int, end: int, revision: int) -> None:
    _replace_columns(run, space_id, start, end, *_read_columns(run, space_id, start, end, revision))


def _read_columns(
    run: Transaction, space_id: str, start: int, end: int, revision: int
) -> tuple[list[AtomColumns], int]:
    """Return the columns of a range in pieces, and the revision up to which all of them are current.

    They come from segments where there are some, and from the rows of atoms in between.
    """
    pieces, until = [], start
    for first, atoms, of_revision, body in index_segments.read_facts_between(run, space_id, start, end):
        pieces += [_read_columns_between(run, space_id, until, first), AtomColumns.decode(body)]
        until = first + atoms
        revision = min(revision, of_revision)
    pieces.append(_read_columns_between(run, space_id, until, end))
    return pieces, revision


def _replace_columns(
    run: Transaction, space_id: str, start: int, end: int, pieces: Sequence[AtomColumns], revision: int
) -> None:
    index_segments.drop_facts(run, space_id, start, end)
    _put_columns(run, space_id, start, AtomColumns.join(pieces), revision)


def _read_columns_between(run: Transaction, space_id: str, first: int, until: int) -> AtomColumns:
    rows = indexed_atoms.read_facts_between(run, space_id, first, until) if first < until else []
    return AtomColumns.from_range(rows, first, until)


def _select_whole(rows: list[Row], start: int, end: int) -> list[Row]:
    """Return the segments if there are several and they cover a range exactly, or else none."""
    exact = rows and rows[0][0] == start and rows[-1][0] + rows[-1][1] == end
    return rows if exact and len(rows) > 1 and sum(row[1] for row in rows) == end - start else []


def _put_words(run: Transaction, space_id: str, first: int, segment: WordsSegment) -> None:
    index_segments.put_words(run, space_id, first, segment.atoms, segment.encode())


def _put_vectors(run: Transaction, space_id: str, model: str, first: int, segment: VectorsSegment) -> None:
    index_segments.put_vectors(run, space_id, model, first, segment.atoms, segment.encode())


def _put_columns(run: Transaction, space_id: str, first: int, columns: AtomColumns, revision: int) -> None:
    index_segments.put_facts(run, space_id, first, columns.atoms, revision, columns.encode())
