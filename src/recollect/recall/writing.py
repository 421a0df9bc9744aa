"""Units of work that keep the search index in the database, in the transaction of the change it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.recall.segments import VectorsSegment, WordsSegment
from recollect.store.database import Row, Transaction
from recollect.store.spaces import Change

_SMALL = 256
_LARGE = 4096
"""Segments of single atoms are joined at these numbers of atoms, so that a space loads from few and large ones."""


@dataclass(frozen=True)
class Indexed:
    """What the search index keeps of some texts: their words and, where there is an embedder, their vectors."""

    words: WordsSegment
    vectors: VectorsSegment | None
    model: str | None


def write(run: Transaction, space_id: str, change: Change, indexed: Indexed) -> None:
    """Write the index of the atoms that a change adds."""
    first, atoms = change.first, indexed.words.atoms
    _put_words(run, space_id, first, indexed.words)
    if indexed.vectors is not None and indexed.model is not None:
        if change.vector_model is None and first == 0:
            # Where there are older atoms, which have no vector, the model is taken once they have theirs.
            run.send("adopt_vector_model", space_id=space_id, model=indexed.model)
        _put_vectors(run, space_id, indexed.model, first, indexed.vectors)
    for size in (_SMALL, _LARGE):
        end = (first + atoms) // size * size
        if first < end and atoms < size:
            _join_words(run, space_id, end - size, end)
            if indexed.model is not None:
                _join_vectors(run, space_id, indexed.model, end - size, end)


def scrub(run: Transaction, space_id: str, position: int) -> None:
    """Leave nothing of an atom in the index."""
    for first, _, body in run.all("term_segment_of", space_id=space_id, position=position):
        _put_words(run, space_id, first, WordsSegment.decode(body).without(position - first))
    for model, first, body in run.all("vector_segments_of", space_id=space_id, position=position):
        _put_vectors(run, space_id, model, first, VectorsSegment.decode(body).without(position - first))


def _join_words(run: Transaction, space_id: str, start: int, end: int) -> None:
    rows = run.all("term_segments_from", space_id=space_id, position=start)
    whole = _whole(rows, start, end)
    if len(whole) > 1:
        joined = WordsSegment.joined([WordsSegment.decode(body) for _, _, body in whole])
        run.send("drop_term_segments", space_id=space_id, from_position=start, to_position=end)
        _put_words(run, space_id, start, joined)


def _join_vectors(run: Transaction, space_id: str, model: str, start: int, end: int) -> None:
    rows = run.all("vector_segments_from", space_id=space_id, model=model, position=start)
    whole = _whole(rows, start, end)
    if len(whole) > 1:
        joined = VectorsSegment.joined([VectorsSegment.decode(body) for _, _, body in whole])
        run.send("drop_vector_segments", space_id=space_id, model=model, from_position=start, to_position=end)
        _put_vectors(run, space_id, model, start, joined)


def _whole(rows: list[Row], start: int, end: int) -> list[Row]:
    """The segments that together are exactly the atoms from start to end, or none."""
    within = [row for row in rows if start <= row[0] and row[0] + row[1] <= end]
    return within if sum(row[1] for row in within) == end - start else []


def _put_words(run: Transaction, space_id: str, first: int, segment: WordsSegment) -> None:
    run.send("put_term_segment", space_id=space_id, first=first, atoms=segment.atoms, body=segment.encode())


def _put_vectors(run: Transaction, space_id: str, model: str, first: int, segment: VectorsSegment) -> None:
    run.send(
        "put_vector_segment", space_id=space_id, model=model, first=first, atoms=segment.atoms, body=segment.encode()
    )
