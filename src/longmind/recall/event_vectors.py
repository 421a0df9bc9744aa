"""Segments of the vectors of a timeline's events, for any of its events, wherever on the timeline they stand.

Segments may overlap, unlike those of atoms: two engines can embed the same events at once, with the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.segments import VectorsSegment, seal, unseal
from longmind.store.database import Row, Transaction
from longmind.store.tables import erasures, event_vector_segments

_MARK = b"EVT2"
_ROUGH_MARK = b"EVTS"
"""Marks segments of earlier versions, which stored the rough numbers alone."""
_SIZES = (256, 4096)
"""Segments are joined when there are too many below one of these sizes, so that a timeline loads from few."""
_FEW = 16


@dataclass(frozen=True)
class EventVectors:
    """The vectors of some events of one timeline."""

    positions: NDArray[np.int64]
    """Positions in the ledger, ascending."""
    vectors: VectorsSegment

    @classmethod
    def join(cls, pieces: Sequence[EventVectors]) -> EventVectors:
        """Join pieces into one. An event with several vectors, which are equal, keeps one."""
        positions, first = np.unique(np.concatenate([piece.positions for piece in pieces]), return_index=True)
        return cls(positions, VectorsSegment.join([piece.vectors for piece in pieces]).select(first.tolist()))

    def encode(self) -> bytes:
        """Return the segment as bytes, with a version and a checksum."""
        vectors, counts = self.vectors, (len(self.positions), 0, 0)
        return seal(_MARK, vectors.dimension, counts, self.positions.astype("<i8"), *vectors.to_columns())

    @classmethod
    def decode(cls, blob: bytes) -> EventVectors:
        """Read a segment. Raises `StoreError` if it is damaged."""
        is_rough = blob[:4] == _ROUGH_MARK
        dimension, (events, _, _), take = unseal(blob, _ROUGH_MARK if is_rough else _MARK)
        return cls(take("<i8", events), VectorsSegment.from_columns(take, events, dimension, is_rough=is_rough))


def put(run: Transaction, timeline_id: str, model: str, made: EventVectors, of_epoch: int) -> None:
    """Store vectors of events that were read in an epoch; store nothing if the user was erased since."""
    # Held until the end of the transaction: an erasure that does not see these vectors waits for them.
    erasures.hold_epoch(run)
    if erasures.read_epoch(run) != of_epoch:
        return
    _insert(run, timeline_id, model, made)
    spans = event_vector_segments.read_spans(run, timeline_id, model)
    for least, most in zip((0, *_SIZES), _SIZES, strict=False):
        small = [span for span in spans if least <= span[2] < most]
        if len(small) >= _FEW:
            pieces = [_take(run, timeline_id, model, span) for span in small]
            _insert(run, timeline_id, model, EventVectors.join([piece for piece in pieces if piece is not None]))


def load(run: Transaction, timeline_id: str, model: str, missing: NDArray[np.int64]) -> list[EventVectors]:
    """Return the segments that may hold vectors of the events at some positions, which ascend."""
    found = []
    for first, last, _ in event_vector_segments.read_spans(run, timeline_id, model):
        at = int(missing.searchsorted(first))
        if at < len(missing) and missing[at] <= last:
            body = event_vector_segments.read_body(run, timeline_id, model, first, last)
            if body is not None:
                found.append(EventVectors.decode(body))
    return found


def drop_others(run: Transaction, timeline_id: str, model: str) -> None:
    """Leave no vectors of other embedders, once this one's are all there."""
    event_vector_segments.drop_other_models(run, timeline_id, model)


def _insert(run: Transaction, timeline_id: str, model: str, made: EventVectors) -> None:
    first, last = int(made.positions[0]), int(made.positions[-1])
    event_vector_segments.put(run, timeline_id, model, first, last, len(made.positions), made.encode())


def _take(run: Transaction, timeline_id: str, model: str, span: Row) -> EventVectors | None:
    """Read a segment that is about to be part of another, and drop it."""
    first, last, _ = span
    body = event_vector_segments.read_body(run, timeline_id, model, first, last)
    event_vector_segments.drop(run, timeline_id, model, first, last)
    return None if body is None else EventVectors.decode(body)
