"""How the search index is written down: columns of many atoms in one blob, with a version and a checksum.

A segment covers atoms of neighbouring positions. Words and vectors have segments of their own, since a change of
embedder replaces the vectors and leaves the words as they are.
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
from longmind.recall.index.postings import OWN, Run
from longmind.validation.text import DAMAGED_HINT

Array = NDArray[Any]

_VERSION = 1
_HEADER = struct.Struct("<4sBxHIIII")

# How much a text holds a word: the count, against the length of the text, for its own words and for those around it.
LENGTH_SHARE = 0.6
USUAL_LENGTH = 16.0
"""Telling words of a text of usual length. A constant, so that nothing has to be counted anew when a space grows."""
NEAR_WEIGHTS = (0.5, 0.5, 0.3, 0.3)
"""What a word counts that stands in the first, second … text around, the nearest first."""
LONG_TEXT = 40.0
"""Telling words from which on a text speaks for itself, and what is around it counts less."""

# One byte holds it on a logarithmic scale; the highest bit tells that the word is the text's own.
_LEAST, _STEP = 0.01, 0.06
AMOUNTS = (_LEAST * np.exp(_STEP * np.arange(128))).astype(np.float32)


@dataclass(frozen=True)
class IndexedText:
    """A text that is to be found, and what stands around it, the nearest first."""

    text: str
    around: Sequence[str] = ()


@dataclass(frozen=True)
class WordsSegment:
    """The words of some atoms, with places counted from the segment's first, and how much each atom states."""

    run: Run
    statements: Array
    """Words of each atom that are not in a question, up to a number beyond which more says nothing."""

    @property
    def atoms(self) -> int:
        return len(self.statements)

    @classmethod
    def from_texts(cls, texts: Sequence[str], around: Sequence[Sequence[str]]) -> WordsSegment:
        """From texts, each with what stands around it."""
        return WordsReader(texts, around).segment()

    def cut(self, bounds: Sequence[int]) -> list[WordsSegment]:
        """In pieces that begin at these places; the first of them is 0."""
        if len(bounds) == 1:
            return [self]
        starts = np.array([*bounds, self.atoms], np.uint32)
        piece = (starts.searchsorted(self.run.places, "right") - 1).astype(np.uint16)
        # Numbers of two bytes are sorted in one go through them, and what is sorted by terms stays so in each piece.
        order = np.argsort(piece, kind="stable")
        ends = np.bincount(piece, minlength=len(bounds)).cumsum()
        terms, places, codes = self.run.expand_terms()[order], self.run.places[order], self.run.codes[order]
        pieces = []
        for number, (start, until) in enumerate(pairwise(starts.tolist())):
            part = slice(int(ends[number - 1]) if number else 0, int(ends[number]))
            run = Run.from_sorted(terms[part], places[part] - np.uint32(start), codes[part])
            pieces.append(WordsSegment(run, self.statements[start:until]))
        return pieces

    @classmethod
    def join(cls, segments: Sequence[WordsSegment]) -> WordsSegment:
        """Adjacent segments, oldest first, as one."""
        runs, first = [], 0
        for segment in segments:
            runs.append(segment.run.shift(first))
            first += segment.atoms
        return cls(Run.merge(runs), np.concatenate([segment.statements for segment in segments]))

    def skip(self, place: int) -> WordsSegment:
        """What is left when the atoms before a place are known already."""
        if place <= 0:
            return self
        kept = self.run.places >= place
        places = self.run.places[kept] - np.uint32(place)
        run = Run.from_postings(self.run.expand_terms()[kept], places, self.run.codes[kept])
        return WordsSegment(run, self.statements[place:])

    def copy_without(self, place: int) -> WordsSegment:
        """The same with nothing left of one atom."""
        kept = self.run.places != place
        terms = self.run.expand_terms()[kept]
        statements = self.statements.copy()
        statements[place] = 0
        return WordsSegment(Run.from_postings(terms, self.run.places[kept], self.run.codes[kept]), statements)

    def select(self, places: Sequence[int]) -> WordsSegment:
        """The words of some atoms alone, in the order that is given."""
        new_place = np.full(self.atoms, -1, np.int64)
        new_place[list(places)] = np.arange(len(places))
        moved = new_place[self.run.places]
        kept = moved >= 0
        run = Run.from_postings(self.run.expand_terms()[kept], moved[kept].astype(np.uint32), self.run.codes[kept])
        return WordsSegment(run, self.statements[list(places)])

    def encode(self) -> bytes:
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
        _, (atoms, terms, postings), take = unseal(blob, b"WRDS")
        found, counts = take("<u4", terms).astype(np.uint32, copy=False), take("<u4", terms)
        statements = take("u1", atoms)
        starts = np.zeros(terms + 1, np.uint32)
        np.cumsum(counts, out=starts[1:])
        run = Run(found, starts, take(_place_type(atoms), postings).astype(np.uint32), take("u1", postings))
        return cls(run, statements)


