"""Refresh of an index of passages from the database.

The state is read first and the changes after it: what is committed in between is read twice, which is harmless. A first
load takes words and vectors from segments, and reads the texts of the other messages alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from longmind.models.content import extract_stored_text
from longmind.recall.index import passage_storage
from longmind.recall.index.passage_entries import PassageEntries
from longmind.recall.index.passage_index import EVERY_NAMESPACE, PassageIndex
from longmind.store.database import Row, Transaction
from longmind.store.tables import bindings, passage_segments, passages
from longmind.store.tables.passages import PassageState

_AT_ONCE = 100_000
_TEXTS_AT_ONCE = 2_000
_FEW = 16


def refresh(run: Transaction, user_id: str, index: PassageIndex, state: PassageState, model: str | None) -> bool:
    """Bring an index up to a state that was read before; return whether anything has changed.

    model: the stamp of the embedder whose vectors are wanted, if any.
    """
    before = index.seen
    is_known = before is not None and before.history == state.history == run.history
    if before is None or not is_known or not passages.is_same_epoch(before.forgotten, state.forgotten):
        # The data was erased or imported, or the database has lost commits: read everything again.
        index.clear()
        before = None
    if before is None or before.bindings != state.bindings:
        before = _refresh_bindings(run, user_id, index, before)
    first, may_have_vectors = index.atoms, before is None or before.stored != state.stored
    if model is not None and index.model != model:
        may_have_vectors = True
        index.drop_vectors()
        index.model = model
    if before is None:
        _load(run, index)
    else:
        _read_new(run, index)
    index.link(first)
    changed = index.atoms > first
    if before is None or before.forgotten != state.forgotten:
        index.drop(passages.list_unquotable_positions(run))
        changed = True
    if may_have_vectors and index.model is not None and index.lacks_vectors:
        changed = load_vectors(run, index) or changed
    index.seen = state._replace(history=run.history)
    return changed or before is None


def load_vectors(run: Transaction, index: PassageIndex) -> bool:
    """Add stored vectors that are not here yet, and return whether there were any."""
    missing, _ = index.find_unstored(embedded=True)
    found = passage_storage.load(run, index.model, missing) if len(missing) else []
    for entries in found:
        index.add_entries(entries)
    return bool(found)


def _refresh_bindings(
    run: Transaction, user_id: str, index: PassageIndex, before: PassageState | None
) -> PassageState | None:
    """Read the bindings again; if they cover anything else than before, clear the index and return None.

    What is no longer covered may not stay: the next job would give it to the embedder.
    """
    found = bindings.list_covered(run, user_id)
    covered = frozenset(namespace for namespace, _ in found)
    if EVERY_NAMESPACE in covered:
        covered = frozenset((EVERY_NAMESPACE,))
    if covered != index.covered:
        index.clear()
        index.covered = covered
        before = None
    index.bindings = found
    index.namespaces_of_space = {}
    return before


def _read_new(run: Transaction, index: PassageIndex) -> None:
    """Add the messages that came since the last refresh."""
    # From the settled position, and not from the newest one: on PostgreSQL a message may appear below that.
    after = index.settled
    while index.covered:
        rows = passages.read_rows(run, after, _TEXTS_AT_ONCE)
        new = _select_covered(run, index, index.find_new(rows))
        if new:
            _add_texts(index, new, [(row[0], row[7]) for row in new])
        if len(rows) < _TEXTS_AT_ONCE:
            return
        after = rows[-1][0]


def _load(run: Transaction, index: PassageIndex) -> None:
    """Add all messages of the user that some binding covers."""
    rows: list[Row] = []
    while index.covered:
        part = passages.read_columns(run, rows[-1][0] if rows else 0, _AT_ONCE)
        rows += part
        if len(part) < _AT_ONCE:
            break
    rows = _select_covered(run, index, rows)
    if not rows:
        return
    # Most messages are one piece.
    index.expected = len(rows)
    positions = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    left = np.ones(len(rows), np.bool_)
    spans = passage_segments.read_spans(run)
    # Those of the wanted model first, since only they have its vectors.
    for span in sorted(spans, key=lambda span: span[0] != index.model):
        _add_segment(run, index, span, rows, positions, left)
    rest = left.nonzero()[0].tolist()
    for start in range(0, len(rest), _TEXTS_AT_ONCE):
        chosen = [rows[place] for place in rest[start : start + _TEXTS_AT_ONCE]]
        _add_texts(index, chosen, passages.read_contents(run, [row[0] for row in chosen]))
    index.expected = 0


def _add_segment(
    run: Transaction,
    index: PassageIndex,
    span: Row,
    rows: Sequence[Row],
    positions: NDArray[np.int64],
    left: NDArray[np.bool_],
) -> None:
    """Add those messages of a segment that are still left to add."""
    model, first, last, _ = span
    between = slice(int(positions.searchsorted(first)), int(positions.searchsorted(last, "right")))
    body = passage_segments.read_body(run, model, first, last) if left[between].any() else None
    if body is None:
        return
    entries = PassageEntries.decode(body)
    places = np.minimum(positions.searchsorted(entries.positions), len(positions) - 1)
    chosen = ((positions[places] == entries.positions) & left[places]).nonzero()[0]
    if not len(chosen):
        return
    if len(chosen) < entries.messages:
        entries = entries.select(chosen)
        places = places[chosen]
    if model != index.model:
        entries = entries.copy_without_vectors()
    left[places] = False
    index.add([rows[place] for place in places.tolist()], entries, is_stored=True)


def _add_texts(index: PassageIndex, rows: Sequence[Row], contents: Sequence[tuple[int, str]]) -> None:
    """Add messages by their texts. One whose content is gone by now is left out."""
    if len(contents) < len(rows):
        there = {position for position, _ in contents}
        rows = [row for row in rows if row[0] in there]
    if rows:
        texts = [extract_stored_text(content) for _, content in contents]
        index.add(rows, PassageEntries.from_texts([row[0] for row in rows], texts), is_stored=False)


def _select_covered(run: Transaction, index: PassageIndex, rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose conversation is in a covered namespace, and note these conversations."""
    unknown = {row[2] for row in rows if row[2] not in index.conversations}
    found = _read_namespaces(run, unknown) if unknown else {}
    for conversation_id in sorted(unknown):
        namespace = found.get(conversation_id)
        if namespace is not None and index.covers(namespace):
            index.note_conversation(conversation_id, namespace)
    return [row for row in rows if row[2] in index.conversations]


def _read_namespaces(run: Transaction, conversation_ids: set[str]) -> dict[str, str | None]:
    if len(conversation_ids) > _FEW:
        # A first load meets them all, and asking for each alone would take one statement per conversation.
        return {**passages.read_namespaces(run)}
    return {each: passages.find_namespace(run, each) for each in conversation_ids}
