"""Which atoms hold which words: sorted runs that are searched by bisection, and a short unsorted tail that grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
RunArrays = tuple[Array, Array, Array, Array, Array]
"""Of a run its terms, where each of them starts, the places, their codes, and how many codes of each term are `OWN`."""

OWN = np.uint8(128)
"""The bit of a code that tells that the word is the text's own, and not of one around it."""
TAIL_LIMIT = 16_384
"""Unsorted postings that are looked through one by one."""
MERGE_LIMIT = 262_144
"""A merge sorts no more postings than this, so that no single append takes long."""


@dataclass(frozen=True)
class Run:
    """Postings sorted by term: for each term the places that hold it, each with a code for how much it holds."""

    terms: Array
    starts: Array
    places: Array
    codes: Array

    @classmethod
    def from_postings(cls, terms: Array, places: Array, codes: Array) -> Run:
        """From postings whose places ascend; a stable sort keeps them so within a term."""
        order = np.argsort(terms, kind="stable")
        return cls.from_sorted(terms[order], places[order], codes[order])

    @classmethod
    def from_sorted(cls, terms: Array, places: Array, codes: Array) -> Run:
        """From postings that are sorted by term, and within a term by place."""
        starts = _edges(terms)
        return cls(terms[starts[:-1]], starts, places, codes)

    @classmethod
    def merge(cls, runs: Sequence[Run]) -> Run:
        return cls.from_postings(
            np.concatenate([run.expand_terms() for run in runs]),
            np.concatenate([run.places for run in runs]),
            np.concatenate([run.codes for run in runs]),
        )

    def expand_terms(self) -> Array:
        return np.repeat(self.terms, np.diff(self.starts))

    def shift(self, by: int) -> Run:
        return Run(self.terms, self.starts, self.places + np.uint32(by), self.codes)

    @cached_property
    def own(self) -> Array:
        """How many of the places of each term hold it in their own text."""
        return np.add.reduceat(self.codes >= OWN, self.starts[:-1], dtype=np.uint32)

    @cached_property
    def arrays(self) -> RunArrays:
        return self.terms, self.starts, self.places, self.codes, self.own

    @property
    def size(self) -> int:
        return len(self.places)

    @property
    def nbytes(self) -> int:
        return int(2 * self.terms.nbytes + self.starts.nbytes + self.places.nbytes + self.codes.nbytes)


def _edges(ordered: Array) -> Array:
    """Where each run of equal values begins, and the end."""
    if not len(ordered):
        return np.zeros(1, np.uint32)
    changes = (ordered[1:] != ordered[:-1]).nonzero()[0] + 1
    return np.concatenate(([0], changes, [len(ordered)])).astype(np.uint32)


class Postings:
    """All postings of a space. Appending is cheap: small runs are merged into larger ones as they come."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._tail: list[Run] = []
        self._tail_size = 0
        self._tail_run: Run | None = None
        self._arrays: tuple[RunArrays, ...] | None = None

    def add(self, run: Run) -> None:
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
            run = Run.merge(self._tail)
            self._tail, self._tail_size = [], 0
        self._runs.append(run)
        while len(self._runs) > 1 and self._worth_merging(*self._runs[-2:]):
            self._runs[-2:] = [Run.merge(self._runs[-2:])]

    @staticmethod
    def _worth_merging(older: Run, newer: Run) -> bool:
        return older.size < 2 * newer.size and older.size + newer.size <= MERGE_LIMIT

    def arrays(self) -> tuple[RunArrays, ...]:
        """What a search goes through."""
        if self._arrays is None:
            self._arrays = tuple([run.arrays for run in self._all_runs()])
        return self._arrays

    def _all_runs(self) -> list[Run]:
        if not self._tail:
            return self._runs
        if self._tail_run is None:
            # Sorted when it is first asked for; a bulk of appends sorts it once.
            self._tail_run = Run.merge(self._tail)
            self._tail = [self._tail_run]
        return [*self._runs, self._tail_run]

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self._runs) + sum(run.nbytes for run in self._tail)