_LEAST_SCALE = np.float32(1e-30)
FINER = 256
"""How many steps of the finer numbers make one of the rough ones."""
_ROUGH_MARK = b"VCTS"
"""Of vectors that were written down when there were rough numbers alone."""


@dataclass(frozen=True)
class VectorsSegment:
    """The vectors of some atoms, each as small integers and a scale. A scale of zero says that there is no vector.

    A number is its scale times the rough integer and a 256th of the finer one. The rough ones alone are soon compared,
    and tell whom it is worth to compare by both.
    """

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
        """In pieces that begin at these places; the first of them is 0."""
        return [self._each(itemgetter(slice(*edges))) for edges in pairwise([*bounds, self.atoms])]

    def skip(self, place: int) -> VectorsSegment:
        return self if place <= 0 else self._each(itemgetter(slice(place, None)))

    def copy_without(self, place: int) -> VectorsSegment:
        def cleared(column: Array) -> Array:
            column = column.copy()
            column[place] = 0
            return column

        return self._each(cleared)

    def select(self, places: Sequence[int]) -> VectorsSegment:
        return self._each(itemgetter(list(places)))

    def decode_vector(self, place: int) -> NDArray[np.float32]:
        steps = self.rows[place] * np.int16(FINER) + self.finer[place]
        return np.asarray(steps * (self.scales[place] / np.float32(FINER)), np.float32)

    def spread(self, places: Sequence[int]) -> VectorsSegment:
        """The same vectors at other places; those between have none."""

        def placed(column: Array) -> Array:
            wider = np.zeros((places[-1] + 1, *column.shape[1:]), column.dtype)
            wider[list(places)] = column
            return wider

        return self._each(placed)

    def encode(self) -> bytes:
        return seal(b"VCT2", self.dimension, (self.atoms, 0, 0), *self.to_columns())

    def to_columns(self) -> tuple[Array, Array, Array]:
        """The columns in the order in which they are written down."""
        return self.scales.astype("<f4", copy=False), self.rows, self.finer

    @classmethod
    def decode(cls, blob: bytes) -> VectorsSegment:
        is_rough = blob[:4] == _ROUGH_MARK
        dimension, (atoms, _, _), take = unseal(blob, _ROUGH_MARK if is_rough else b"VCT2")
        return cls.from_columns(take, atoms, dimension, is_rough=is_rough)

    @classmethod
    def from_columns(cls, take: Any, atoms: int, dimension: int, *, is_rough: bool) -> VectorsSegment:
        """The columns as they were written down, which are all that is left to take."""
        scales, shape = take("<f4", atoms), (atoms, dimension)
        rows = take("i1", atoms * dimension).reshape(shape)
        return cls(rows, np.zeros_like(rows) if is_rough else take("i1", atoms * dimension).reshape(shape), scales)


def to_steps(vectors: NDArray[np.float32], scale: Any) -> NDArray[np.int16]:
    """Numbers as the finest integers that there are of them; a scale is what one of the rough ones is worth."""
    numbers = vectors / (np.maximum(scale, _LEAST_SCALE) / np.float32(FINER))
    steps: NDArray[np.int16] = np.rint(numbers, out=numbers).astype(np.int16)
    return steps


