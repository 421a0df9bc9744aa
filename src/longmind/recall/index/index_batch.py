"""A batch of atoms whose index entries are being made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from longmind.providers.embedder import Vectors
from longmind.recall.index.atom_columns import AtomColumns
from longmind.recall.index.segments import VectorsSegment, WordsReader
from longmind.recall.index.storage import SMALL, IndexEntries
from longmind.store.tables.atom_rows import PreparedAtom


class IndexBatch:
    """The index entries of atoms that are embedded already. The rest of the work can be done step by step.

    So it can overlap with the time in which a server inserts the atoms.
    """

    def __init__(self, atoms: Sequence[PreparedAtom], embedded: Vectors | None, model: str | None) -> None:
        self._atoms = atoms
        self._embedded = embedded
        self.model = model
        self._words = WordsReader([atom.text for atom in atoms], [atom.search_context for atom in atoms])
        self._finished: IndexEntries | None = None

    @cached_property
    def vectors(self) -> VectorsSegment | None:
        return None if self._embedded is None else VectorsSegment.from_vectors(self._embedded)

    def advance(self, until: int) -> None:
        """Index the words of the atoms up to a number of them, except for those that are indexed already."""
        if self._finished is None:
            self._words.read(until)

    def finish(self) -> IndexEntries:
        """Do the rest of the work and return the entries; a second call returns the same."""
        if self._finished is None:
            columns = AtomColumns.from_atoms(self._atoms) if len(self._atoms) >= SMALL else None
            self._finished = IndexEntries(self._words.segment(), self.vectors, self.model, columns)
        return self._finished
