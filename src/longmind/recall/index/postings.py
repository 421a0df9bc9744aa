"""Postings: which atoms hold which words.

Sorted runs are searched by bisection. New postings go to a short tail, which is sorted at the next search; runs are
merged like those of a log-structured tree, so that appending stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
RunArrays = tuple[Array, Array, Array, Array, Array]
"""The terms of a run, the start of each, the places, their codes, and by term the number of codes that are `OWN`."""

OWN = np.uint8(128)
"""The bit of a code that marks a word of the text itself, rather than of a text around it."""
TAIL_LIMIT = 16_384
"""The number of postings up to which new ones stay in the tail."""
MERGE_LIMIT = 262_144
"""The most postings that a merge sorts, so that no single append takes long."""


@dataclass(frozen=True)
class PostingRun:
    """Postings sorted by term: for each term the places that hold it, each with a code for how much it holds."""

    terms: Array
    starts: Array
    places: Array
    codes: Array

    @classmethod
    def from_postings(cls, terms: Array, places: Array, codes: Array) -> PostingRun:
        """Sort postings whose places ascend; the sort is stable, so places ascend within each term."""
        order = np.argsort(terms, kind="stable")
        return cls.from_sorted(terms[order], places[order], codes[order])

    @classmethod
    def from_sorted(cls, terms: Array, places: Array, codes: Array) -> PostingRun:
        """Build a run from postings that are sorted by term and, within a term, by place."""
        starts = _edges(terms)
        return cls(terms[starts[:-1]], starts, places, codes)

    @classmethod
    def merge(cls, runs: Sequence[PostingRun]) -> PostingRun:
        """Merge runs into one; the places of each run come after those of the run before."""
        return cls.from_postings(
            np.concatenate([run.expand_terms() for run in runs]),
            np.concatenate([run.places for run in runs]),
            np.concatenate([run.codes for run in runs]),
        )

    def expand_terms(self) -> Array:
        """Return the term of each posting."""
        return np.repeat(self.terms, np.diff(self.starts))

    def shift(self, by: int) -> PostingRun:
        """Return the run with its places moved up."""
        return PostingRun(self.terms, self.starts, self.places + np.uint32(by), self.codes)

    @cached_property
    def own(self) -> Array:
        """By term, the number of places that hold it in their own text."""
        return np.add.reduceat(self.codes >= OWN, self.starts[:-1], dtype=np.uint32)

    @cached_property
    def arrays(self) -> RunArrays:
        """The arrays of the run, as the kernels read them."""
        return self.terms, self.starts, self.places, self.codes, self.own

    @property
    def size(self) -> int:
        return len(self.places)

    @property
    def nbytes(self) -> int:
        return int(2 * self.terms.nbytes + self.starts.nbytes + self.places.nbytes + self.codes.nbytes)


def _edges(ordered: Array) -> Array:
    """Return where each run of equal values begins, and the end."""
    if not len(ordered):
        return np.zeros(1, np.uint32)
    changes = (ordered[1:] != ordered[:-1]).nonzero()[0] + 1
    return np.concatenate(([0], changes, [len(ordered)])).astype(np.uint32)


class Postings:
    """The postings of a space. Appending is cheap: small runs are merged into larger ones as they come."""

    def __init__(self) -> None:
        self._runs: list[PostingRun] = []
        self._tail: list[PostingRun] = []
        self._tail_size = 0
        self._tail_run: PostingRun | None = None
        self._arrays: tuple[RunArrays, ...] | None = None

    def add(self, run: PostingRun) -> None:
        """Append the postings of atoms that come after all others."""
        if not run.size:
            # Atoms without a single word, such as emoji.
            return
        self._arrays = None
        if run.size < TAIL_LIMIT:
            self._tail.append(run)
            self._tail_size += run.size
            self._tail_run = None
            if self._tail_size < TAIL_LIMIT:
                return
            run = PostingRun.merge(self._tail)
            self._tail, self._tail_size = [], 0
        self._runs.append(run)
        while len(self._runs) > 1 and self._worth_merging(*self._runs[-2:]):
            self._runs[-2:] = [PostingRun.merge(self._runs[-2:])]

    @staticmethod
    def _worth_merging(older: PostingRun, newer: PostingRun) -> bool:
        return older.size < 2 * newer.size and older.size + newer.size <= MERGE_LIMIT

    def arrays(self) -> tuple[RunArrays, ...]:
        """Return the arrays of all runs, for a search."""
        if self._arrays is None:
            self._arrays = tuple([run.arrays for run in self._all_runs()])
        return self._arrays

    def _all_runs(self) -> list[PostingRun]:
        if not self._tail:
            return self._runs
        if self._tail_run is None:
            # Sorted at the next search, so that many appends sort it once.
            self._tail_run = PostingRun.merge(self._tail)
            self._tail = [self._tail_run]
        return [*self._runs, self._tail_run]

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self._runs) + sum(run.nbytes for run in self._tail)
