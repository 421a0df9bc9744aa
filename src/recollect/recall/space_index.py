"""What is kept in memory of one space: vectors, words, and what atoms are filtered and weighed by.

It is a cache of the database and nothing else: it can be thrown away at any time and made again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.models.atom import Atom
from recollect.models.entity import folded_name
from recollect.recall.columns import Column
from recollect.recall.facts import FOREVER, Facts, codes_in
from recollect.recall.kept import KeptAtoms
from recollect.recall.kernel import dots
from recollect.recall.postings import OWN, Piece, Postings
from recollect.recall.segments import AMOUNTS, VectorsSegment, WordsSegment, small_integers

T = TypeVar("T")
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

SATURATION = 0.8
"""BM25's k1: how soon holding a word more does not count more."""
_WORTH = np.tile(AMOUNTS / (SATURATION + AMOUNTS), 2).astype(np.float64)
"""By code. Whether the word is the text's own does not matter here: that bit has the same amounts over again."""


class SpaceIndex:
    def __init__(self) -> None:
        self.revision = -1
        self.atoms = 0
        """How many positions there are, those of deleted atoms included."""
        self.words_until = 0
        self.facts_until = 0
        self.vectors_until = 0
        self.model: str | None = None
        self._forgotten = False
        self._derived: dict[str, Any] = {}
        self._postings = Postings()
        self._vectors: Column | None = None
        self._scales = Column(np.float32)
        self._embedded = Column(np.bool_, False)
        self.lacks_vectors = False
        """Whether an atom has come without a vector of the space's model, from an engine with another embedder."""
        self.statements = Column(np.uint8)
        self._own_terms = Column(np.float32)
        self.present = Column(np.bool_, False)
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
        self._names: dict[str, list[tuple[str, int]]] = {}
        """The entities of each name, and since when they have it."""
        self._longest_name = 0
        self.valid_from = Column(np.int64)
        self.valid_to = Column(np.int64, FOREVER)
        self.open_until = Column(np.int64, FOREVER)
        self.created_at = Column(np.int64)
        self.superseded_at = Column(np.int64, FOREVER)
        self.archived_at = Column(np.int64, FOREVER)
        self.fresh_at = Column(np.int64)
        self._kept = KeptAtoms()

    def _columns(self) -> list[Column]:
        own = [each for each in vars(self).values() if isinstance(each, Column)]
        return [each for each in own if each is not self._vectors]

    def grow(self, atoms: int) -> None:
        self.atoms = max(self.atoms, atoms)
        for column in self._columns():
            column.grow(self.atoms)
        if self._vectors is not None:
            self._vectors.grow(self.atoms)

    def know(self, at: Sequence[int], facts: Facts) -> None:
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
        self.category.values[to] = codes_in(self._category_codes, facts.categories)[rows["category"]]
        self.speaker.values[to] = codes_in(self.speaker_codes, facts.speakers)[rows["speaker"]]
        for tag, places in facts.tags.items():
            tagged = self._tagged.setdefault(tag, {})
            before = len(tagged)
            tagged.update(dict.fromkeys(at[place] for place in places))
            self._tags += len(tagged) - before

    def know_names(self, names: Iterable[tuple[str, str, int]]) -> None:
        """Take in what the entities of the space are called, and since when; these are all names there are."""
        self._names = {}
        for name, entity_id, since in names:
            said = " ".join(_plain(name.split()))
            if said:
                self._names.setdefault(said, []).append((entity_id, since))
        self._longest_name = min(max((name.count(" ") + 1 for name in self._names), default=0), _LONGEST_NAME)

    def entities_in(self, query: str, known_at: int | None = None) -> list[str]:
        """The entities that a query names, by the names that were known at an instant."""
        if not self._names:
            return []
        words = _plain(folded_name(query).split()[:_MOST_WORDS])
        runs = (
            " ".join(words[start : start + length])
            for start in range(len(words))
            for length in range(1, min(self._longest_name, len(words) - start) + 1)
        )
        until = FOREVER if known_at is None else known_at
        return sorted({entity_id for run in runs for entity_id, since in self._names.get(run, ()) if since <= until})

    def in_categories(self, names: Iterable[str]) -> Mask:
        # By code; the last is of those that have none.
        wanted = np.zeros(len(self._category_codes) + 1, np.bool_)
        wanted[[self._category_codes[name] for name in names if name in self._category_codes]] = True
        found: Mask = wanted[self.category.values]
        return found

    def tagged(self, tag: str) -> Iterable[int]:
        return self._tagged.get(tag, ())

    def at(self, positions: Iterable[int]) -> Mask:
        """True at these positions and nowhere else."""
        mask = np.zeros(self.atoms, np.bool_)
        mask[[position for position in positions if position < self.atoms]] = True
        return mask

    def known_at(self, instant: int | None) -> Mask | None:
        """Which of the atoms that are there were so at an instant; None stands for all of them, at no instant."""
        return None if instant is None else self.present.values & (self.created_at.values <= instant)

    def speakers(self, known: Mask | None = None) -> list[str]:
        """Who speaks in the space, or in the part of it that was known; not those of whom all was deleted."""
        if known is None and not self._forgotten:
            return list(self.speaker_codes)
        heard = set(self.speaker.values[self.present.values if known is None else known].tolist())
        return [who for who, code in self.speaker_codes.items() if code in heard]

    def forget(self, positions: Sequence[int]) -> None:
        self._kept.drop(positions)
        for at in positions:
            self.present.values[at] = False
            self._forgotten = True

    def add_words(self, first: int, segment: WordsSegment) -> None:
        until = first + segment.atoms
        self.grow(until)
        self._postings.add(segment.run.moved(first))
        self.statements.values[first:until] = segment.statements
        own = segment.run.places[segment.run.codes >= OWN]
        self._own_terms.values[first:until] = np.bincount(own, minlength=segment.atoms)
        self.words_until = until

    def add_vectors(self, first: int, segment: VectorsSegment) -> None:
        until = first + segment.atoms
        if self._vectors is None:
            self._vectors = Column(np.int8, 0, segment.rows.shape[1])
        self.grow(until)
        self._vectors.values[first:until] = segment.rows
        self._scales.values[first:until] = segment.scales
        self._embedded.values[first:until] = True
        self.vectors_until = max(self.vectors_until, until)

    def lacks_vectors_in(self, first: int, until: int) -> bool:
        lacking = self.present.values[first:until] & ~self._embedded.values[first:until]
        return bool(lacking.any())

    def drop_vectors(self) -> None:
        self._vectors = None
        self._embedded = Column(np.bool_, False)
        self._embedded.grow(self.atoms)
        self._scales = Column(np.float32)
        self._scales.grow(self.atoms)
        self.vectors_until = 0

    def similarity(self, query: Floats) -> Floats | None:
        """The cosine of the query with each atom; NaN where an atom has no vector. None when no atom has one."""
        if self._vectors is None:
            return None
        asked, scale = small_integers(query)
        found = dots(asked, self._vectors.values)
        scales = self._scales.values
        found *= scales
        found *= scale
        if self.derived("some have no vector", lambda: not scales.all()):
            found[scales == 0] = np.nan
        return found

    @property
    def compared(self) -> Mask | None:
        """The atoms whose vectors tell what similarity is usual; None when it is all of them."""
        return self.derived("compared", self._compared)

    def _compared(self) -> Mask | None:
        compared = self.present.values & (self._scales.values != 0)
        return None if compared.all() else compared

    def reach(self, revision: int) -> None:
        """Note that all is here of what there is at a revision."""
        self.revision = revision
        self._derived = {}

    def derived(self, name: str, make: Callable[[], T]) -> T:
        """What follows from the columns: made once, and again when something has changed."""
        if name not in self._derived:
            self._derived[name] = make()
        made: T = self._derived[name]
        return made

    def word_scores(self, terms: Sequence[int], known: Mask | None = None) -> NDArray[np.float64]:
        """BM25 of each atom, as a share of what holding every word of the query without end would give.

        Given which atoms were known, a word is as rare as it was among them.
        """
        pieces = self._postings.find(np.array(terms, np.uint32))
        if known is not None:
            pieces = _among(pieces, known)
        elif self._forgotten:
            # So that a word is as rare as it is after the space was loaded anew.
            pieces = _among(pieces, self.present.values)
        if not pieces:
            return np.zeros(self.atoms)
        atoms = self.derived("there", self._there) if known is None else int(np.count_nonzero(known))
        holders: dict[int, int] = {}
        for number, _, _, own in pieces:
            holders[number] = holders.get(number, 0) + own
        rarity = {number: math.log1p((atoms - held + 0.5) / (held + 0.5)) for number, held in holders.items()}
        # In the order of the query: which runs hold a word, and so which is met first, changes as a space grows.
        most = math.hypot(*(rarity[number] for number in sorted(rarity)))
        # All pieces at once: a call of numpy takes longer than to go through the places of a word that few hold.
        numbers, places, codes, _ = zip(*pieces, strict=True)
        worth = _WORTH.take(np.concatenate(codes))
        worth *= np.array([rarity[number] / most for number in numbers]).repeat([len(each) for each in places])
        scores: NDArray[np.float64] = np.bincount(np.concatenate(places), worth, self.atoms)  # type: ignore[assignment]  # numpy types it as counts, which it is without weights
        return scores

    def _there(self) -> int:
        """How many atoms there are, without deleted ones: of those it is not known when they were there."""
        return int(np.count_nonzero(self.present.values))

    def overlap(self, terms: Sequence[int]) -> NDArray[np.float64]:
        """The distinct words that each atom has in common with a query, against the geometric mean of their numbers."""
        common = np.zeros(self.atoms)
        for _, places, codes, _ in self._postings.find(np.array(terms, np.uint32)):
            common[places[codes >= OWN]] += 1
        return common / np.sqrt(np.maximum(len(terms) * self._own_terms.values.astype(np.float64), 1.0))

    def kept(self, positions: Iterable[int]) -> dict[int, Atom]:
        """Those of the atoms at some positions that were kept, as they are at this revision."""
        return self._kept.at(positions)

    def keep(self, atoms: Mapping[int, Atom], revision: int) -> None:
        """Keep atoms that were read at a revision or later, in as much room as the index itself takes."""
        if revision == self.revision:
            # Or else what has changed meanwhile would not be noticed.
            self._kept.keep(atoms, self._own_bytes)

    @property
    def nbytes(self) -> int:
        return self._own_bytes + self._kept.nbytes

    @property
    def _own_bytes(self) -> int:
        vectors = self._vectors.nbytes if self._vectors is not None else 0
        derived = self.atoms * _DERIVED_BYTES
        names = (len(self._tagged) + len(self._names)) * _NAME_BYTES + self._tags * _TAG_BYTES
        columns = sum(column.nbytes for column in self._columns())
        return _SPACE_BYTES + vectors + derived + names + self._postings.nbytes + columns


