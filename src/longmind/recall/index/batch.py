"""The index of some atoms, while it is being made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from longmind.providers.embedder import Vectors
from longmind.recall.index.atom_columns import AtomColumns
from longmind.recall.index.segments import VectorsSegment, WordsReader
from longmind.recall.index.storage import SMALL, IndexEntries
from longmind.store.tables.atom_rows import PreparedAtom


class IndexBatch:
    """What the search index will keep of atoms that are embedded already: the rest can be done bit by bit.

    So it can be done while a server is busy with the atoms themselves.
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
        """Do what there is to do for each of the first so many atoms; what was done before is not done again."""
        if self._finished is None:
            self._words.read(until)

    def finish(self) -> IndexEntries:
        if self._finished is None:
            facts = AtomColumns.from_atoms(self._atoms) if len(self._atoms) >= SMALL else None
            self._finished = IndexEntries(self._words.segment(), self.vectors, self.model, facts)
        return self._finished
