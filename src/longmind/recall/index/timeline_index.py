"""In-memory index of one timeline: the words and vectors of its events, and the columns by which they are filtered.

It is a cache of the ledger, which only grows, so a refresh reads what has come since the last one. Messages that were
forgotten stay in the ledger and are dropped here. On PostgreSQL a transaction can commit after one with higher
positions. So positions above `settled` are read again at each refresh, and those that are here already are skipped.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from longmind.models.content import extract_stored_words
from longmind.recall.event_vectors import EventVectors
from longmind.recall.index.atom_columns import NOBODY
from longmind.recall.index.growable_column import Column
from longmind.recall.index.segments import WordsSegment
from longmind.recall.index.text_index import Mask, TextIndex
from longmind.store.database import Row, Transaction
from longmind.store.tables import events, passages
from longmind.store.tables.events import EventWindow
from longmind.validation.text import decode_json

_AT_ONCE = 16_384
_LITTLE = 4096
"""The number of new rows of the whole ledger up to which they are filtered one by one."""
_NAME_BYTES = 300
"""The size of a tag, a kind, a session or a run with its entry."""


class NameCodes(dict[str, int]):
    """Numbers for names, given out in the order in which names come."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


class TimelineIndex(TextIndex):
    """The events of one timeline, in the order in which they were read."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch = -1
        self.history: object = None
        self.forgotten = -1
        """The number of times that messages were forgotten, as far as it is known here."""
        self.settled = 0
        """The ledger position up to which the index is complete for good."""
        self._unsettled: set[int] = set()
        self.position = Column(np.int64)
        self.ts = Column(np.int64)
        self._kind = Column(np.int32, NOBODY)
        self._session = Column(np.int32, NOBODY)
        self._run = Column(np.int32, NOBODY)
        self._kinds, self._sessions, self._runs = NameCodes(), NameCodes(), NameCodes()
        self._says = Column(np.bool_, False)
        """Mask of the events that have a text; the others get no vector."""
        self._tagged: dict[str, array[int]] = {}

    def clear(self) -> None:
        """Forget everything, as if nothing had been loaded."""
        self.__dict__.update(TimelineIndex().__dict__)

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows of the ledger, in the order of the columns of the query `timeline_rows_after`."""
        new = [row for row in rows if row[0] not in self._unsettled]
        if not new:
            return
        first, until = self.atoms, self.atoms + len(new)
        texts = [_text(row[6], row[7]) for row in new]
        self.add_words(first, WordsSegment.from_texts(texts, [()] * len(texts)))
        here = slice(first, until)
        self.present.values[here] = True
        self.position.values[here] = [row[0] for row in new]
        self.ts.values[here] = [row[1] for row in new]
        self._kind.values[here] = [self._kinds[row[2]] for row in new]
        self._session.values[here] = [NOBODY if row[3] is None else self._sessions[row[3]] for row in new]
        self._run.values[here] = [NOBODY if row[4] is None else self._runs[row[4]] for row in new]
        self._says.values[here] = [bool(text.strip()) for text in texts]
        for place, row in enumerate(new, first):
            if row[5] not in (None, "[]"):
                for tag in decode_json(row[5], list):
                    self._tagged.setdefault(tag, array("I")).append(place)
        self._unsettled.update(row[0] for row in new)
        self.drop_derived()

    def settle(self, position: int) -> None:
        """Note that all events up to a position are here, and that none can be added below it."""
        self.settled = position
        self._unsettled = {each for each in self._unsettled if each > position}

    def _locate(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.intp], Mask]:
        """Return the places of the events at some ledger positions, and a mask of the positions that are here."""
        order = self.derive("by position", lambda: self.position.values.argsort(kind="stable"))
        at = self.position.values.searchsorted(positions, sorter=order)
        here = at < len(order)
        places = order[at[here]]
        here[here] = self.position.values[places] == positions[here]
        return order[at[here]], here

    def drop(self, positions: Sequence[int] | NDArray[np.int64]) -> None:
        """Exclude the events at some ledger positions from every search."""
        self.forget(self._locate(np.asarray(positions, np.int64))[0].tolist())
        self.drop_derived()

    def add_event_vectors(self, made: EventVectors) -> None:
        """Add vectors of the model of this index; those of events that are not here yet are ignored."""
        places, here = self._locate(made.positions)
        if len(places):
            self.put_vectors(places, made.vectors.select(here.nonzero()[0].tolist()))

    def find_without_vectors(self) -> NDArray[np.int64]:
        """Return the ledger positions, ascending, of the events that have no vector yet."""
        return np.sort(self.position.values[self.present.values & self._says.values & ~self.embedded])

    def mask_events(self, window: EventWindow, kinds: Sequence[str] | None) -> Mask:
        """Return which events pass the filters of a search: all but `any_tags` and signal."""
        mask = self.present.values & (self.ts.values >= window.since) & (self.ts.values <= window.until)
        if kinds is not None:
            mask &= np.isin(self._kind.values, [self._kinds[kind] for kind in kinds if kind in self._kinds])
        for tag in window.all_tags:
            tagged = np.zeros(self.atoms, np.bool_)
            tagged[np.array(self._tagged.get(tag, ()), np.intp)] = True
            mask &= tagged
        for column, codes, wanted in (
            (self._session, self._sessions, window.session_id),
            (self._run, self._runs, window.run_id),
        ):
            if wanted is not None:
                # No event has the code of an unknown name.
                mask &= column.values == codes.get(wanted, len(codes))
        return mask

    @property
    def loaded(self) -> bool:
        return self.epoch >= 0

    @property
    def nbytes(self) -> int:
        names = len(self._tagged) + len(self._kinds) + len(self._sessions) + len(self._runs)
        tags = sum(places.itemsize * len(places) for places in self._tagged.values())
        return self._text_bytes + names * _NAME_BYTES + tags


def refresh(run: Transaction, timeline_id: str, index: TimelineIndex, last: int) -> bool:
    """Read the events that were added since the last refresh, and return whether there are any.

    last: the last position of the ledger, which shows whether anything can have been added at all.
    """
    now, forgotten = events.read_search_state(run)
    if index.loaded and (index.epoch, index.history) != (now, run.history):
        # The data was erased, or the database has lost commits: read everything again.
        index.clear()
    index.history = run.history
    changed, index.epoch, after = not index.loaded, now, index.settled
    read = events.read_searched_among_few if last - after <= _LITTLE else events.read_searched_among_many
    while after < last:
        rows = read(run, timeline_id, after, _AT_ONCE)
        known = index.atoms
        index.add(rows)
        changed = changed or index.atoms > known
        _forget_replaced(run, index, rows)
        if len(rows) < _AT_ONCE:
            break
        after = rows[-1][0]
    if changed or index.forgotten != forgotten:
        index.drop(passages.list_unquotable_positions(run))
        changed, index.forgotten = True, forgotten
    return changed


def _forget_replaced(run: Transaction, index: TimelineIndex, rows: Sequence[Row]) -> None:
    """Drop the answers that a later attempt of the same turn has replaced."""
    for row in rows:
        stage, attempt, conversation_id, turn_id = row[8:12]
        if stage == "assistant" and attempt is not None and attempt > 1:
            index.drop(events.list_replaced_answers(run, conversation_id, turn_id, attempt))


def _text(text: str | None, content: str | None) -> str:
    return (text or "") if content is None else extract_stored_words(content)
