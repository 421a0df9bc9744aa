"""The vectors of events as they are written down: of some events of a timeline, wherever on it they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.segments import VectorsSegment, opened, sealed
from longmind.store.database import Row, Transaction
from longmind.store.erasure_fence import epoch_of

_MARK = b"EVT2"
_ROUGH_MARK = b"EVTS"
"""Of vectors that were written down when there were rough numbers alone."""
_SIZES = (256, 4096)
"""Segments are joined when there are too many below one of these sizes, so that a timeline loads from few."""
_FEW = 16


@dataclass(frozen=True)
class EventVectors:
    positions: NDArray[np.int64]
    """In the ledger, ascending."""
    vectors: VectorsSegment

    @classmethod
    def joined(cls, pieces: Sequence[EventVectors]) -> EventVectors:
        """All of them; of an event that has several, which are the same, one."""
        positions, first = np.unique(np.concatenate([piece.positions for piece in pieces]), return_index=True)
        return cls(positions, VectorsSegment.joined([piece.vectors for piece in pieces]).at(first.tolist()))

    def encode(self) -> bytes:
        vectors, counts = self.vectors, (len(self.positions), 0, 0)
        return sealed(_MARK, vectors.dimension, counts, self.positions.astype("<i8"), *vectors.written())

    @classmethod
    def decode(cls, blob: bytes) -> EventVectors:
        is_rough = blob[:4] == _ROUGH_MARK
        dimension, (events, _, _), take = opened(blob, _ROUGH_MARK if is_rough else _MARK)
        return cls(take("<i8", events), VectorsSegment.taken(take, events, dimension, is_rough=is_rough))


def put(run: Transaction, timeline_id: str, model: str, made: EventVectors, of_epoch: int) -> None:
    """Keep vectors of events that were read in an epoch; nothing when the user was erased since."""
    # SpaceArrays until the end of the transaction: an erasure that does not see these vectors waits for them.
    run.one("hold_epoch")
    if epoch_of(run) != of_epoch:
        return
    _insert(run, timeline_id, model, made)
    spans = run.all("event_vector_spans", timeline_id=timeline_id, model=model)
    for least, most in zip((0, *_SIZES), _SIZES, strict=False):
        small = [span for span in spans if least <= span[2] < most]
        if len(small) >= _FEW:
            pieces = [_take(run, timeline_id, model, span) for span in small]
            _insert(run, timeline_id, model, EventVectors.joined([piece for piece in pieces if piece is not None]))


def load(run: Transaction, timeline_id: str, model: str, missing: NDArray[np.int64]) -> list[EventVectors]:
    """The segments that may hold vectors of the events at some positions, which ascend."""
    found = []
    for first, last, _ in run.all("event_vector_spans", timeline_id=timeline_id, model=model):
        at = int(missing.searchsorted(first))
        if at < len(missing) and missing[at] <= last:
            row = run.one("event_vectors_at", timeline_id=timeline_id, model=model, first=first, last=last)
            if row is not None:
                found.append(EventVectors.decode(row[0]))
    return found


def drop_others(run: Transaction, timeline_id: str, model: str) -> None:
    """Leave no vectors of other embedders, once this one's are all there."""
    run.send("drop_other_event_vectors", timeline_id=timeline_id, model=model)


def _insert(run: Transaction, timeline_id: str, model: str, made: EventVectors) -> None:
    first, last = int(made.positions[0]), int(made.positions[-1])
    run.send(
        "put_event_vectors",
        timeline_id=timeline_id,
        model=model,
        first=first,
        last=last,
        events=len(made.positions),
        body=made.encode(),
    )


def _take(run: Transaction, timeline_id: str, model: str, span: Row) -> EventVectors | None:
    """Read a segment that is about to be part of another, and drop it."""
    at = {"timeline_id": timeline_id, "model": model, "first": span[0], "last": span[1]}
    row = run.one("event_vectors_at", **at)
    run.send("drop_event_vectors", **at)
    return None if row is None else EventVectors.decode(row[0])