def _among(pieces: list[Piece], some: Mask) -> list[Piece]:
    """What of the pieces is about some of the atoms."""
    left = []
    for number, places, codes, _ in pieces:
        there = some[places]
        if there.any():
            codes = codes[there]
            left.append((number, places[there], codes, int(np.count_nonzero(codes & OWN))))
    return left


def _plain(words: Iterable[str]) -> list[str]:
    """Words without the signs around them, in a name as in a query: one says "Dr Who" and "at McDonald's?"."""
    stripped = (word.strip(_CLINGING) for word in words)
    return [word.removesuffix("'s").removesuffix("\u2019s") for word in stripped]


_CLINGING = ".,;:!?()[]\"'\u2019\u201c\u201d"
_LONGEST_NAME = 6
"""Words of the longest entity name that is looked for in a query."""
_MOST_WORDS = 500
"""Words of a query in which names are looked for."""
_DERIVED_BYTES = 9
"""What is derived for each atom at the most."""
_SPACE_BYTES = 8_192
"""What a space takes that nothing is in: about thirty objects."""
_NAME_BYTES = 500
"""What a tag, or a name of an entity, takes with what it leads to; a tag takes more for each atom that has it."""
_TAG_BYTES = 100
_AS_WRITTEN = (
    "present", "kind", "trust", "importance", "valid_from", "valid_to", "open_until", "created_at", "superseded_at",
    "archived_at", "fresh_at", "ids",
)  # fmt: skip
