"""Refresh of an index in memory from the database.

A refresh reads the revision of the space first and the changes after it. What is committed in between is read twice,
now and the next time, which is harmless; in the other order it would be missed. A different epoch of the space, or a
different history of the database, makes everything in memory invalid, and the index starts from nothing.
"""

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
from longmind.store.tables.passages import to_state
from longmind.store.tables.spaces import is_same_epoch

T = TypeVar("T")

_ROUNDS = 3


class SpaceKeepsChanging(Exception):
    """The space has changed each time it was read."""


def refresh(run: Transaction, space_id: str, index: SpaceIndex) -> bool:
    """Read what has changed since the last refresh, and return whether anything has.

    Each statement sees what is committed by then, so parts of a concurrent change could be missing, such as the end of
    a fact without its successor. It reads again until nothing has changed in between. Raises `SpaceKeepsChanging` after
    a few rounds; the caller then refreshes in `read_snapshot`, where nothing can change.
    """
    for round in range(_ROUNDS + 1):
        if not _refresh_once(run, space_id, index):
            return round > 0
    raise SpaceKeepsChanging


def refresh_cuts(run: Transaction, space_id: str, index: SpaceIndex) -> bool:
    """Read also the ends that were corrected several times. Call it only inside of `read_snapshot`."""
    news = refresh(run, space_id, index)
    index.set_cuts(versions.list_cuts(run, space_id))
    return news


def run_unless_changed(run: Transaction, space_id: str, index: SpaceIndex, work: Callable[[SpaceIndex], T]) -> T | None:
    """Run work on the index while the database reports the revision; return None if the space has changed.

    The work is then discarded.
    """
    pending = spaces.ask_revision(run, space_id)
    try:
        done = work(index)
    except Exception:
        # An answer that is not read would be left to the next user of the connection.
        pending()
        raise
    answer = pending()
    same = answer is not None and answer[0] == index.revision and index.history == run.history
    if answer is not None:
        index.passages = to_state(answer[1:], run.history)
    return done if same else None


def _refresh_once(run: Transaction, space_id: str, index: SpaceIndex) -> bool:
    """Read what there is now, and return False if all of it is here already.

    Raises `NotFound` if the space was deleted.
    """
    state = spaces.read_state(run, space_id)
    if state is None:
        raise NotFound("memory space", space_id)
    revision, atoms, model, names_revision, *of_passages = state
    passages = to_state(of_passages, run.history)
    same = index.history == run.history
    if same and revision == index.revision:
        index.passages = passages
        return False
    if index.revision >= 0 and not (same and is_same_epoch(revision, index.revision)):
        # The data was erased and imported again, or the database has lost commits: nothing in memory is valid.
        index.reset()
    index.history, index.passages = run.history, passages
    index.grow(atoms)
    _load_words(run, space_id, index)
    if model != index.model:
        index.drop_vectors()
        index.model = model
    if model is not None:
        _load_vectors(run, space_id, model, index)
    _load_columns(run, space_id, index, atoms, revision)
    # An atom that was added and removed since the state was read is not in the columns; the next round knows of it.
    index.forget([at for at in indexed_atoms.list_removed_since(run, space_id, index.revision) if at < atoms])
    if names_revision != index.names_revision:
        index.set_names(entities.list_folded_names(run, space_id))
        index.names_revision = names_revision
    # Atoms that were added since the revision was read may have columns but no vectors yet; they do not count.
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
    """Read the vectors of atoms that had none when they were loaded."""
    for first, atoms, _ in index_segments.read_vector_spans(run, space_id, model):
        if index.lacks_vectors_in(first, first + atoms):
            for whose, at, body in index_segments.read_vectors_of(run, space_id, first):
                if whose == model:
                    index.add_vectors(at, VectorsSegment.decode(body))


def _load_columns(run: Transaction, space_id: str, index: SpaceIndex, atoms: int, revision: int) -> None:
    """Read the columns of new and changed atoms: from segments for many new ones, and from rows for the rest."""
    # A first load reads all atoms by position, so no earlier atom can have changed.
    since = revision if index.revision < 0 else index.revision
    if atoms - index.columns_until >= SMALL:
        segments = index_segments.read_facts_between(run, space_id, index.columns_until, atoms)
        for first, count, of_revision, body in segments:
            if first > index.columns_until:
                _add_rows(index, indexed_atoms.read_facts_between(run, space_id, index.columns_until, first))
            index.add_columns(range(first, first + count), AtomColumns.decode(body))
            index.columns_until = first + count
            since = min(since, of_revision)
    _add_rows(index, indexed_atoms.read_facts_since(run, space_id, index.columns_until, since))
    index.columns_until = max(index.columns_until, index.atoms)


def _add_rows(index: SpaceIndex, rows: list[Row]) -> None:
    if rows:
        index.add_columns([row[0] for row in rows], AtomColumns.from_rows(rows))
