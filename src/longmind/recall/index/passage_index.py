"""In-memory index of a user's messages in pieces: words, vectors, and the columns by which they are filtered.

It is a cache of the ledger and can be discarded at any time. A row is a piece, and rows are in the order in which they
were read. `previous` and `next` link the pieces of each conversation in their order; answers that a later one replaced,
and messages that were forgotten, are left out of these links.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.growable_column import Column
from longmind.recall.index.passage_entries import NO_NAME, PassageEntries
from longmind.recall.index.text_index import Mask, TextIndex
from longmind.recall.index.timeline_index import NameCodes
from longmind.store.database import Row
from longmind.store.tables.bindings import BoundSpace
from longmind.store.tables.passages import PassageState

EVERY_NAMESPACE = "*"
ROLES = ("user", "assistant", "tool")
"""The roles by their codes. A speaker without a name has the code of the role."""
SPEAKING_ROLES = ROLES[:2]
"""The roles that a question can ask about; a tool is never asked what it has said."""
_NOTHING = -1
_USER = 0
_CODES = {role: code for code, role in enumerate(ROLES)}
_CONVERSATION_BYTES = 400
"""The size of the id of a conversation with its entries."""
_NAME_BYTES = 300
_MORE_DERIVED_BYTES = 24
"""The size of values that only this index derives, per piece: what it needs, its statements, its order among equals."""


class PieceSpan(NamedTuple):
    """The place of a piece in the ledger."""

    position: int
    begins: int
    ends: int


class PassageIndex(TextIndex):
    """The pieces of all messages of one user that some binding covers."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: PassageState | None = None
        """The state of the database that the index was brought up to."""
        self.settled = 0
        """The ledger position up to which the index is complete for good."""
        self.covered: frozenset[str] = frozenset()
        """The namespaces whose messages are here; `EVERY_NAMESPACE` stands for all."""
        self.bindings: list[tuple[str, list[BoundSpace]]] = []
        """Each covered namespace with the spaces of a binding."""
        self.namespaces_of_space: dict[str, frozenset[str]] = {}
        """The covered namespaces that lead to a space, for the spaces that were asked for."""
        self._unsettled: set[int] = set()
        self.position = Column(np.int64)
        self.sequence = Column(np.int64)
        self.conversation = Column(np.int32)
        self.namespace = Column(np.int32)
        self.role = Column(np.int8)
        self.speaker = Column(np.int32)
        self.said_at = Column(np.int64)
        self.replaced_at = Column(np.int64, FOREVER)
        """The time of the answer that replaced a piece; `FOREVER` if none did."""
        self.begins = Column(np.int32)
        self.ends = Column(np.int32)
        self.previous = Column(np.int32, _NOTHING)
        self.next = Column(np.int32, _NOTHING)
        self._turn = Column(np.int64)
        self._attempt = Column(np.int32)
        self._stored = Column(np.bool_, False)
        """Mask of the pieces that some segment holds."""
        self.conversations = NameCodes()
        self.namespaces = NameCodes()
        self.speakers = NameCodes(_CODES)
        self._namespace_of: list[int] = []
        """The code of the namespace of each conversation."""
        self._last: dict[int, int] = {}
        """The last linked piece of each conversation."""
        self._later: dict[int, list[tuple[int, int]]] = {}
        """The attempts after the first of a turn, each with its time."""
        self._asked_again: set[int] = set()
        """Turns of which a further attempt came since the last call of `link`."""
        self._silent: set[int] = set()
        """Positions of messages without pieces that no segment holds."""

    def clear(self) -> None:
        """Forget everything, as if nothing had been loaded."""
        # In place, since the cache and the caller hold this very object.
        self.__dict__.update(type(self)().__dict__)

    @property
    def loaded(self) -> bool:
        return self.seen is not None

    def is_current(self, seen: PassageState) -> bool:
        """Return whether the index has everything of a state of the database."""
        return self.seen == seen and self.settled >= seen.newest

    # --- filling ---

    def find_new(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows of messages that are not here yet."""
        return [row for row in rows if row[0] not in self._unsettled]

    def note_conversation(self, conversation_id: str, namespace: str) -> None:
        """Note the namespace of a conversation whose messages are added next."""
        if conversation_id not in self.conversations:
            self.conversations[conversation_id]
            self._namespace_of.append(self.namespaces[namespace])

    def covers(self, namespace: str) -> bool:
        """Return whether the messages of a namespace belong here."""
        return namespace in self.covered or EVERY_NAMESPACE in self.covered

    def add(self, rows: Sequence[Row], entries: PassageEntries, *, is_stored: bool) -> None:
        """Add messages that are not here, whose conversations were noted; `link` follows once all are added.

        rows: the first columns of `passages.read_rows` for the entries, in the same order.
        """
        self._unsettled.update(row[0] for row in rows)
        # Turns are known by hashes of their ids, which take eight bytes per piece and are never stored.
        for _, _, _, stage, ts, turn_id, attempt, *_ in rows:
            if stage == "assistant" and (attempt or 1) > 1:
                self._later.setdefault(hash(turn_id), []).append((attempt, ts))
                self._asked_again.add(hash(turn_id))
        if not is_stored:
            self._silent.update(entries.positions[entries.counts == 0].tolist())
        if not entries.pieces:
            return
        first, until = self.atoms, self.atoms + entries.pieces
        self.add_words(first, entries.words)
        here, counts = slice(first, until), entries.counts.astype(np.int64)

        def spread(values: Iterable[int]) -> NDArray[np.int64]:
            return np.repeat(np.fromiter(values, np.int64, len(rows)), counts)

        self.present.values[here] = True
        self.position.values[here] = np.repeat(entries.positions, counts)
        self.sequence.values[here] = spread(row[1] for row in rows)
        conversations = spread(self.conversations[row[2]] for row in rows)
        self.conversation.values[here] = conversations
        self.namespace.values[here] = np.array(self._namespace_of, np.int32)[conversations]
        roles = spread(_CODES[row[3]] for row in rows)
        self.role.values[here] = roles
        codes = np.array([*(self.speakers[name] for name in entries.names), NO_NAME], np.int32)
        speakers = np.repeat(codes[entries.speakers], counts)
        self.speaker.values[here] = np.where(speakers == NO_NAME, roles, speakers)
        self.said_at.values[here] = spread(row[4] for row in rows)
        self._turn.values[here] = spread(hash(row[5]) for row in rows)
        self._attempt.values[here] = spread(row[6] or 1 for row in rows)
        self.begins.values[here] = entries.begins
        self.ends.values[here] = entries.ends
        self._stored.values[here] = is_stored
        if entries.vectors is not None:
            self.put_vectors(here, entries.vectors)

    def link(self, first: int) -> None:
        """Find which answers were replaced, and link the pieces from a row on with those before them."""
        self.drop_derived()
        self._mark_replaced(first)
        is_new = self.present.values[first:] & (self.replaced_at.values[first:] == FOREVER)
        rows = is_new.nonzero()[0] + first
        if not len(rows):
            return
        # By conversation, then by message, then by piece: the last key counts most.
        keys = self.begins.values[rows], self.sequence.values[rows], self.conversation.values[rows]
        rows = rows[np.lexsort(keys)]
        conversations = self.conversation.values[rows]
        same = conversations[1:] == conversations[:-1]
        self.previous.values[rows[1:][same]] = rows[:-1][same]
        self.next.values[rows[:-1][same]] = rows[1:][same]
        begins = np.concatenate(([0], (~same).nonzero()[0] + 1))
        for start, end in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
            conversation, head = int(conversations[start]), int(rows[start])
            before = self._last.get(conversation, _NOTHING)
            self.previous.values[head] = before
            if before != _NOTHING:
                self.next.values[before] = head
            self._last[conversation] = int(rows[end - 1])

    def _mark_replaced(self, first: int) -> None:
        """Mark answers of which a later attempt is here. New pieces, from a row on, are not linked yet."""
        if not self._later:
            return
        candidates = (self.role.values != _USER) & self.present.values
        candidates[:first] &= np.isin(self._turn.values[:first], _to_array(self._asked_again))
        candidates[first:] &= np.isin(self._turn.values[first:], _to_array(self._later))
        self._asked_again = set()
        for row in candidates.nonzero()[0].tolist():
            attempt = self._attempt.values[row]
            later = [ts for other, ts in self._later[int(self._turn.values[row])] if other > attempt]
            if later:
                if row < first and self.replaced_at.values[row] == FOREVER:
                    self._unlink(row)
                self.replaced_at.values[row] = min(later)

    def _unlink(self, row: int) -> None:
        """Take a piece out of the links of its conversation, if it is there."""
        before, after = int(self.previous.values[row]), int(self.next.values[row])
        conversation = int(self.conversation.values[row])
        is_last = self._last.get(conversation) == row
        linked = is_last or (after != _NOTHING and self.previous.values[after] == row)
        if not linked:
            return
        if before != _NOTHING:
            self.next.values[before] = after
        if after != _NOTHING:
            self.previous.values[after] = before
        if is_last:
            if before == _NOTHING:
                del self._last[conversation]
            else:
                self._last[conversation] = before

    def settle(self, position: int) -> None:
        """Note that all messages up to a position are here, and that none can be added below it."""
        if position > self.settled:
            self.settled = position
            self._unsettled = {each for each in self._unsettled if each > position}

    def drop(self, positions: Sequence[int]) -> None:
        """Exclude the messages at some positions from every search."""
        rows = np.isin(self.position.values, np.array(positions, np.int64)) & self.present.values
        for row in rows.nonzero()[0].tolist():
            self._unlink(row)
            self.present.values[row] = False
            self._forgotten = True
        self._silent.difference_update(positions)
        self.drop_derived()

    def add_entries(self, entries: PassageEntries) -> None:
        """Note entries that a segment holds, and add the vectors if they are of the model of this index."""
        self._silent.difference_update(entries.positions.tolist())
        if not entries.pieces or not self.atoms:
            return
        order = self.derive("by position", lambda: self.position.values.argsort(kind="stable"))
        ordered = self.position.values[order]
        at = ordered.searchsorted(entries.positions)
        counts = entries.counts.astype(np.int64)
        before = np.zeros(len(counts), np.int64)
        np.cumsum(counts[:-1], out=before[1:])
        # The pieces of a message stand next to each other, in both.
        places = np.arange(entries.pieces) + np.repeat(at - before, counts)
        known = places < len(order)
        rows = order[np.where(known, places, 0)]
        known &= self.position.values[rows] == np.repeat(entries.positions, counts)
        known &= (self.begins.values[rows] == entries.begins) & (self.ends.values[rows] == entries.ends)
        self.drop_derived()
        self._stored.values[rows[known]] = True
        known &= self.present.values[rows]
        if entries.vectors is not None and known.any():
            self.put_vectors(rows[known], entries.vectors.select(known.nonzero()[0].tolist()))

    # --- reading ---

    def find_unstored(self, *, embedded: bool) -> tuple[NDArray[np.int64], set[int]]:
        """Return the positions, ascending, of the messages that no segment holds, and those of them without pieces.

        embedded: True for segments with the vectors of the model of this index, False for any.
        """
        held = self.embedded if embedded else self._stored.values
        return np.unique(self.position.values[self.present.values & ~held]), self._silent

    @property
    def lacks_vectors(self) -> bool:
        """True if some piece has no vector of the model yet."""
        return self.derive("lacks vectors", lambda: bool((self.present.values & ~self.embedded).any()))

    @property
    def unstored(self) -> int:
        """The number of pieces that no segment holds."""
        return self.derive("unstored", lambda: int(np.count_nonzero(self.present.values & ~self._stored.values)))

    def describe(self, rows: Sequence[int] | NDArray[np.intp]) -> list[PieceSpan]:
        """Return the places of some pieces in the ledger."""
        chosen = np.asarray(rows, np.intp)
        columns = (self.position.values[chosen], self.begins.values[chosen], self.ends.values[chosen])
        return [PieceSpan(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]

    def mask_namespaces(self, namespaces: frozenset[str]) -> Mask:
        """Return which pieces were said in one of some namespaces and are not forgotten."""
        if EVERY_NAMESPACE in namespaces:
            return self.present.values
        return self.derive(f"said in {sorted(namespaces)}", lambda: self._find_said_in(namespaces))

    def _find_said_in(self, namespaces: frozenset[str]) -> Mask:
        codes = [self.namespaces[name] for name in namespaces if name in self.namespaces]
        return self.present.values & np.isin(self.namespace.values, codes)

    def list_speakers(self, namespaces: frozenset[str], instant: int | None = None) -> list[str]:
        """Return the names of those who spoke in some namespaces by an instant, after the roles of speakers."""
        if instant is None:
            return self.derive(f"speakers in {sorted(namespaces)}", lambda: self._find_speakers(namespaces, FOREVER))
        return self._find_speakers(namespaces, instant)

    def _find_speakers(self, namespaces: frozenset[str], instant: int) -> list[str]:
        spoke = np.zeros(len(self.speakers), np.bool_)
        spoke[self.speaker.values[self.mask_namespaces(namespaces) & (self.said_at.values <= instant)]] = True
        names = [name for name, code in self.speakers.items() if code >= len(ROLES) and spoke[code]]
        return [*SPEAKING_ROLES, *names]

    @property
    def nbytes(self) -> int:
        names = (len(self.namespaces) + len(self.speakers)) * _NAME_BYTES
        turns = (len(self._later) + len(self._silent)) * _NAME_BYTES
        derived = self.atoms * _MORE_DERIVED_BYTES
        return self._text_bytes + derived + len(self.conversations) * _CONVERSATION_BYTES + names + turns


def _to_array(numbers: Collection[int]) -> NDArray[np.int64]:
    return np.fromiter(numbers, np.int64, len(numbers))
