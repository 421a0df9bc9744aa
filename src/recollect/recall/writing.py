"""Units of work that keep the search index in the database, in the transaction of the change it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.recall.facts import Facts
from recollect.recall.segments import VectorsSegment, WordsSegment
from recollect.store.database import Row, Transaction
from recollect.store.spaces import Change

SMALL = 256
LARGE = 4096
"""Segments are joined at multiples of these numbers of atoms, so that a space loads from few and large ones.

None crosses a multiple of the larger one, so that to delete an atom never means to write more than that anew.
"""


@dataclass(frozen=True)
class Indexed:
    """What the search index keeps of some texts: their words and, where there is an embedder, their vectors."""

    words: WordsSegment
    vectors: VectorsSegment | None
    model: str | None
    facts: Facts | None = None
    """What is known of many atoms, where it is known before they are kept."""

    def at(self, places: Sequence[int]) -> Indexed:
        """The index of some of the texts alone, in the order that is given."""
        return Indexed(self.words.at(places), None if self.vectors is None else self.vectors.at(places), self.model)

    def vector(self, place: int) -> NDArray[np.float32] | None:
        return None if self.vectors is None else self.vectors.vector(place)


def write(run: Transaction, space_id: str, change: Change, indexed: Indexed) -> None:
    """Write the index of the atoms that a change adds."""
    first, atoms = change.first, indexed.words.atoms
    bounds = [0, *range(LARGE - first % LARGE, atoms, LARGE)]
    for place, words in zip(bounds, indexed.words.cut(bounds), strict=True):
        _put_words(run, space_id, first + place, words)
    if indexed.vectors is not None and indexed.model is not None:
        if change.vector_model is None and first == 0:
            # Where there are older atoms, which have no vector, the model is taken once they have theirs.
            run.send("adopt_vector_model", space_id=space_id, model=indexed.model)
        for place, vectors in zip(bounds, indexed.vectors.cut(bounds), strict=True):
            _put_vectors(run, space_id, indexed.model, first + place, vectors)
    if atoms >= SMALL:
        # Of a few atoms it is read from the atoms themselves.
        facts = indexed.facts or _facts_between(run, space_id, first, first + atoms)
        for place, piece in zip(bounds, facts.cut(bounds), strict=True):
            _put_facts(run, space_id, first + place, piece, change.revision)
    if atoms < SMALL:
        _join_at(run, space_id, change, SMALL, indexed)
    _join_at(run, space_id, change, LARGE, indexed)


def scrub(run: Transaction, space_id: str, position: int) -> None:
    """Leave nothing of an atom in the index."""
    for first, _, body in run.all("term_segment_of", space_id=space_id, position=position):
        _put_words(run, space_id, first, WordsSegment.decode(body).without(position - first))
    for model, first, body in run.all("vector_segments_of", space_id=space_id, position=position):
        _put_vectors(run, space_id, model, first, VectorsSegment.decode(body).without(position - first))
    for first, revision, body in run.all("fact_segment_of", space_id=space_id, position=position):
        _put_facts(run, space_id, first, Facts.decode(body).without(position - first), revision)


def _join_at(run: Transaction, space_id: str, change: Change, size: int, indexed: Indexed) -> None:
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
    whole = _whole(run.all("term_segments_between", space_id=space_id, first=start, until=end), start, end)
    if whole:
        joined = WordsSegment.joined([WordsSegment.decode(body) for _, _, body in whole])
        run.send("drop_term_segments", space_id=space_id, from_position=start, to_position=end)
        _put_words(run, space_id, start, joined)
    return bool(whole)


def _join_vectors(run: Transaction, space_id: str, model: str, start: int, end: int) -> None:
    rows = run.all("vector_segments_between", space_id=space_id, model=model, first=start, until=end)
    whole = _whole(rows, start, end)
    if whole:
        joined = VectorsSegment.joined([VectorsSegment.decode(body) for _, _, body in whole])
        run.send("drop_vector_segments", space_id=space_id, model=model, from_position=start, to_position=end)
        _put_vectors(run, space_id, model, start, joined)


def _join_facts(run: Transaction, space_id: str, start: int, end: int, revision: int) -> None:
    """Facts have segments where words have, but not for a few atoms: those are read from the atoms."""
    pieces, until = [], start
    for first, atoms, of_revision, body in run.all("fact_segments_between", space_id=space_id, first=start, until=end):
        pieces += [_facts_between(run, space_id, until, first), Facts.decode(body)]
        until = first + atoms
        revision = min(revision, of_revision)
    pieces.append(_facts_between(run, space_id, until, end))
    run.send("drop_fact_segments", space_id=space_id, from_position=start, to_position=end)
    _put_facts(run, space_id, start, Facts.joined(pieces), revision)


def _facts_between(run: Transaction, space_id: str, first: int, until: int) -> Facts:
    rows = run.all("facts_between", space_id=space_id, first=first, until=until) if first < until else []
    return Facts.of_range(rows, first, until)


def _whole(rows: list[Row], start: int, end: int) -> list[Row]:
    """The segments, if there are several and together they are exactly the atoms from start to end, or else none."""
    exact = rows and rows[0][0] == start and rows[-1][0] + rows[-1][1] == end
    return rows if exact and len(rows) > 1 and sum(row[1] for row in rows) == end - start else []


def _put_words(run: Transaction, space_id: str, first: int, segment: WordsSegment) -> None:
    run.send("put_term_segment", space_id=space_id, first=first, atoms=segment.atoms, body=segment.encode())


def _put_vectors(run: Transaction, space_id: str, model: str, first: int, segment: VectorsSegment) -> None:
    run.send(
        "put_vector_segment", space_id=space_id, model=model, first=first, atoms=segment.atoms, body=segment.encode()
    )


def _put_facts(run: Transaction, space_id: str, first: int, facts: Facts, revision: int) -> None:
    run.send(
        "put_fact_segment", space_id=space_id, first=first, atoms=facts.atoms, revision=revision, body=facts.encode()
    )
