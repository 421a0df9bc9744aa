"""Columns of atoms that the search index is made from, without making atoms of the rows.

Rows of facts hold what recall filters and ranks by, in the order of the fragment `fact_columns`; their position is
first. `longmind.recall.index.atom_columns` knows the rest.
"""

from __future__ import annotations

from longmind.store.database import Row, Transaction


def read_facts_between(run: Transaction, space_id: str, first: int, until: int) -> list[Row]:
    """Return the facts of the atoms at a range of positions, in their order."""
    return run.all("facts_between", space_id=space_id, first=first, until=until)


def read_facts_since(run: Transaction, space_id: str, first: int, revision: int) -> list[Row]:
    """Return the facts of the atoms from a position on, and of those that changed after a revision."""
    return run.all("facts_since", space_id=space_id, first=first, revision=revision)


def list_removed_since(run: Transaction, space_id: str, revision: int) -> list[int]:
    """Return the positions of the atoms that were deleted after a revision."""
    return [row[0] for row in run.all("removals_since", space_id=space_id, revision=revision)]


def read_texts(run: Transaction, space_id: str, first: int, until: int | None, limit: int) -> list[tuple[int, str]]:
    """Return the positions and texts of the first atoms of a range; without an end it goes on to the last atom."""
    rows = run.all("atom_texts", space_id=space_id, first=first, until=until, limit=limit)
    return [(position, text) for position, text in rows]
