"""Background jobs that give atoms the vectors of an embedder.

Vectors are made in batches outside of transactions and written in short ones. Until a space has all of them, recall
goes on with words, and with the vectors of the former embedder where an engine still uses it; then `_adopt` switches
the space over and drops the old vectors in one transaction. A batch never overlaps existing segments, so that segments
can always be joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from longmind.clock import Micros
from longmind.errors import EmbedderFailed, NotFound
from longmind.providers.embedder import CheckedEmbedder, Vectors
from longmind.recall.embedding_requests import kind_for
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import index_segments, indexed_atoms, spaces
from longmind.store.triggers.passage_requests import FIRST_KIND

if TYPE_CHECKING:
    from longmind.recall.index.segments import VectorsSegment

_AT_ONCE = 256


def reindex_kind(model: str) -> str:
    """Return the kind of the job that gives a space the vectors of a model."""
    return kind_for("memory.reindex", model)


def embed_kind(model: str) -> str:
    """Return the kind of the job that gives the events of a timeline the vectors of a model."""
    return kind_for("events.embed", model)


def passages_kind(model: str | None) -> str:
    """Return the kind of the job that stores the words of messages, with vectors of a model if there is one."""
    return kind_for(FIRST_KIND.removesuffix("."), model or "")


def fill_vectors(
    database: Database,
    scope: Scope,
    space_id: str,
    embedding: CheckedEmbedder,
    now: Micros,
    report: Callable[[int], object] = lambda made: None,
) -> int:
    """Give every atom of a space a vector of this embedder, and return the number of vectors made.

    report: called after each batch with the number so far.

    Raises `EmbedderFailed` if the embedder fails; what was made before is kept, and another call makes the rest.
    """
    from longmind.recall.index.segments import VectorsSegment

    made, stamp = 0, embedding.stamp
    try:
        while True:
            batch = database.read(scope, _find_without_vector, space_id, stamp)
            if batch:
                vectors = VectorsSegment.from_vectors(_embed(embedding, [text for _, text in batch]))
                positions = [position for position, _ in batch]
                made += database.write(scope, _put, space_id, stamp, positions, vectors, now)
                report(made)
            elif not made and database.read(scope, spaces.read_vector_model, space_id) == stamp:
                # It was complete before, and stays unchanged.
                break
            elif database.write(scope, _adopt, space_id, stamp, now):
                break
    except NotFound:
        # The space was deleted, and needs no vectors any more.
        pass
    return made


def _embed(embedding: CheckedEmbedder, texts: Sequence[str]) -> Vectors:
    try:
        return embedding.texts(texts)
    except EmbedderFailed as failure:
        # Of other writes nothing is kept when it fails, as its own hint says.
        own = "" if failure.hint == failure.default_hint else f"{failure.hint} "
        raise EmbedderFailed(failure.message, hint=f"{own}{_GOES_ON}") from failure


_GOES_ON = (
    "Recall keeps using its previous vectors, and the finished new ones are stored. "
    "Reindex again to compute the missing ones."
)


def _find_without_vector(run: Transaction, space_id: str, model: str) -> list[tuple[int, str]]:
    """Return positions and texts of neighbouring atoms without a vector of this model, as many as make a segment."""
    covered = 0
    spans = index_segments.read_vector_spans(run, space_id, model)
    for first, atoms, _ in [*spans, (None, 0, model)]:
        if first is None or first > covered:
            texts = indexed_atoms.read_texts(run, space_id, covered, first, _AT_ONCE)
            if texts:
                return texts
            # Only places of deleted atoms lie between these vectors.
        if first is not None:
            covered = max(covered, first + atoms)
    return []


def _put(
    run: Transaction,
    space_id: str,
    model: str,
    positions: list[int],
    vectors: VectorsSegment,
    now: Micros,
) -> int:
    """Write the vectors of a batch and return their number, or 0 if another process has written vectors there."""
    spaces.begin_change(run, space_id, now)
    first, until = positions[0], positions[-1] + 1
    spans = index_segments.read_vector_spans(run, space_id, model)
    if any(begin < until and first < begin + atoms for begin, atoms, _ in spans):
        # Overlapping segments could not be joined, so the caller looks again for what is missing.
        return 0
    segment = vectors.spread([position - first for position in positions])
    kept = {position for position, _ in indexed_atoms.read_texts(run, space_id, first, until, len(positions))}
    for position in positions:
        if position not in kept:
            # Deleted while its vector was being made.
            segment = segment.copy_without(position - first)
    index_segments.put_vectors(run, space_id, model, first, segment.atoms, segment.encode())
    return len(positions)


def _adopt(run: Transaction, space_id: str, model: str, now: Micros) -> bool:
    """Make recall compare vectors of this model; return False if an atom without one has been added."""
    # The row of the space is locked from here on, so that no atom is added between the look and the change.
    spaces.begin_change(run, space_id, now)
    if _find_without_vector(run, space_id, model):
        return False
    spaces.adopt_vector_model(run, space_id, model)
    index_segments.drop_other_vectors(run, space_id, model)
    return True
