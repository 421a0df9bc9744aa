"""Columns by which recall filters and weights atoms, from rows of the database or from a segment.

A segment is a cache of the rows of atoms at neighbouring positions, current up to the revision stored with it. It
contains names that users chose, so nothing of a deleted atom may stay in it: `copy_without` removes its row and every
name that only it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json, to_json

from longmind.models.atom import AtomKind, Trust
from longmind.recall.index.metadata_marks import MARK, NO_MARKS, make_marks
from longmind.recall.index.segments import seal, unseal
from longmind.store.database import Row
from longmind.store.tables.atom_rows import PreparedAtom
from longmind.validation.text import decode_json

# Segments store indexes into these tuples, so new members go to the end.
KINDS: tuple[AtomKind, ...] = ("FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE", "PATTERN")
TRUSTS: tuple[Trust, ...] = ("user", "app", "assistant", "tool")
FOREVER = int(np.iinfo(np.int64).max)
_NEVER = int(np.iinfo(np.int64).min)
NOBODY = -1
"""The code of a missing speaker or category."""

_MARK = b"FCTS"
_ROW = np.dtype(
    [
        ("present", "?"), ("kind", "u1"), ("trust", "u1"), ("importance", "u1"), ("category", "<i4"),
        ("speaker", "<i4"), ("valid_from", "<i8"), ("valid_to", "<i8"), ("open_until", "<i8"), ("created_at", "<i8"),
        ("superseded_at", "<i8"), ("archived_at", "<i8"), ("fresh_at", "<i8"), ("ids", "S37"),
    ]
)  # fmt: skip
_NOTHING = np.zeros(1, _ROW)
_NOTHING[["category", "speaker"]] = (NOBODY, NOBODY)


@dataclass(frozen=True)
class AtomColumns:
    """A row for each atom. Categories and speakers are codes of names in lists; tags map to the rows that have them."""

    rows: NDArray[Any]
    categories: list[str]
    speakers: list[str]
    tags: dict[str, list[int]]
    marks: NDArray[Any] = field(default_factory=NO_MARKS.copy)
    """The marks of their metadata, each with the row that has it."""

    @property
    def atoms(self) -> int:
        return len(self.rows)

    @classmethod
    def from_rows(cls, read: Sequence[Row]) -> AtomColumns:
        """Return the columns of rows in the order of the SQL fragment `fact_columns`, at least one."""
        *columns, tags, speakers, metadata = zip(*read, strict=True)
        named = [() if written == "[]" else decode_json(written, list) for written in tags]
        return cls._from_columns(columns, named, speakers, metadata)

    @classmethod
    def from_atoms(cls, atoms: Sequence[PreparedAtom]) -> AtomColumns:
        """Return the columns of atoms that are about to be inserted, at least one."""
        # Column by column, which is several times as fast as building rows first.
        never = (None,) * len(atoms)
        valid_to = [each.valid_to for each in atoms]
        columns = (
            never,
            [each.kind for each in atoms],
            [each.trust for each in atoms],
            [each.importance for each in atoms],
            [each.valid_from for each in atoms],
            valid_to,
            valid_to,
            [each.created_at for each in atoms],
            never,
            never,
            never,
            [each.category_name for each in atoms],
            [each.id for each in atoms],
        )
        return cls._from_columns(
            columns,
            [each.tags for each in atoms],
            [each.speaker for each in atoms],
            [each.metadata for each in atoms],
        )

    @classmethod
    def _from_columns(
        cls,
        columns: Sequence[Any],
        tags: Sequence[Sequence[str]],
        speakers: Iterable[str | None],
        metadata: Sequence[str],
    ) -> AtomColumns:
        (
            _, kinds, trusts, importances, valid_from, valid_to, open_until, created_at, superseded_at, archived_at,
            confirmed_at, categories, ids,
        ) = columns  # fmt: skip
        rows = np.empty(len(kinds), _ROW)
        rows["present"] = True
        rows["ids"] = ids
        rows["kind"] = [_KIND_CODES[kind] for kind in kinds]
        rows["trust"] = [_TRUST_CODES[trust] for trust in trusts]
        rows["importance"] = importances
        rows["valid_from"] = valid_from
        rows["valid_to"] = _or_forever(valid_to)
        rows["open_until"] = _or_forever(open_until)
        rows["created_at"] = created_at
        rows["superseded_at"] = _or_forever(superseded_at)
        rows["archived_at"] = _or_forever(archived_at)
        rows["fresh_at"] = np.maximum(valid_from, [_NEVER if instant is None else instant for instant in confirmed_at])
        names: dict[str, int] = {}
        rows["category"] = [names.setdefault(name, len(names)) for name in categories]
        voices: dict[str, int] = {}
        rows["speaker"] = [NOBODY if who is None else voices.setdefault(who, len(voices)) for who in speakers]
        tagged: dict[str, list[int]] = {}
        for place, own in enumerate(tags):
            for tag in own:
                tagged.setdefault(tag, []).append(place)
        return cls(rows, list(names), list(voices), tagged, make_marks(metadata))

    @classmethod
    def from_range(cls, read: Sequence[Row], first: int, until: int) -> AtomColumns:
        """Return the columns of a range of positions from the rows that are left of it; a deleted atom has an empty
        row.
        """
        empty = cls(np.repeat(_NOTHING, until - first), [], [], {})
        if not read:
            return empty
        facts = cls.from_rows(read)
        places = [row[0] - first for row in read]
        empty.rows[places] = facts.rows
        tags = {tag: [places[each] for each in tagged] for tag, tagged in facts.tags.items()}
        marks = facts.marks.copy()
        marks["place"] = np.array(places, "<i4")[marks["place"]]
        return cls(empty.rows, facts.categories, facts.speakers, tags, marks)

    @classmethod
    def join(cls, pieces: Sequence[AtomColumns]) -> AtomColumns:
        """Join the columns of adjacent ranges, in the order of positions."""
        names: dict[str, int] = {}
        voices: dict[str, int] = {}
        tags: dict[str, list[int]] = {}
        rows, marks, first = [], [], 0
        for piece in pieces:
            moved = piece.rows.copy()
            moved["category"] = assign_codes(names, piece.categories)[moved["category"]]
            moved["speaker"] = assign_codes(voices, piece.speakers)[moved["speaker"]]
            for tag, places in piece.tags.items():
                tags.setdefault(tag, []).extend(place + first for place in places)
            rows.append(moved)
            marks.append(piece.marks.copy())
            marks[-1]["place"] += first
            first += piece.atoms
        return cls(np.concatenate(rows), list(names), list(voices), tags, np.concatenate(marks))

    def cut(self, bounds: Sequence[int]) -> list[AtomColumns]:
        """Split the columns at the given places, of which the first is 0."""
        return [self._slice(start, until) for start, until in pairwise([*bounds, self.atoms])]

    def _slice(self, start: int, until: int) -> AtomColumns:
        tags = {tag: [each - start for each in places if start <= each < until] for tag, places in self.tags.items()}
        marks = self.marks[(self.marks["place"] >= start) & (self.marks["place"] < until)]
        marks["place"] -= start
        rows = self.rows[start:until].copy()
        return AtomColumns(rows, self.categories, self.speakers, tags, marks)._drop_unused_names()

    def copy_without(self, place: int) -> AtomColumns:
        """Return a copy that contains nothing of one atom, not even a name that only it had."""
        rows = self.rows.copy()
        rows[place] = _NOTHING[0]
        tags = {tag: [each for each in places if each != place] for tag, places in self.tags.items()}
        marks = self.marks[self.marks["place"] != place]
        return AtomColumns(rows, self.categories, self.speakers, tags, marks)._drop_unused_names()

    def _drop_unused_names(self) -> AtomColumns:
        """Return the columns without the categories, speakers and tags that no atom has."""
        rows = self.rows
        categories, rows["category"] = _renumber(self.categories, rows["category"])
        speakers, rows["speaker"] = _renumber(self.speakers, rows["speaker"])
        tags = {tag: places for tag, places in self.tags.items() if places}
        return AtomColumns(rows, categories, speakers, tags, self.marks)

    def encode(self) -> bytes:
        """Return the columns as a segment."""
        names = to_json([self.categories, self.speakers, self.tags])
        counts = (self.atoms, len(names), len(self.marks))
        return seal(_MARK, 0, counts, np.frombuffer(names, "u1"), self.rows, self.marks)

    @classmethod
    def decode(cls, blob: bytes) -> AtomColumns:
        """Read a segment. Raises `StoreError` if it is damaged."""
        _, (atoms, length, marks), take = unseal(blob, _MARK)
        categories, speakers, tags = from_json(take("u1", length).tobytes())
        rows = take(_ROW, atoms)
        if (rows["valid_from"] < 0).any():
            # Early versions stored 1970 as the freshness of atoms that began before it and were never confirmed.
            rows = rows.copy()
            rows["fresh_at"] = np.where(rows["fresh_at"] == 0, rows["valid_from"], rows["fresh_at"])
        return cls(rows, categories, speakers, tags, take(MARK, marks))


def assign_codes(known: dict[str, int], names: Iterable[str]) -> NDArray[np.int32]:
    """Return the codes of names, adding new ones to `known`; the last code is `NOBODY`, for atoms without a name."""
    return np.array([*(known.setdefault(name, len(known)) for name in names), NOBODY], np.int32)


def _renumber(names: list[str], codes: NDArray[Any]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names that are still in use, and the codes by which they are used now."""
    used = set(codes.tolist())
    left = {name: None for code, name in enumerate(names) if code in used}
    known = {name: code for code, name in enumerate(left)}
    renumbered = np.array([*(known.get(name, NOBODY) for name in names), NOBODY], np.int32)
    return list(left), renumbered[codes]


_KIND_CODES = {kind: code for code, kind in enumerate(KINDS)}
_TRUST_CODES = {trust: code for code, trust in enumerate(TRUSTS)}


def _or_forever(instants: Iterable[int | None]) -> list[int]:
    return [FOREVER if instant is None else instant for instant in instants]
