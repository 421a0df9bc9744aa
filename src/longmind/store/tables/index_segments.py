"""Segments of the search index of a space: the words, vectors and facts of neighbouring atoms, as bytes.

Segments of one kind, and of one embedder for vectors, never overlap: each holds the atoms from position `first` on.
The bodies are encoded and decoded by `longmind.recall.index.segments`; these functions only move rows, since recall
calls them for every space that it loads.
"""

from __future__ import annotations

from longmind.store.database import Row, Transaction


def read_words_from(run: Transaction, space_id: str, position: int) -> list[Row]:
    """Return `(first, atoms, body)` of the segments of words that hold atoms from a position on."""
    return run.all("term_segments_from", space_id=space_id, position=position)


def read_words_between(run: Transaction, space_id: str, first: int, until: int) -> list[Row]:
    """Return `(first, atoms, body)` of the segments of words that begin in a range of positions."""
    return run.all("term_segments_between", space_id=space_id, first=first, until=until)


def read_words_of(run: Transaction, space_id: str, position: int) -> list[Row]:
    """Return `(first, atoms, body)` of the segment with the words of one atom."""
    return run.all("term_segment_of", space_id=space_id, position=position)


def put_words(run: Transaction, space_id: str, first: int, atoms: int, body: bytes) -> None:
    """Write a segment of words, over the one that begins at the same position if there is one."""
    run.send("put_term_segment", space_id=space_id, first=first, atoms=atoms, body=body)


def drop_words(run: Transaction, space_id: str, start: int, end: int) -> None:
    """Remove the segments of words that begin in a range of positions."""
    run.send("drop_term_segments", space_id=space_id, from_position=start, to_position=end)


def read_vectors_from(run: Transaction, space_id: str, model: str, position: int) -> list[Row]:
    """Return `(first, atoms, body)` of an embedder's segments that hold atoms from a position on."""
    return run.all("vector_segments_from", space_id=space_id, model=model, position=position)


def read_vectors_between(run: Transaction, space_id: str, model: str, first: int, until: int) -> list[Row]:
    """Return `(first, atoms, body)` of an embedder's segments that begin in a range of positions."""
    return run.all("vector_segments_between", space_id=space_id, model=model, first=first, until=until)


def read_vectors_of(run: Transaction, space_id: str, position: int) -> list[Row]:
    """Return `(model, first, body)` of the segments with the vectors of one atom, of every embedder."""
    return run.all("vector_segments_of", space_id=space_id, position=position)


def read_vector_spans(run: Transaction, space_id: str, model: str) -> list[Row]:
    """Return `(first, atoms, model)` of an embedder's segments, without their bodies."""
    return run.all("vector_spans", space_id=space_id, model=model)


def put_vectors(run: Transaction, space_id: str, model: str, first: int, atoms: int, body: bytes) -> None:
    """Write a segment of vectors, over the one that begins at the same position if there is one."""
    run.send("put_vector_segment", space_id=space_id, model=model, first=first, atoms=atoms, body=body)


def drop_vectors(run: Transaction, space_id: str, model: str, start: int, end: int) -> None:
    """Remove an embedder's segments that begin in a range of positions."""
    run.send("drop_vector_segments", space_id=space_id, model=model, from_position=start, to_position=end)


def drop_other_vectors(run: Transaction, space_id: str, model: str) -> None:
    """Remove the vectors of all other embedders from a space."""
    run.send("drop_other_vectors", space_id=space_id, model=model)


def read_facts_between(run: Transaction, space_id: str, first: int, until: int) -> list[Row]:
    """Return `(first, atoms, revision, body)` of the segments of facts that begin in a range of positions."""
    return run.all("fact_segments_between", space_id=space_id, first=first, until=until)


def read_facts_of(run: Transaction, space_id: str, position: int) -> list[Row]:
    """Return `(first, revision, body)` of the segment with the facts of one atom."""
    return run.all("fact_segment_of", space_id=space_id, position=position)


def put_facts(run: Transaction, space_id: str, first: int, atoms: int, revision: int, body: bytes) -> None:
    """Write a segment of facts that are current up to a revision of the space."""
    run.send("put_fact_segment", space_id=space_id, first=first, atoms=atoms, revision=revision, body=body)


def drop_facts(run: Transaction, space_id: str, start: int, end: int) -> None:
    """Remove the segments of facts that begin in a range of positions."""
    run.send("drop_fact_segments", space_id=space_id, from_position=start, to_position=end)
