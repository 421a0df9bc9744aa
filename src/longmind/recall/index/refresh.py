"""Brings what is in memory of a space up to what is in the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from longmind.errors import NotFound
from longmind.recall.index.atom_columns import AtomColumns
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.index.storage import SMALL
from longmind.store.database import Row, Transaction
from longmind.store.tables import atom_versions as versions
from longmind.store.tables import entities, index_segments, indexed_atoms, spaces
from longmind.store.tables.spaces import is_same_epoch

T = TypeVar("T")

_ROUNDS = 3


class SpaceKeepsChanging(Exception):
    """The space has changed each time it was read."""


def refresh(run: Transaction, space_id: str, index: SpaceIndex) -> bool:
    """Fetch what has changed since the index was last refreshed; False when there was nothing.

    Each statement sees what is committed by then. So it is read until nothing has changed meanwhile: of a change that
    came in between one part would be here and another not, such as the end of a fact without the one in its place.
    """
    for round in range(_ROUNDS + 1):
        if not _refresh(run, space_id, index):
            return round > 0
    raise SpaceKeepsChanging


def refresh_cuts(run: Transaction, space_id: str, index: SpaceIndex) -> bool:
    """Fetch also what was known of ends that were cut more than once. Only inside of `read_snapshot`."""
    news = refresh(run, space_id, index)
    index.set_cuts(versions.list_cuts(run, space_id))
    return news


def unless_changed(run: Transaction, space_id: str, index: SpaceIndex, work: Callable[[SpaceIndex], T]) -> T | None:
    """What is done with the index while the database says whether anything has changed since it was refreshed.

    None if something has: then it was done for nothing.
    """
    pending = spaces.ask_revision(run, space_id)
    try:
        done = work(index)
    except Exception:
        # What is not listened to would be left to the next who uses the connection.
        pending()
        raise
    same = pending() == (index.revision,) and index.history == run.history
    return done if same else None


def _refresh(run: Transaction, space_id: str, index: SpaceIndex) -> bool:
    """Fetch what there is now; False when all of it is here already.

    The revision is read first: what is committed meanwhile is read twice, once now and once the next time, which does
    no harm. The other way round it would be missed.
    """
    state = spaces.read_state(run, space_id)
    if state is None:
        raise NotFound("memory space", space_id)
    revision, atoms, model, names_revision = state
    same = index.history == run.history
    if same and revision == index.revision:
        return False
    if index.revision >= 0 and not (same and is_same_epoch(revision, index.revision)):
        # It was erased and brought in again, or its database has lost some of it: what is known is of another time.
        index.reset()
    index.history = run.history
    index.grow(atoms)
    _load_words(run, space_id, index)
    if model != index.model:
        index.drop_vectors()
        index.model = model
    if model is not None:
        _load_vectors(run, space_id, model, index)
    _load_facts(run, space_id, index, atoms, revision)
    index.forget(indexed_atoms.list_removed_since(run, space_id, index.revision))
    if names_revision != index.names_revision:
        index.set_names(entities.list_folded_names(run, space_id))
        index.names_revision = names_revision
    # Of atoms that were added meanwhile the facts may be here before the vectors: they do not count yet.
    index.lacks_vectors = model is not None and index.lacks_vectors_in(0, atoms)
    index.reach(revision)
    return True


def _load_words(run: Transaction, space_id: str, index: SpaceIndex) -> None:
    for first, _, body in index_segments.read_words_from(run, space_id, index.words_until):
        segment = WordsSegment.decode(body)
        index.add_words(max(first, index.words_until), segment.skip(index.words_until - first))


def _load_vectors(run: Transaction, space_id: str, model: str, index: SpaceIndex) -> None:
    for first, _, body in index_segments.read_vectors_from(run, space_id, model, index.vectors_until):
        segment = VectorsSegment.decode(body)
        index.add_vectors(max(first, index.vectors_until), segment.skip(index.vectors_until - first))
    if index.lacks_vectors:
        _load_late_vectors(run, space_id, model, index)


def _load_late_vectors(run: Transaction, space_id: str, model: str, index: SpaceIndex) -> None:
    """Fetch the vectors of atoms that had none when they were loaded, and were given theirs since."""
    for first, atoms, _ in index_segments.read_vector_spans(run, space_id, model):
        if index.lacks_vectors_in(first, first + atoms):
            for whose, at, body in index_segments.read_vectors_of(run, space_id, first):
                if whose == model:
                    index.add_vectors(at, VectorsSegment.decode(body))


def _load_facts(run: Transaction, space_id: str, index: SpaceIndex, atoms: int, revision: int) -> None:
    """From segments where there are many atoms to learn of, and for the rest from the atoms themselves."""
    # Of atoms that are read by their positions nothing older is known that could have changed.
    since = revision if index.revision < 0 else index.revision
    if atoms - index.facts_until >= SMALL:
        segments = index_segments.read_facts_between(run, space_id, index.facts_until, atoms)
        for first, count, of_revision, body in segments:
            if first > index.facts_until:
                _know(index, indexed_atoms.read_facts_between(run, space_id, index.facts_until, first))
            index.add_columns(range(first, first + count), AtomColumns.decode(body))
            index.facts_until = first + count
            since = min(since, of_revision)
    _know(index, indexed_atoms.read_facts_since(run, space_id, index.facts_until, since))
    index.facts_until = max(index.facts_until, index.atoms)


def _know(index: SpaceIndex, rows: list[Row]) -> None:
    if rows:
        index.add_columns([row[0] for row in rows], AtomColumns.from_rows(rows))
