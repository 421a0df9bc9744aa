"""In-memory index of texts by position: their words and their vectors.

Atoms of a space and events of a timeline are such texts; the subclasses add the columns by which they are filtered.
Positions never move: a deleted text keeps its place and is not `present`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from longmind.recall import kernels as kernel
from longmind.recall.index.growable_column import Column
from longmind.recall.index.postings import OWN, Postings, RunArrays
from longmind.recall.index.segments import AMOUNTS, FINER, VectorsSegment, WordsSegment, damage_error
from longmind.recall.kernels.numpy_vectors import measure_largest_error
from longmind.recall.kernels.numpy_words import find_pieces

T = TypeVar("T")
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Steps = NDArray[np.int8]

SATURATION = 0.8
"""BM25's k1: how soon more of a word stops counting more."""
WORTH = np.tile(AMOUNTS / (SATURATION + AMOUNTS), 2).astype(np.float64)
"""The weight of each code; a word of the text itself and one around it have the same."""


class TextIndex:
    """Words and vectors of texts. It is not safe for threads."""

    def __init__(self) -> None:
        self.atoms = 0
        """The number of positions, deleted texts included."""
        self.expected = 0
        """The number of positions that a first load is about to add; 0 after it."""
        self.words_until = 0
        self.vectors_until = 0
        self.model: str | None = None
        self.present = Column(np.bool_, False)
        self.statements = Column(np.uint8)
        self._own_terms = Column(np.float32)
        self._forgotten = False
        self._derived: dict[str, Any] = {}
        self._postings = Postings()
        self._vectors: Column | None = None
        self._finer: Column | None = None
        self._scales = Column(np.float32)
        self._embedded = Column(np.bool_, False)
        self._column_bytes = 0

    def _columns(self) -> list[Column]:
        own = [each for each in vars(self).values() if isinstance(each, Column)]
        return [each for each in own if each is not self._vectors and each is not self._finer]

    def grow(self, atoms: int) -> None:
        """Make room for a number of texts."""
        if atoms > self.atoms:
            self.atoms = atoms
            # Derived values may refer to columns that are too short now.
            self.drop_derived()
        columns = self._columns()
        for column in columns:
            column.grow(self.atoms, self.expected)
        self._column_bytes = sum(column.nbytes for column in columns)
        if self._vectors is not None and self._finer is not None:
            self._vectors.grow(self.atoms, self.expected)
            self._finer.grow(self.atoms, self.expected)

    def add_words(self, first: int, segment: WordsSegment) -> None:
        """Add the words of texts that come after all others."""
        until = first + segment.atoms
        self.grow(until)
        self.drop_derived()
        self._postings.add(segment.run.shift(first))
        self.statements.values[first:until] = segment.statements
        # The number of distinct own words of each text, for `overlap`.
        own = segment.run.places[segment.run.codes >= OWN]
        self._own_terms.values[first:until] = np.bincount(own, minlength=segment.atoms)
        self.words_until = until

    def add_vectors(self, first: int, segment: VectorsSegment) -> None:
        """Add the vectors of a range of texts."""
        until = first + segment.atoms
        self.grow(until)
        self.put_vectors(slice(first, until), segment)
        self.vectors_until = max(self.vectors_until, until)

    def put_vectors(self, to: slice | NDArray[np.intp], segment: VectorsSegment) -> None:
        """Add the vectors of known texts, at neighbouring positions or not."""
        self.drop_derived()
        if self._vectors is None or self._finer is None:
            self._vectors, self._finer = (Column(np.int8, 0, segment.dimension) for _ in range(2))
            self._vectors.grow(self.atoms, self.expected)
            self._finer.grow(self.atoms, self.expected)
        self._vectors.values[to] = segment.rows
        self._finer.values[to] = segment.finer
        self._scales.values[to] = segment.scales
        self._embedded.values[to] = True

    @property
    def embedded(self) -> Mask:
        """Mask of the texts that were given to the embedder, even if it made nothing of them."""
        return self._embedded.values

    @property
    def has_vectors(self) -> bool:
        """True if any text has a vector."""
        return self._vectors is not None

    @property
    def own_terms(self) -> Floats:
        """The number of distinct words of each text."""
        return self._own_terms.values

    def lacks_vectors_in(self, first: int, until: int) -> bool:
        """Return whether a text of a range was never given to the embedder."""
        lacking = self.present.values[first:until] & ~self._embedded.values[first:until]
        return bool(lacking.any())

    def drop_vectors(self) -> None:
        """Forget all vectors, before those of another model."""
        self.drop_derived()
        self._vectors = self._finer = None
        self._embedded = Column(np.bool_, False)
        self._embedded.grow(self.atoms)
        self._scales = Column(np.float32)
        self._scales.grow(self.atoms)
        self.vectors_until = 0

    def forget(self, positions: Sequence[int]) -> None:
        """Mark texts as deleted."""
        for at in positions:
            self.present.values[at] = False
            self._forgotten = True

    def similarity(self, query: Floats) -> NDArray[np.float64] | None:
        """Return the cosine of the query with each text, NaN for one without a vector; None if no text has one."""
        if self._vectors is None or self._finer is None:
            return None
        found = np.empty(self.atoms)
        vectors = self._vectors.values, self._finer.values, self._scales.values
        kernel.loops.fine_likeness(to_contiguous(query), *vectors, found)
        return found

    def decode_vectors(self, positions: NDArray[np.intp]) -> Floats | None:
        """Return the vectors at some positions as rows, zeros for a text without one; None if no text has one."""
        if self._vectors is None or self._finer is None:
            return None
        steps = self._vectors.values[positions].astype(np.int16) * np.int16(FINER) + self._finer.values[positions]
        return np.asarray(steps * (self._scales.values[positions] / np.float32(FINER))[:, np.newaxis], np.float32)

    def rough_similarity(self, query: Floats) -> Floats | None:
        """Return the cosine to about three digits, in a fraction of the time; None if no text has a vector."""
        if self._vectors is None:
            return None
        found = np.empty(self.atoms, np.float32)
        kernel.likeness(to_contiguous(query), self._vectors.values, self._scales.values, found)
        return found

    def measure_largest_error(self, query: Floats) -> float:
        """Return the largest error of a rough similarity."""
        return measure_largest_error(query, self._scales.values)

    @property
    def compared(self) -> Mask | None:
        """Mask of the texts whose vectors define the usual similarity; None for all of them."""
        return self.derive("compared", self._mask_compared)

    def _mask_compared(self) -> Mask | None:
        compared = self.present.values & (self._scales.values != 0)
        return None if compared.all() else compared

    def drop_derived(self) -> None:
        """Forget what was derived, since something has changed."""
        self._derived = {}

    def derive(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` computes from the columns, computed once until something changes."""
        if name not in self._derived:
            self._derived[name] = make()
        made: T = self._derived[name]
        return made

    def word_scores(self, terms: Sequence[int], known: Mask | None = None) -> NDArray[np.float64]:
        """Return the BM25 score of each text, as a share of the score of a text that is full of every word of the
        query.

        known: the texts that were known at an instant; a word is as rare as it was among them.
        """
        among, atoms = self.count_for_words(known)
        scores = np.zeros(self.atoms)
        try:
            kernel.loops.word_scores(self._postings.arrays(), tuple(terms), WORTH, among, atoms, scores)
        except ValueError as error:
            raise damage_error() from error
        return scores

    def count_for_words(self, known: Mask | None) -> tuple[Mask | None, int]:
        """Return the texts among which the rarity of words is measured, None for all of them, and their number."""
        if known is not None:
            return known, int(np.count_nonzero(known))
        # Without deleted texts, so that rarity is the same as after loading the space again.
        return self.present.values if self._forgotten else None, self.derive("there", self._count_present)

    @property
    def searched(self) -> tuple[tuple[RunArrays, ...], Steps | None, Steps | None, Floats]:
        """The postings of all texts, the high and the low bytes of their vectors if there are any, and the scales."""
        rows = None if self._vectors is None else self._vectors.values
        finer = None if self._finer is None else self._finer.values
        return self._postings.arrays(), rows, finer, self._scales.values

    def _count_present(self) -> int:
        """Return the number of texts that are not deleted."""
        return int(np.count_nonzero(self.present.values))

    def overlap(self, terms: Sequence[int], around: float = 0.0, of_reader: Sequence[int] = ()) -> NDArray[np.float64]:
        """Return the distinct words that each text shares with a query, over the geometric mean of their numbers.

        around: the share that a word counts if only the texts around hold it. The result is at most 1.
        of_reader: further words of the query, which count only in texts that share any of the others.
        """
        common = self._count_common(terms, around)
        if of_reader:
            common += np.where(common > 0, self._count_common(of_reader, around), 0.0)
        asked = len(terms) + len(of_reader)
        common /= np.sqrt(np.maximum(asked * self._own_terms.values.astype(np.float64), 1.0))
        return np.minimum(common, 1.0, out=common)

    def _count_common(self, terms: Sequence[int], around: float) -> NDArray[np.float64]:
        common = np.zeros(self.atoms)
        for _, places, codes, _ in find_pieces(self._postings.arrays(), terms):
            common[places] += np.where(codes >= OWN, 1.0, around)
        return common

    def mask_holding(self, terms: Sequence[int]) -> Mask:
        """Return which texts hold one of some words themselves."""
        mask = np.zeros(self.atoms, np.bool_)
        for _, places, codes, _ in find_pieces(self._postings.arrays(), terms):
            mask[places[codes >= OWN]] = True
        return mask

    @property
    def _text_bytes(self) -> int:
        vectors = sum(each.nbytes for each in (self._vectors, self._finer) if each is not None)
        derived = self.atoms * _DERIVED_BYTES
        return _INDEX_BYTES + vectors + derived + self._postings.nbytes + self._column_bytes


def to_contiguous(vector: Floats) -> Floats:
    """Return a vector as a contiguous array: an embedder may return a view with a stride."""
    return vector if vector.flags.carray else np.array(vector)


_DERIVED_BYTES = 9
"""The largest size of derived values per text."""
_INDEX_BYTES = 8_192
"""The size of an empty index: about thirty objects."""
