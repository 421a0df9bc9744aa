"""Segments: the form in which the search index is stored.

A segment is one blob with the columns of atoms at neighbouring positions, counted from the first of them. Words and
vectors have segments of their own, since a change of embedder replaces the vectors and leaves the words. Invariants:

- A blob begins with a mark, a version, the dimension of vectors, three counts and a checksum of the rest. Anything else
raises `StoreError`; a blob is never read in part.
- Numbers are little-endian whatever the machine, so that a database can move between machines.
- In a words segment, postings are sorted by term and then by place, each pair once. The code of a posting is the amount
on a logarithmic scale, with the highest bit set for a word of the text itself; other words come from the texts around
it.
- The amount depends on constants and on one text and its surroundings alone, never on the rest of the space, so that a
segment stays true however the space grows. Rarity is applied at search time.
- A vector has length 1. Each number is a scale times a high byte and a 256th of a low byte; a scale of zero means that
there is no vector. The high bytes alone give an approximate likeness with a known error.
- `_run_of_one` and `WordsReader` produce the same segments; the first is faster for one text.
- Deleting an atom rewrites its segments without it, so that no word or number of it is left.
"""

from __future__ import annotations

import struct
import sys
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.errors import StoreError
from longmind.language.word_batches import terms_of_each
from longmind.language.words import count_statement_words, terms_of
from longmind.recall.index.postings import OWN, PostingRun
from longmind.validation.text import DAMAGED_HINT

Array = NDArray[Any]

_VERSION = 1
_HEADER = struct.Struct("<4sBxHIIII")

# The amount of a word in a text: its count over the length of the text, also for the texts around it.
LENGTH_SHARE = 0.6
USUAL_LENGTH = 16.0
"""The usual number of words of a text. A constant, so that segments stay true when a space grows."""
NEAR_WEIGHTS = (0.5, 0.5, 0.3, 0.3)
"""The weight of a word in the texts around, the nearest first; the last weight holds for all further ones."""
LONG_TEXT = 40.0
"""The number of words from which the texts around a text count less."""

# One byte holds the amount on a logarithmic scale; the highest bit marks a word of the text itself.
_LEAST, _STEP = 0.01, 0.06
AMOUNTS = (_LEAST * np.exp(_STEP * np.arange(128))).astype(np.float32)


@dataclass(frozen=True)
class IndexedText:
    """A text to index, and the texts around it, the nearest first."""

    text: str
    around: Sequence[str] = ()


@dataclass(frozen=True)
class WordsSegment:
    """The words of some atoms, and how much each atom states."""

    run: PostingRun
    statements: Array
    """The number of words of each atom outside of questions, up to `MOST_STATED`."""

    @property
    def atoms(self) -> int:
        return len(self.statements)

    @classmethod
    def from_texts(cls, texts: Sequence[str], around: Sequence[Sequence[str]]) -> WordsSegment:
        """Return the words of texts, each with the texts around it."""
        return WordsReader(texts, around).segment()

    def cut(self, bounds: Sequence[int]) -> list[WordsSegment]:
        """Split the segment at the given places, of which the first is 0."""
        if len(bounds) == 1:
            return [self]
        starts = np.array([*bounds, self.atoms], np.uint32)
        piece = (starts.searchsorted(self.run.places, "right") - 1).astype(np.uint16)
        # numpy sorts numbers of two bytes in linear time, and the stable order keeps each piece sorted by term.
        order = np.argsort(piece, kind="stable")
        ends = np.bincount(piece, minlength=len(bounds)).cumsum()
        terms, places, codes = self.run.expand_terms()[order], self.run.places[order], self.run.codes[order]
        pieces = []
        for number, (start, until) in enumerate(pairwise(starts.tolist())):
            part = slice(int(ends[number - 1]) if number else 0, int(ends[number]))
            run = PostingRun.from_sorted(terms[part], places[part] - np.uint32(start), codes[part])
            pieces.append(WordsSegment(run, self.statements[start:until]))
        return pieces

    @classmethod
    def join(cls, segments: Sequence[WordsSegment]) -> WordsSegment:
        """Join adjacent segments, in the order of positions."""
        runs, first = [], 0
        for segment in segments:
            runs.append(segment.run.shift(first))
            first += segment.atoms
        return cls(PostingRun.merge(runs), np.concatenate([segment.statements for segment in segments]))

    def skip(self, place: int) -> WordsSegment:
        """Return the segment without the atoms before a place."""
        if place <= 0:
            return self
        kept = self.run.places >= place
        places = self.run.places[kept] - np.uint32(place)
        run = PostingRun.from_postings(self.run.expand_terms()[kept], places, self.run.codes[kept])
        return WordsSegment(run, self.statements[place:])

    def copy_without(self, place: int) -> WordsSegment:
        """Return a copy that contains nothing of one atom."""
        kept = self.run.places != place
        terms = self.run.expand_terms()[kept]
        statements = self.statements.copy()
        statements[place] = 0
        return WordsSegment(PostingRun.from_postings(terms, self.run.places[kept], self.run.codes[kept]), statements)

    def select(self, places: Sequence[int]) -> WordsSegment:
        """Return the words of some atoms in the given order."""
        new_place = np.full(self.atoms, -1, np.int64)
        new_place[list(places)] = np.arange(len(places))
        moved = new_place[self.run.places]
        kept = moved >= 0
        run = PostingRun.from_postings(
            self.run.expand_terms()[kept], moved[kept].astype(np.uint32), self.run.codes[kept]
        )
        return WordsSegment(run, self.statements[list(places)])

    def encode(self) -> bytes:
        """Return the segment as bytes."""
        run = self.run
        return seal(
            b"WRDS",
            0,
            (self.atoms, len(run.terms), run.size),
            run.terms.astype("<u4", copy=False),
            (run.starts[1:] - run.starts[:-1]).astype("<u4", copy=False),
            self.statements,
            run.places.astype(_place_type(self.atoms)),
            run.codes,
        )

    @classmethod
    def decode(cls, blob: bytes) -> WordsSegment:
        """Read a segment. Raises `StoreError` if it is damaged."""
        _, (atoms, terms, postings), take = unseal(blob, b"WRDS")
        found, counts = take("<u4", terms).astype(np.uint32, copy=False), take("<u4", terms)
        statements = take("u1", atoms)
        starts = np.zeros(terms + 1, np.uint32)
        np.cumsum(counts, out=starts[1:])
        run = PostingRun(found, starts, take(_place_type(atoms), postings).astype(np.uint32), take("u1", postings))
        return cls(run, statements)


