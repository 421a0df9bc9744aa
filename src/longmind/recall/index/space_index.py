"""In-memory index of one space: vectors, words, and the columns by which atoms are filtered and weighted.

It is a cache of the database and can be discarded at any time. It is not safe for threads: `IndexCache` lends it to one
caller at a time.
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
from longmind.recall.index.metadata_marks import MetadataIndex
from longmind.recall.index.segments import WordsSegment
from longmind.recall.index.text_index import TextIndex
from longmind.store.tables.atom_versions import VersionCut
from longmind.store.tables.passages import PassageState

Mask = NDArray[np.bool_]


Cuts = tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]
"""For each correction of an end: the position, the instant since when it was known, and the corrected end."""


class SpaceState(NamedTuple):
    """The knowledge of a space, at a revision, by which a question is understood."""

    revision: int
    filled: bool
    """True if the space has any atom."""
    model: str | None
    lacks_vectors: bool
    speakers: list[str]
    named: list[str]
    """The ids of the entities that the question names."""
    names: tuple[str, ...]
    """The names of these entities, all of them."""


class SpaceIndex(TextIndex):
    """The atoms of one space by position, as of `revision`."""

    def __init__(self) -> None:
        self.reset()

    @classmethod
    def from_words(cls, words: WordsSegment) -> SpaceIndex:
        """Return an index of texts of which only the words are known."""
        index = cls()
        index.revision = 0
        index.add_words(0, words)
        index.present.values[:] = True
        return index

    def reset(self) -> None:
        """Forget everything, as if nothing had been loaded."""
        super().__init__()
        self.revision = -1
        self.quiet = False
        """True if the last look at the database found no change."""
        self.history: object = None
        self.passages: PassageState | None = None
        """The state of the owner's messages at the last look at the database."""
        self.columns_until = 0
        self.lacks_vectors = False
        """True if an atom lacks a vector of the space's model, as one from an engine with another embedder does."""
        self.ids = Column("S37", b"")
        """The last tie-breaker. Positions do not decide, since imports and batches bring ids in any order."""
        self.kind = Column(np.uint8)
        self.trust = Column(np.uint8)
        self.importance = Column(np.uint8)
        self.category = Column(np.int32, -1)
        self.speaker = Column(np.int32, -1)
        self.speaker_codes: dict[str, int] = {}
        self._category_codes: dict[str, int] = {}
        self._tagged: dict[str, dict[int, None]] = {}
        self._tags = 0
        """The number of tags of all atoms together."""
        self._metadata = MetadataIndex()
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
        """Corrected ends as of this revision, read only for requests with `known_at` that need them."""
        self._atom_cache = AtomCache()

    def add_columns(self, at: Sequence[int], columns: AtomColumns) -> None:
        """Add or replace the columns of the atoms at some positions, and drop these atoms from the cache."""
        rows = columns.rows
        if not len(rows):
            return
        self.grow(max(at) + 1)
        self._atom_cache.drop(at)
        # A slice is copied in one piece, which is faster than place by place.
        to = slice(at.start, at.stop) if isinstance(at, range) else np.array(at, np.intp)
        for name in _AS_WRITTEN:
            getattr(self, name).values[to] = rows[name]
        self.category.values[to] = assign_codes(self._category_codes, columns.categories)[rows["category"]]
        self.speaker.values[to] = assign_codes(self.speaker_codes, columns.speakers)[rows["speaker"]]
        for tag, places in columns.tags.items():
            tagged = self._tagged.setdefault(tag, {})
            before = len(tagged)
            tagged.update(dict.fromkeys(at[place] for place in places))
            self._tags += len(tagged) - before
        self._metadata.add(at, columns.marks)

    def set_names(self, names: Iterable[tuple[str, str, int]]) -> None:
        """Replace the names of entities by these, each with its entity and the instant since when it is known."""
        self._names = EntityNames(names)

    def describe_for(self, query: str, known_at: int | None) -> SpaceState:
        """Return what the space knows that matters to a question, as of an instant if one is given."""
        # Skips what is usually absent, since every request comes through here.
        known = None if known_at is None else self.mask_known(known_at)
        named = self._names.find_entities(query, known_at) if self._names else []
        return SpaceState(
            self.revision,
            self.atoms > 0 if known is None else bool(known.any()),
            self.model,
            self.lacks_vectors,
            self.list_speakers(known),
            named,
            self._names.list_names(named, known_at) if named else (),
        )

    def mask_categories(self, names: Iterable[str]) -> Mask:
        """Return which atoms are in one of the categories."""
        # By code; the last one stands for atoms without a category.
        is_selected = np.zeros(len(self._category_codes) + 1, np.bool_)
        is_selected[[self._category_codes[name] for name in names if name in self._category_codes]] = True
        found: Mask = is_selected[self.category.values]
        return found

    def find_tagged(self, tag: str) -> Iterable[int]:
        """Return the positions of the atoms with a tag."""
        return self._tagged.get(tag, ())

    def find_with_metadata(self, key: str, value: object) -> Iterable[int]:
        """Return the positions of the atoms that have a key with a value in their metadata."""
        return self._metadata.find(key, value)

    def mask_positions(self, positions: Iterable[int]) -> Mask:
        """Return a mask that is true at these positions."""
        mask = np.zeros(self.atoms, np.bool_)
        mask[[position for position in positions if position < self.atoms]] = True
        return mask

    def mask_known(self, instant: int | None) -> Mask | None:
        """Return which atoms were known at an instant; None, which means all of them, without an instant."""
        return None if instant is None else self.present.values & (self.created_at.values <= instant)

    def list_speakers(self, known: Mask | None = None) -> list[str]:
        """Return the speakers of the space, or of the known part of it, without those whose atoms were all deleted."""
        if known is None and not self._forgotten:
            return list(self.speaker_codes)
        known_codes = set(self.speaker.values[self.present.values if known is None else known].tolist())
        return [speaker for speaker, code in self.speaker_codes.items() if code in known_codes]

    def forget(self, positions: Sequence[int]) -> None:
        self._atom_cache.drop(positions)
        super().forget(positions)

    def reach(self, revision: int) -> None:
        """Note that the index now has everything of a revision."""
        self.revision = revision
        self.drop_derived()

    def drop_derived(self) -> None:
        """Forget the derived arrays, and the ends that were corrected later."""
        super().drop_derived()
        self.cuts = None

    @property
    def lacks_cuts(self) -> bool:
        """True where an atom was superseded by one that begins before it, which can have ended older ones a second
        time.
        """
        return self.cuts is None and self.derive("corrected", self._is_corrected)

    def _is_corrected(self) -> bool:
        no_time = self.valid_to.values <= self.valid_from.values
        return bool((no_time & (self.superseded_at.values != FOREVER)).any())

    def set_cuts(self, cuts: Sequence[VersionCut]) -> None:
        """Set the ends that were corrected several times, as of this revision."""
        places, known_from, ends = np.array(cuts, np.int64).reshape(-1, 3).T
        self.cuts = (places.astype(np.intp), known_from, ends)

    def get_cached(self, positions: list[int]) -> list[Atom | None]:
        """Return the atoms at some positions as of this revision; None for one that is not cached."""
        return self._atom_cache.get(positions)

    def cache_atoms(self, atoms: Mapping[int, Atom], revision: int) -> None:
        """Cache atoms that were read at a revision or later, in as many bytes as the index itself takes."""
        if revision == self.revision:
            # Atoms of another revision may be outdated, which would go unnoticed.
            self._atom_cache.put(atoms, self._own_bytes)

    @property
    def loaded(self) -> bool:
        return self.revision >= 0

    @property
    def nbytes(self) -> int:
        return self._own_bytes + self._atom_cache.nbytes

    @property
    def _own_bytes(self) -> int:
        names = (len(self._tagged) + len(self._names)) * _NAME_BYTES + self._tags * _TAG_BYTES
        cuts = 0 if self.cuts is None else sum(column.nbytes for column in self.cuts)
        return self._text_bytes + names + cuts + self._metadata.nbytes


_NAME_BYTES = 500
"""The size of a tag or a name with its entry; a tag takes `_TAG_BYTES` more for each of its atoms."""
_TAG_BYTES = 100
_AS_WRITTEN = (
    "present", "kind", "trust", "importance", "valid_from", "valid_to", "open_until", "created_at", "superseded_at",
    "archived_at", "fresh_at", "ids",
)  # fmt: skip
