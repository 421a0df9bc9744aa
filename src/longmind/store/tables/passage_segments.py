"""Segments with the words and vectors of a user's messages, as bytes.

A segment covers the messages between two positions of the ledger, but not necessarily all of them, and two segments may
cover the same range. `longmind.recall.index.passage_storage` encodes and joins them.
"""

from __future__ import annotations

from longmind.store.database import Row, Transaction


def read_spans(run: Transaction) -> list[Row]:
    """Return `(model, first, last, messages)` of all segments, without their bodies."""
    return run.all("passage_segment_spans")


def read_body(run: Transaction, model: str, first: int, last: int) -> bytes | None:
    """Return the body of one segment; None when it was joined with others since its span was read."""
    row = run.one("passage_segment_at", model=model, first=first, last=last)
    return None if row is None else row[0]


def put(run: Transaction, model: str, first: int, last: int, messages: int, body: bytes) -> None:
    """Write a segment, over one with the same bounds that has fewer messages."""
    run.send("put_passage_segment", model=model, first=first, last=last, messages=messages, body=body)


def replace(run: Transaction, model: str, first: int, last: int, body: bytes) -> None:
    """Write another body into a segment."""
    run.send("replace_passage_segment", model=model, first=first, last=last, body=body)


def drop(run: Transaction, model: str, first: int, last: int) -> None:
    """Remove one segment."""
    run.send("drop_passage_segment", model=model, first=first, last=last)


def drop_other_models(run: Transaction, model: str) -> None:
    """Remove the segments of all other embedders."""
    run.send("drop_other_passage_models", model=model)
