"""Segments with the vectors of events of a timeline, as bytes.

A segment covers the events between two positions of the ledger, but not necessarily all of them, and two segments may
cover the same range. `longmind.recall.event_vectors` encodes and joins them.
"""

from __future__ import annotations

from longmind.store.database import Row, Transaction


def read_spans(run: Transaction, timeline_id: str, model: str) -> list[Row]:
    """Return `(first, last, events)` of an embedder's segments, without their bodies."""
    return run.all("event_vector_spans", timeline_id=timeline_id, model=model)


def read_body(run: Transaction, timeline_id: str, model: str, first: int, last: int) -> bytes | None:
    """Return the body of one segment; None when it was joined with others since its span was read."""
    row = run.one("event_vectors_at", timeline_id=timeline_id, model=model, first=first, last=last)
    return None if row is None else row[0]


def put(run: Transaction, timeline_id: str, model: str, first: int, last: int, events: int, body: bytes) -> None:
    """Write a segment, over one with the same bounds if there is one."""
    run.send(
        "put_event_vectors", timeline_id=timeline_id, model=model, first=first, last=last, events=events, body=body
    )


def drop(run: Transaction, timeline_id: str, model: str, first: int, last: int) -> None:
    """Remove one segment."""
    run.send("drop_event_vectors", timeline_id=timeline_id, model=model, first=first, last=last)


def drop_other_models(run: Transaction, timeline_id: str, model: str) -> None:
    """Remove the vectors of all other embedders from a timeline."""
    run.send("drop_other_event_vectors", timeline_id=timeline_id, model=model)