def rough(steps: NDArray[np.int16]) -> NDArray[np.int16]:
    """The nearest rough integers. What is left of each is its lower byte, taken with a sign."""
    nearest: NDArray[np.int16] = (steps + np.int16(FINER // 2)) >> 8
    return nearest


_LOW_BYTES = slice(0 if sys.byteorder == "little" else 1, None, 2)


def small_integers(vector: NDArray[np.float32]) -> tuple[NDArray[np.int16], np.float32]:
    """One vector in the finest steps, and what a rough one of them is worth."""
    # The largest, found by its place, which takes a fifth of the time of a maximum.
    scale: np.float32 = max(vector[vector.argmax()], -vector[vector.argmin()]) / np.float32(127)
    return to_steps(vector, scale), scale


def _unit(weight: Any, length: Any) -> Any:
    """What each word counts in a text of so many, or in each of many texts."""
    return weight / (1 - LENGTH_SHARE + LENGTH_SHARE * length / USUAL_LENGTH)


def _weights_of(around: Sequence[str]) -> Iterator[float]:
    return islice(chain(NEAR_WEIGHTS, repeat(NEAR_WEIGHTS[-1])), len(around))


def _run_of_one(text: str, around: Sequence[str]) -> Run:
    """The postings of a single atom. It does what `WordsReader` does, for which one atom is too few to be worth it."""
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
    return Run(np.array(terms, np.uint32), starts, np.zeros(count, np.uint32), np.frombuffer(codes, np.uint8))


def _add_up(amounts: dict[int, float], terms: list[int], weight: float) -> None:
    unit = _unit(weight, len(terms))
    for term in terms:
        amounts[term] = amounts.get(term, 0.0) + unit


class WordsReader:
    """The words of texts, each with what stands around it, which can be read some at a time."""

    def __init__(self, texts: Sequence[str], around: Sequence[Sequence[str]]) -> None:
        self._texts = texts
        self._around = around
        self._found: list[_TermOccurrences] = []
        self._stated: list[int] = []

    def read(self, until: int) -> None:
        """Read on, as far as the first so many texts."""
        start = len(self._stated)
        texts, around = self._texts[start:until], self._around[start:until]
        terms, text_of = terms_of_each(texts)
        lengths = np.bincount(text_of, minlength=len(texts))
        self._found.append(_TermOccurrences.from_arrays(terms, text_of + start, _unit(1.0, lengths)[text_of], own=True))
        if any(around):
            self._read_around(start, around, lengths)
        self._stated += map(count_statement_words, texts)

    def _read_around(self, start: int, around: Sequence[Sequence[str]], own_lengths: Array) -> None:
        """Read what stands around texts, the first of which has this place, and each so many words of its own."""
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
        if len(self._texts) == 1:
            run, stated = _run_of_one(self._texts[0], self._around[0]), [count_statement_words(self._texts[0])]
        else:
            self.read(len(self._texts))
            run, stated = self._run(), self._stated
        return WordsSegment(run, np.array(stated, np.uint8))

    def _run(self) -> Run:
        """The postings; a word that an atom holds several times adds up, in the order of its text."""
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
        return Run.from_sorted((keys >> _HALF).astype(np.uint32), keys.astype(np.uint32), codes)


class _TermOccurrences(NamedTuple):
    """Words of some texts, in arrays, since one object for each word would burden Python's garbage collector."""

    keys: NDArray[np.uint64]
    """The term, and the place of the atom that holds it."""
    amounts: NDArray[np.float64]
    own: bool
    """Whether they are of the atoms' own texts."""

    @classmethod
    def from_arrays(cls, terms: Array, places: Array, amounts: Array, *, own: bool) -> _TermOccurrences:
        return cls((terms.astype(np.uint64) << _HALF) | places.astype(np.uint64), amounts, own)


_HALF = np.uint64(32)
_BOUNDS = _LEAST * np.exp(_STEP * (np.arange(127) + 0.5))
"""Where one code ends and the next begins: half way on the logarithmic scale."""
_BOUNDS_LIST = _BOUNDS.tolist()


def _code(amount: float, own: bool) -> int:
    return bisect_left(_BOUNDS_LIST, amount) + (128 if own else 0)


def _place_type(atoms: int) -> str:
    """How places are written: two bytes hold those of all but the largest bulks."""
    return "<u2" if atoms <= 65_536 else "<u4"


def seal(mark: bytes, dimension: int, counts: tuple[int, int, int], *columns: Array) -> bytes:
    body = b"".join(column.tobytes() for column in columns)
    return _HEADER.pack(mark, _VERSION, dimension, *counts, zlib.crc32(body)) + body


def unseal(blob: bytes, mark: bytes) -> tuple[int, tuple[int, int, int], Any]:
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
            # Whole, and yet shorter than it says: nobody but a forger writes that.
            raise damage_error() from error
        at += column.nbytes
        return column

    return dimension, (counts[0], counts[1], counts[2]), take


def damage_error() -> StoreError:
    return StoreError("A segment of the search index is damaged.", hint=DAMAGED_HINT)