_LEAST_SCALE = np.float32(1e-30)
FINER = 256
"""The steps of a low byte in one step of a high byte."""
_ROUGH_MARK = b"VCTS"
"""The mark of segments of early versions, which have high bytes alone."""


@dataclass(frozen=True)
class VectorsSegment:
    """The vectors of some atoms as small integers: a scale, high bytes and low bytes, see the module."""

    rows: Array
    finer: Array
    scales: Array

    @property
    def atoms(self) -> int:
        return len(self.scales)

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1])

    @classmethod
    def from_vectors(cls, vectors: NDArray[np.float32]) -> VectorsSegment:
        """Return vectors of length 1 as small integers."""
        rows, finer = np.empty(vectors.shape, np.int8), np.empty(vectors.shape, np.int8)
        scales = np.empty(len(vectors), np.float32)
        # In parts that fit into the processor's cache.
        for start in range(0, len(vectors), 256):
            part = slice(start, start + 256)
            scale = np.abs(vectors[part]).max(axis=1) / np.float32(127)
            scales[part] = scale
            steps = to_steps(vectors[part], scale[:, None])
            rows[part] = rough(steps)
            finer[part] = steps.view(np.int8)[:, _LOW_BYTES]
        return cls(rows, finer, scales)

    @classmethod
    def join(cls, segments: Sequence[VectorsSegment]) -> VectorsSegment:
        return cls(
            np.concatenate([segment.rows for segment in segments]),
            np.concatenate([segment.finer for segment in segments]),
            np.concatenate([segment.scales for segment in segments]),
        )

    def _each(self, change: Callable[[Array], Array]) -> VectorsSegment:
        return VectorsSegment(change(self.rows), change(self.finer), change(self.scales))

    def cut(self, bounds: Sequence[int]) -> list[VectorsSegment]:
        """Split the segment at the given places, of which the first is 0."""
        return [self._each(itemgetter(slice(*edges))) for edges in pairwise([*bounds, self.atoms])]

    def skip(self, place: int) -> VectorsSegment:
        """Return the segment without the atoms before a place."""
        return self if place <= 0 else self._each(itemgetter(slice(place, None)))

    def copy_without(self, place: int) -> VectorsSegment:
        """Return a copy in which one atom has no vector."""

        def clear(column: Array) -> Array:
            column = column.copy()
            column[place] = 0
            return column

        return self._each(clear)

    def select(self, places: Sequence[int]) -> VectorsSegment:
        return self._each(itemgetter(list(places)))

    def decode_vector(self, place: int) -> NDArray[np.float32]:
        """Return one vector as floats."""
        steps = self.rows[place] * np.int16(FINER) + self.finer[place]
        return np.asarray(steps * (self.scales[place] / np.float32(FINER)), np.float32)

    def spread(self, places: Sequence[int]) -> VectorsSegment:
        """Return the vectors at other places, which ascend; the places between them have no vector."""

        def place_apart(column: Array) -> Array:
            wider = np.zeros((places[-1] + 1, *column.shape[1:]), column.dtype)
            wider[list(places)] = column
            return wider

        return self._each(place_apart)

    def encode(self) -> bytes:
        return seal(b"VCT2", self.dimension, (self.atoms, 0, 0), *self.to_columns())

    def to_columns(self) -> tuple[Array, Array, Array]:
        """Return the columns in the order in which they are stored."""
        return self.scales.astype("<f4", copy=False), self.rows, self.finer

    @classmethod
    def decode(cls, blob: bytes) -> VectorsSegment:
        """Read a segment. Raises `StoreError` if it is damaged."""
        is_rough = blob[:4] == _ROUGH_MARK
        dimension, (atoms, _, _), take = unseal(blob, _ROUGH_MARK if is_rough else b"VCT2")
        return cls.from_columns(take, atoms, dimension, is_rough=is_rough)

    @classmethod
    def from_columns(cls, take: Any, atoms: int, dimension: int, *, is_rough: bool) -> VectorsSegment:
        """Take the columns out of a segment that `unseal` has opened."""
        scales, shape = take("<f4", atoms), (atoms, dimension)
        rows = take("i1", atoms * dimension).reshape(shape)
        return cls(rows, np.zeros_like(rows) if is_rough else take("i1", atoms * dimension).reshape(shape), scales)


