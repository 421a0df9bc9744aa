"""What is kept in memory of one space: vectors, words, and what atoms are filtered and weighed by.

It is a cache of the database and nothing else: it can be thrown away at any time and made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.models.atom import Atom
from longmind.recall.entity_names import EntityNames
from longmind.recall.index.atom_cache import AtomCache
from longmind.recall.index.atom_columns import FOREVER, AtomColumns, assign_codes
from longmind.recall.index.growable_column import Column
from longmind.recall.index.segments import WordsSegment
from longmind.recall.index.text_index import TextIndex
from longmind.store.tables.atom_versions import VersionCut

Mask = NDArray[np.bool_]


Cuts = tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]
"""Places, since when it was known of each that it ends no later than at an instant, and those instants."""


class SpaceState(NamedTuple):
    """What is known in a space, at a revision, that a question has to be understood by."""

    revision: int
    filled: bool
    """Whether there is anything at all."""
    model: str | None
    lacks_vectors: bool
    speakers: list[str]
    named: list[str]
    """The entities that the question names."""


class SpaceIndex(TextIndex):
    def __init__(self) -> None:
        self.reset()

    @classmethod
    def from_words(cls, words: WordsSegment) -> SpaceIndex:
        """Of texts that nothing is known of but their words."""
        index = cls()
        index.revision = 0
        index.add_words(0, words)
        index.present.values[:] = True
        return index

    def reset(self) -> None:
        """Know nothing."""
        super().__init__()
        self.revision = -1
        self.quiet = False
        """Whether the last look at the database has found nothing new."""
        self.history: object = None
        self.facts_until = 0
        self.lacks_vectors = False
        """Whether an atom has come without a vector of the space's model, from an engine with another embedder."""
        self.ids = Column("S37", b"")
        """What equals are ordered by. Positions do not tell: the ids of a bulk, or of what is older, are any."""
        self.kind = Column(np.uint8)
        self.trust = Column(np.uint8)
        self.importance = Column(np.uint8)
        self.category = Column(np.int32, -1)
        self.speaker = Column(np.int32, -1)
        self.speaker_codes: dict[str, int] = {}
        self._category_codes: dict[str, int] = {}
        self._tagged: dict[str, dict[int, None]] = {}
        self._tags = 0
        """How many tags there are on all atoms together."""
        self.names_revision = -1
        self._names = EntityNames()
        self.valid_from = Column(np.int64)
        self.valid_to = Column(np.int64, FOREVER)
        self.open_until = Column(np.int64, FOREVER)
        self.created_at = Column(np.int64)
        self.superseded_at = Column(np.int64, FOREVER)
        self.archived_at = Column(np.int64, FOREVER)
        self.fresh_at = Column(np.int64)
        self.cuts: Cuts | None = None
        """What is read for questions about what was known, of this revision, and only where it makes a difference."""
        self._kept = AtomCache()

    def add_columns(self, at: Sequence[int], facts: AtomColumns) -> None:
        """Take in what is known of the atoms at some positions, new ones and changed ones."""
        rows = facts.rows
        if not len(rows):
            return
        self.grow(max(at) + 1)
        self._kept.drop(at)
        # A range is copied in one piece, faster than place by place.
        to = slice(at.start, at.stop) if isinstance(at, range) else np.array(at, np.intp)
        for name in _AS_WRITTEN:
            getattr(self, name).values[to] = rows[name]
        self.category.values[to] = assign_codes(self._category_codes, facts.categories)[rows["category"]]
        self.speaker.values[to] = assign_codes(self.speaker_codes, facts.speakers)[rows["speaker"]]
        for tag, places in facts.tags.items():
            tagged = self._tagged.setdefault(tag, {})
            before = len(tagged)
            tagged.update(dict.fromkeys(at[place] for place in places))
            self._tags += len(tagged) - before

    def set_names(self, names: Iterable[tuple[str, str, int]]) -> None:
        """Take in what the entities of the space are called, and since when; these are all names there are."""
        self._names = EntityNames(names)

    def describe_for(self, query: str, known_at: int | None) -> SpaceState:
        # What is mostly not there is not asked for: every question is heard first.
        known = None if known_at is None else self.mask_known(known_at)
        return SpaceState(
            self.revision,
            self.atoms > 0 if known is None else bool(known.any()),
            self.model,
            self.lacks_vectors,
            self.list_speakers(known),
            self._names.entities_in(query, known_at) if self._names else [],
        )

    def mask_categories(self, names: Iterable[str]) -> Mask:
        # By code; the last is of those that have none.
        wanted = np.zeros(len(self._category_codes) + 1, np.bool_)
        wanted[[self._category_codes[name] for name in names if name in self._category_codes]] = True
        found: Mask = wanted[self.category.values]
        return found

    def find_tagged(self, tag: str) -> Iterable[int]:
        return self._tagged.get(tag, ())

    def mask_positions(self, positions: Iterable[int]) -> Mask:
        """True at these positions and nowhere else."""
        mask = np.zeros(self.atoms, np.bool_)
        mask[[position for position in positions if position < self.atoms]] = True
        return mask

    def mask_known(self, instant: int | None) -> Mask | None:
        """Which of the atoms that are there were so at an instant; None stands for all of them, at no instant."""
        return None if instant is None else self.present.values & (self.created_at.values <= instant)

    def list_speakers(self, known: Mask | None = None) -> list[str]:
        """Who speaks in the space, or in the part of it that was known; not those of whom all was deleted."""
        if known is None and not self._forgotten:
            return list(self.speaker_codes)
        heard = set(self.speaker.values[self.present.values if known is None else known].tolist())
        return [who for who, code in self.speaker_codes.items() if code in heard]

    def forget(self, positions: Sequence[int]) -> None:
        self._kept.drop(positions)
        super().forget(positions)

    def reach(self, revision: int) -> None:
        """Note that all is here of what there is at a revision."""
        self.revision = revision
        self.drop_derived()

    def drop_derived(self) -> None:
        super().drop_derived()
        self.cuts = None

    @property
    def lacks_cuts(self) -> bool:
        """Whether a version was superseded by one that begins before it: that may have cut older ones once more."""
        return self.cuts is None and self.derive("corrected", self._is_corrected)

    def _is_corrected(self) -> bool:
        no_time = self.valid_to.values <= self.valid_from.values
        return bool((no_time & (self.superseded_at.values != FOREVER)).any())

    def set_cuts(self, cuts: Sequence[VersionCut]) -> None:
        places, known_from, ends = np.array(cuts, np.int64).reshape(-1, 3).T
        self.cuts = (places.astype(np.intp), known_from, ends)

    def get_cached(self, positions: list[int]) -> list[Atom | None]:
        """The atoms at some positions as they are at this revision, None for one that was not kept."""
        return self._kept.get(positions)

    def cache_atoms(self, atoms: Mapping[int, Atom], revision: int) -> None:
        """Keep atoms that were read at a revision or later, in as much room as the index itself takes."""
        if revision == self.revision:
            # Or else what has changed meanwhile would not be noticed.
            self._kept.put(atoms, self._own_bytes)

    @property
    def loaded(self) -> bool:
        return self.revision >= 0

    @property
    def nbytes(self) -> int:
        return self._own_bytes + self._kept.nbytes

    @property
    def _own_bytes(self) -> int:
        names = (len(self._tagged) + len(self._names)) * _NAME_BYTES + self._tags * _TAG_BYTES
        cuts = 0 if self.cuts is None else sum(column.nbytes for column in self.cuts)
        return self._text_bytes + names + cuts


_NAME_BYTES = 500
"""What a tag, or a name of an entity, takes with what it leads to; a tag takes more for each atom that has it."""
_TAG_BYTES = 100
_AS_WRITTEN = (
    "present", "kind", "trust", "importance", "valid_from", "valid_to", "open_until", "created_at", "superseded_at",
    "archived_at", "fresh_at", "ids",
)  # fmt: skip
