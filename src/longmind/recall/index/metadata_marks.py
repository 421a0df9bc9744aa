"""Marks by which recall finds atoms with some metadata.

A mark is a hash of a key of the metadata and its value, with the place of the atom. Only values that a filter can name
have one: texts, numbers, truth values and None at the top level. Numbers are marked by their values, so that 1 and 1.0
are equal. A hash has 64 bits: nothing of the app's own is spelled out in the index.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longmind.validation.text import decode_json

MARK = np.dtype([("hash", "<u8"), ("place", "<i4")])
NO_MARKS: NDArray[Any] = np.zeros(0, MARK)
_EMPTY = "{}"


def hash_entry(key: str, value: object) -> int:
    """Return the hash of a key and its value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    entry = json.dumps([key, value], ensure_ascii=False).encode()
    return int.from_bytes(hashlib.blake2b(entry, digest_size=8).digest(), "little")


def make_marks(stored: Sequence[str]) -> NDArray[Any]:
    """Return the marks of atoms, given the metadata of each as the JSON that is stored."""
    if stored.count(_EMPTY) == len(stored):
        return NO_MARKS
    found = [
        (hash, place)
        for place, written in enumerate(stored)
        if written != _EMPTY
        for hash in hash_entries(decode_json(written, dict))
    ]
    return np.array(found, MARK)


def hash_entries(metadata: Mapping[str, Any]) -> Iterable[int]:
    """Return the hashes of the entries of metadata that a filter can name."""
    return [hash_entry(key, value) for key, value in metadata.items() if not isinstance(value, dict | list)]


class MetadataIndex:
    """The marks of the atoms of a space."""

    def __init__(self) -> None:
        self._pieces: list[NDArray[Any]] = []
        self._until = 0
        """The position after the last one that was added."""

    def add(self, at: Sequence[int], marks: NDArray[Any]) -> None:
        """Add the marks of the atoms at some positions, in the place of those that they have had."""
        if self._pieces and min(at) < self._until:
            known = self._join()
            self._pieces = [known[~np.isin(known["place"], np.array(at))]]
        self._until = max(self._until, max(at) + 1)
        if len(marks):
            added = marks.copy()
            added["place"] = np.array(at, "<i4")[marks["place"]]
            self._pieces.append(added)

    def find(self, key: str, value: object) -> list[int]:
        """Return the positions of the atoms that have a key with a value in their metadata."""
        marks = self._join()
        found: list[int] = marks["place"][marks["hash"] == np.uint64(hash_entry(key, value))].tolist()
        return found

    def _join(self) -> NDArray[Any]:
        if len(self._pieces) > 1:
            self._pieces = [np.concatenate(self._pieces)]
        return self._pieces[0] if self._pieces else NO_MARKS

    @property
    def nbytes(self) -> int:
        return sum(piece.nbytes for piece in self._pieces)
