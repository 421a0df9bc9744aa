"""What is kept in memory of one space: vectors, words, and what atoms are filtered and weighed by.

It is a cache of the database and nothing else: it can be thrown away at any time and made again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.models.entity import folded_name
from recollect.recall.columns import Column
from recollect.recall.facts import FOREVER, Facts, codes_in
from recollect.recall.kernel import dots
from recollect.recall.postings import Piece, Postings
from recollect.recall.segments import AMOUNTS, OWN, VectorsSegment, WordsSegment

T = TypeVar("T")
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

SATURATION = 0.8
"""BM25's k1: how soon holding a word more does not count more."""
_WORTH = np.tile(AMOUNTS / (SATURATION + AMOUNTS), 2)
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
        self._derived_at = -1
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
        self._names: dict[str, list[str]] = {}
        self._longest_name = 0
        self.valid_from = Column(np.int64)
        self.valid_to = Column(np.int64, FOREVER)
        self.open_until = Column(np.int64, FOREVER)
        self.created_at = Column(np.int64)
        self.superseded_at = Column(np.int64, FOREVER)
        self.archived_at = Column(np.int64, FOREVER)
        self.fresh_at = Column(np.int64)

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

    def know_names(self, names: Iterable[tuple[str, str]]) -> None:
        """Take in what the entities of the space are called; these are all names there are."""
        self._names = {}
        for name, entity_id in names:
            said = " ".join(_plain(name.split()))
            if said:
                self._names.setdefault(said, []).append(entity_id)
        self._longest_name = min(max((name.count(" ") + 1 for name in self._names), default=0), _LONGEST_NAME)

    def entities_in(self, query: str) -> list[str]:
        """The entities that a query names."""
        if not self._names:
            return []
        words = _plain(folded_name(query).split()[:_MOST_WORDS])
        runs = (
            " ".join(words[start : start + length])
            for start in range(len(words))
            for length in range(1, min(self._longest_name, len(words) - start) + 1)
        )
        return sorted({entity_id for run in runs for entity_id in self._names.get(run, ())})

    def in_categories(self, names: Iterable[str]) -> Mask:
        known = [self._category_codes[name] for name in names if name in self._category_codes]
        return np.isin(self.category.values, known)

    def tagged(self, tag: str) -> Iterable[int]:
        return self._tagged.get(tag, ())

    def at(self, positions: Iterable[int]) -> Mask:
        """True at these positions and nowhere else."""
        mask = np.zeros(self.atoms, np.bool_)
        mask[[position for position in positions if position < self.atoms]] = True
        return mask

    def speakers(self) -> list[str]:
        """Who speaks in the space; not those of whom all was deleted."""
        if not self._forgotten:
            return list(self.speaker_codes)
        heard = set(self.speaker.values[self.present.values].tolist())
        return [who for who, code in self.speaker_codes.items() if code in heard]

    def forget(self, positions: Iterable[int]) -> None:
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
        asked = VectorsSegment.of(query[None, :])
        found = dots(asked.rows[0], self._vectors.values)
        scales = self._scales.values
        found *= scales
        found *= asked.scales[0]
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

    def derived(self, name: str, make: Callable[[], T]) -> T:
        """What follows from the columns: made once, and again when something has changed."""
        if self._derived_at != self.revision:
            self._derived_at = self.revision
            self._derived.clear()
        if name not in self._derived:
            self._derived[name] = make()
        made: T = self._derived[name]
        return made

    def word_scores(self, terms: Sequence[int]) -> Floats:
        """BM25 of each atom, as a share of what holding every word of the query without end would give."""
        scores = np.zeros(self.atoms, np.float32)
        pieces = self._postings.find(np.array(terms, np.uint32))
        if self._forgotten:
            pieces = self._still_there(pieces)
        holders: dict[int, int] = {}
        for number, _, codes in pieces:
            holders[number] = holders.get(number, 0) + int(np.count_nonzero(codes & OWN))
        rarity = {number: math.log1p((self.atoms - held + 0.5) / (held + 0.5)) for number, held in holders.items()}
        most = math.hypot(*rarity.values())
        for number, places, codes in pieces:
            scores[places] += np.float32(rarity[number] / most) * _WORTH[codes]
        return scores

    def _still_there(self, pieces: list[Piece]) -> list[Piece]:
        """Without deleted atoms, so that a word is as rare as it is after the space was loaded anew."""
        kept = [(number, places, codes, self.present.values[places]) for number, places, codes in pieces]
        return [(number, places[there], codes[there]) for number, places, codes, there in kept if there.any()]

    def overlap(self, terms: Sequence[int]) -> NDArray[np.float64]:
        """The distinct words that each atom has in common with a query, against the geometric mean of their numbers."""
        common = np.zeros(self.atoms)
        for _, places, codes in self._postings.find(np.array(terms, np.uint32)):
            common[places[codes >= OWN]] += 1
        return common / np.sqrt(np.maximum(len(terms) * self._own_terms.values.astype(np.float64), 1.0))

    @property
    def nbytes(self) -> int:
        vectors = self._vectors.nbytes if self._vectors is not None else 0
        derived = self.atoms * _DERIVED_BYTES
        names = (len(self._tagged) + len(self._names)) * _NAME_BYTES + self._tags * _TAG_BYTES
        columns = sum(column.nbytes for column in self._columns())
        return _SPACE_BYTES + vectors + derived + names + self._postings.nbytes + columns


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