def to_steps(vectors: NDArray[np.float32], scale: Any) -> NDArray[np.int16]:
    """Return numbers as 16-bit integers; a scale is worth 256 of their steps."""
    numbers = vectors / (np.maximum(scale, _LEAST_SCALE) / np.float32(FINER))
    steps: NDArray[np.int16] = np.rint(numbers, out=numbers).astype(np.int16)
    return steps


def rough(steps: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the nearest multiples of 256, as high bytes. The rest of each number is its low byte, with a sign."""
    nearest: NDArray[np.int16] = (steps + np.int16(FINER // 2)) >> 8
    return nearest


_LOW_BYTES = slice(0 if sys.byteorder == "little" else 1, None, 2)


def small_integers(vector: NDArray[np.float32]) -> tuple[NDArray[np.int16], np.float32]:
    """Return one vector as 16-bit integers, and its scale."""
    # argmax takes a fifth of the time of max here.
    scale: np.float32 = max(vector[vector.argmax()], -vector[vector.argmin()]) / np.float32(127)
    return to_steps(vector, scale), scale


def _unit(weight: Any, length: Any) -> Any:
    """Return the amount that each word counts in a text of this length."""
    return weight / (1 - LENGTH_SHARE + LENGTH_SHARE * length / USUAL_LENGTH)


def _weights_of(around: Sequence[str]) -> Iterator[float]:
    return islice(chain(NEAR_WEIGHTS, repeat(NEAR_WEIGHTS[-1])), len(around))


def _run_of_one(text: str, around: Sequence[str]) -> PostingRun:
    """Return the postings of a single atom, for which arrays are slower than a dictionary."""
    own = terms_of(text)
    amounts: dict[int, float] = {}
    _add_up(amounts, own, 1.0)
    need = min(1.0, LONG_TEXT / max(len(own), 1))
    for near, weight in zip(around, _weights_of(around), strict=True):
        terms = terms_of(near)
        _add_up(amounts, terms, weight * need * min(1.0, LONG_TEXT / max(len(terms), 1)))
    terms = sorted(amounts)
    of_text = set(own)
    codes = bytes([_code(amounts[term], term in of_text) for term in terms])
    count = len(terms)
    starts = np.arange(count + 1, dtype=np.uint32)
    return PostingRun(np.array(terms, np.uint32), starts, np.zeros(count, np.uint32), np.frombuffer(codes, np.uint8))


def _add_up(amounts: dict[int, float], terms: list[int], weight: float) -> None:
    unit = _unit(weight, len(terms))
    for term in terms:
        amounts[term] = amounts.get(term, 0.0) + unit


class WordsReader:
    """Reads the words of texts and of the texts around them, some at a time."""

    def __init__(self, texts: Sequence[str], around: Sequence[Sequence[str]]) -> None:
        self._texts = texts
        self._around = around
        self._found: list[_TermOccurrences] = []
        self._stated: list[int] = []

    def read(self, until: int) -> None:
        """Read on up to a number of texts."""
        start = len(self._stated)
        texts, around = self._texts[start:until], self._around[start:until]
        terms, text_of = terms_of_each(texts)
        lengths = np.bincount(text_of, minlength=len(texts))
        self._found.append(_TermOccurrences.from_arrays(terms, text_of + start, _unit(1.0, lengths)[text_of], own=True))
        if any(around):
            self._read_around(start, around, lengths)
        self._stated += map(count_statement_words, texts)

    def _read_around(self, start: int, around: Sequence[Sequence[str]], own_lengths: Array) -> None:
        """Read the texts around a run of texts that begins at `start`; `own_lengths` are their numbers of words."""
        terms, near_of = terms_of_each([near for each in around for near in each])
        place_of = np.repeat(np.arange(len(around)), list(map(len, around)))
        lengths = np.bincount(near_of, minlength=len(place_of))
        weights = np.array([weight for each in around for weight in _weights_of(each)])
        weights *= np.minimum(1.0, LONG_TEXT / np.maximum(own_lengths, 1))[place_of]
        weights *= np.minimum(1.0, LONG_TEXT / np.maximum(lengths, 1))
        self._found.append(
            _TermOccurrences.from_arrays(terms, place_of[near_of] + start, _unit(weights, lengths)[near_of], own=False)
        )

    def segment(self) -> WordsSegment:
        """Read the rest, and return the segment."""
        if len(self._texts) == 1:
            run, stated = _run_of_one(self._texts[0], self._around[0]), [count_statement_words(self._texts[0])]
        else:
            self.read(len(self._texts))
            run, stated = self._run(), self._stated
        return WordsSegment(run, np.array(stated, np.uint8))

    def _run(self) -> PostingRun:
        """Return the postings; the amounts of a word that an atom holds several times are added in the order of its
        text.
        """
        keys = np.concatenate([found.keys for found in self._found])
        order = keys.argsort()
        ordered = keys[order]
        begins = np.ones(len(keys), np.bool_)
        begins[1:] = ordered[1:] != ordered[:-1]
        which = np.empty(len(keys), np.int64)
        which[order] = begins.cumsum() - 1
        keys = ordered[begins]
        amounts = np.bincount(which, np.concatenate([found.amounts for found in self._found]), len(keys))
        own = np.zeros(len(keys), np.bool_)
        own[which[np.concatenate([np.full(len(found.keys), found.own) for found in self._found])]] = True
        codes = _BOUNDS.searchsorted(amounts).astype(np.uint8) + OWN * own
        return PostingRun.from_sorted((keys >> _HALF).astype(np.uint32), keys.astype(np.uint32), codes)


class _TermOccurrences(NamedTuple):
    """Words of some texts, in arrays, since one object for each word would burden the garbage collector."""

    keys: NDArray[np.uint64]
    """The term in the upper half, and the place of its atom in the lower."""
    amounts: NDArray[np.float64]
    own: bool
    """True if the words are of the texts themselves."""

    @classmethod
    def from_arrays(cls, terms: Array, places: Array, amounts: Array, *, own: bool) -> _TermOccurrences:
        return cls((terms.astype(np.uint64) << _HALF) | places.astype(np.uint64), amounts, own)


_HALF = np.uint64(32)
_BOUNDS = _LEAST * np.exp(_STEP * (np.arange(127) + 0.5))
"""The bounds between codes, half way on the logarithmic scale."""
_BOUNDS_LIST = _BOUNDS.tolist()


def _code(amount: float, own: bool) -> int:
    return bisect_left(_BOUNDS_LIST, amount) + (128 if own else 0)


def _place_type(atoms: int) -> str:
    """Return the type of stored places: two bytes are enough for all but the largest batches."""
    return "<u2" if atoms <= 65_536 else "<u4"


def seal(mark: bytes, dimension: int, counts: tuple[int, int, int], *columns: Array) -> bytes:
    """Return columns as a blob with a header and a checksum."""
    body = b"".join(column.tobytes() for column in columns)
    return _HEADER.pack(mark, _VERSION, dimension, *counts, zlib.crc32(body)) + body


def unseal(blob: bytes, mark: bytes) -> tuple[int, tuple[int, int, int], Any]:
    """Check the header and the checksum of a blob, and return the dimension, the counts and a reader of its columns.

    Raises `StoreError` if the blob is damaged or of another kind.
    """
    if len(blob) < _HEADER.size:
        raise damage_error()
    found, version, dimension, *counts, checksum = _HEADER.unpack_from(blob)
    if found != mark or version != _VERSION or zlib.crc32(memoryview(blob)[_HEADER.size :]) != checksum:
        raise damage_error()
    at = _HEADER.size

    def take(kind: str, count: int) -> Array:
        nonlocal at
        try:
            column = np.frombuffer(blob, kind, count, at)
        except ValueError as error:
            # The checksum fits but a column is short, which only a forged segment can be.
            raise damage_error() from error
        at += column.nbytes
        return column

    return dimension, (counts[0], counts[1], counts[2]), take


def damage_error() -> StoreError:
    """Return the error for a damaged segment."""
    return StoreError("A segment of the search index is damaged.", hint=DAMAGED_HINT)
