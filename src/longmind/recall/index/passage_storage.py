"""Writes of the segments of passages, and of what must not be in any of them. Invariants:

- Every storing and every forgetting first takes the row of the user's revisions, and holds it until the end of its
  transaction. So what is stored has nothing of a message that was forgotten before, and a forgetting sees all segments.
- A segment holds messages that may be quoted. What is forgotten is removed to the byte, in the transaction
  that forgets.
- Segments may overlap: two processes can store the same messages at once, with the same result.
- Nothing is stored of messages that were read before an erasure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.passage_entries import PassageEntries
from longmind.store.database import Row, Transaction
from longmind.store.tables import erasures, passage_segments, passages

NO_MODEL = ""
"""Stands for the embedder where there is none: such segments hold words alone."""
_SMALL = 256
"""Segments with fewer messages are joined when there are many, so that a user's messages load from few. Larger ones
stay as they are: a message that is forgotten has its whole segment written again."""
_MANY = 16


def put(run: Transaction, model: str, made: PassageEntries, of_epoch: int) -> bool:
    """Store entries of messages that were read in an epoch; return False if the user was erased since."""
    # Held until the end of the transaction: an erasure that does not see these entries waits for them.
    erasures.hold_epoch(run)
    if erasures.read_epoch(run) != of_epoch:
        return False
    passages.begin_storing(run)
    forgotten = np.array(passages.list_unquotable_positions(run), np.int64)
    if np.isin(made.positions, forgotten).any():
        made = made.copy_without(forgotten)
    _insert(run, model, made)
    spans = [span for span in passage_segments.read_spans(run) if span[0] == model]
    small = [span for span in spans if span[3] < _SMALL]
    if len(small) >= _MANY:
        parts = [_take(run, span) for span in small]
        _insert(run, model, PassageEntries.join([part for part in parts if part is not None]))
    return True


def load(run: Transaction, model: str | None, missing: NDArray[np.int64]) -> list[PassageEntries]:
    """Return the segments of a model, or of any, that may hold messages at some positions, which ascend."""
    found = []
    for span in passage_segments.read_spans(run):
        if (model is None or span[0] == model) and _reaches(span, missing):
            body = passage_segments.read_body(run, *span[:3])
            if body is not None:
                found.append(PassageEntries.decode(body))
    return found


def drop_others(run: Transaction, model: str) -> None:
    """Leave no segments of other embedders, once this one's are all there."""
    passage_segments.drop_other_models(run, model)


def forget_messages(run: Transaction, message_ids: Sequence[str]) -> None:
    """Keep messages out of all passages from now on, and leave nothing of them in any segment.

    Ids of messages of other users are ignored: their passages are their own.
    """
    positions = passages.find_positions(run, message_ids) if message_ids else {}
    if not positions:
        return
    passages.begin_forgetting(run)
    for message_id in positions:
        passages.insert_unquotable(run, message_id)
    _scrub(run, np.array(sorted(positions.values()), np.int64))


def _scrub(run: Transaction, positions: NDArray[np.int64]) -> None:
    for span in passage_segments.read_spans(run):
        body = passage_segments.read_body(run, *span[:3]) if _reaches(span, positions) else None
        if body is not None:
            entries = PassageEntries.decode(body)
            if np.isin(entries.positions, positions).any():
                model, first, last, _ = span
                passage_segments.replace(run, model, first, last, entries.copy_without(positions).encode())


def _reaches(span: Row, positions: NDArray[np.int64]) -> bool:
    """Return whether a segment may hold any of some positions, which ascend."""
    at = int(positions.searchsorted(span[1]))
    return at < len(positions) and int(positions[at]) <= span[2]


def _insert(run: Transaction, model: str, made: PassageEntries) -> None:
    first, last = int(made.positions[0]), int(made.positions[-1])
    passage_segments.put(run, model, first, last, made.messages, made.encode())


def _take(run: Transaction, span: Row) -> PassageEntries | None:
    """Read a segment that is about to be part of another, and drop it."""
    model, first, last, _ = span
    body = passage_segments.read_body(run, model, first, last)
    passage_segments.drop(run, model, first, last)
    return None if body is None else PassageEntries.decode(body)
