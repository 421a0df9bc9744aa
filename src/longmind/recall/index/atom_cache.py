"""Cache of atoms that were recalled lately, so that finding them again needs no read.

Most fields of an atom, such as its user, have the same value for many atoms of a space. Each set of such values is
stored once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import getsizeof
from typing import Any

from pydantic_core import from_json, to_json

from longmind.models.atom import Atom
from longmind.models.value import list_hidden_attributes
from longmind.recall import kernels as kernel
from longmind.store.tables.atom_rows import LIST_FIELDS

_BESIDE_FIELDS = list_hidden_attributes(Atom)

_Common = dict[str, Any]
_CachedAtom = tuple[_Common, str, str, str, str, str, tuple[tuple[str, ...], ...] | None, int]
"""The shared fields, the fields of `_OWN`, the members of `LIST_FIELDS` or None if all are empty, and the size."""

_OWN = ("id", "text", "valid_from", "created_at", "updated_at")
_APART = dict.fromkeys((*_OWN, *LIST_FIELDS, "metadata", "key"))
_SHAPES = 256
"""The number of sets of shared values to compare with; older sets live on in the atoms that use them."""

_ATOM_BYTES = 450
"""The size of an atom without its text and its lists."""
_COMMON_BYTES = 2_000
_NOTHING = (None, None)
_MEMBER_BYTES = 100


class AtomCache:
    """Cached atoms by position, up to a number of bytes; the oldest entries are evicted first."""

    def __init__(self) -> None:
        self._atoms: dict[int, _CachedAtom] = {}
        self._common: dict[tuple[Any, ...], _Common] = {}
        self._apps_own: dict[int, tuple[str | None, bytes]] = {}
        """The key and the metadata, as JSON, of the few atoms that have any."""
        self.nbytes = 0

    def get(self, positions: list[int]) -> list[Atom | None]:
        """Return the atoms at some positions, None for one that is not cached. Each is a new value with lists of its
        own.
        """
        found: list[Atom | None] = kernel.loops.copy_values(
            Atom, _BESIDE_FIELDS, _OWN, LIST_FIELDS, self._atoms, positions
        )
        for position, atom in zip(positions, found, strict=True):
            if atom is not None:
                # A caller may change the metadata of an atom: two never share it.
                key, metadata = self._apps_own.get(position, _NOTHING)
                atom.__dict__["metadata"] = {} if metadata is None else from_json(metadata)
                atom.__dict__["key"] = key
        return found

    def put(self, atoms: Mapping[int, Atom], room: int) -> None:
        """Cache atoms by their positions, and evict old ones beyond `room` bytes."""
        for position, atom in atoms.items():
            kept = self._to_cached(atom)
            if kept[-1] > room // 4:
                continue
            self.drop((position,))
            self._atoms[position] = kept
            if atom.metadata or atom.key is not None:
                self._apps_own[position] = atom.key, to_json(atom.metadata)
            self.nbytes += kept[-1]
        while self._atoms and self.nbytes > room:
            self.drop((next(iter(self._atoms)),))

    def _to_cached(self, atom: Atom) -> _CachedAtom:
        fields = atom.__dict__
        size = _ATOM_BYTES + getsizeof(atom.text)
        shape = tuple([None if name in _APART else value for name, value in fields.items() if name != "category"])
        shape += (atom.category.name, atom.category.kind)
        common = self._common.get(shape)
        if common is None:
            if len(self._common) == _SHAPES:
                self._common.clear()
            common = self._common[shape] = {**fields, **_APART}
            size += _COMMON_BYTES
        lists = tuple([tuple(fields[name]) for name in LIST_FIELDS])
        members = sum(map(len, lists))
        id, text, valid_from, created_at, updated_at = [fields[name] for name in _OWN]
        size += _MEMBER_BYTES * members
        if atom.metadata or atom.key is not None:
            size += _MEMBER_BYTES + len(to_json(atom.metadata))
        return common, id, text, valid_from, created_at, updated_at, lists if members else None, size

    def drop(self, positions: Sequence[int]) -> None:
        """Remove atoms that have changed or were deleted."""
        for position in positions if self._atoms else ():
            dropped = self._atoms.pop(position, None)
            if dropped is not None:
                self.nbytes -= dropped[-1]
                self._apps_own.pop(position, None)
