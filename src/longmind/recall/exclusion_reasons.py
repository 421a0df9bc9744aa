"""Reasons why an atom cannot be found: the filter that excludes it, or what happened to it."""

from __future__ import annotations

from longmind.clock import to_iso
from longmind.models.atom import Atom
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.ranking.filter_masks import find_ends, make_masks
from longmind.recall.request import Filters


def list_reasons(index: SpaceIndex, filters: Filters, atom: Atom, position: int) -> list[str]:
    """Return a reason for each filter that excludes the atom at a position; none if it passes all of them."""
    if not index.present.values[position]:
        return ["it was deleted"]
    left_out = [name for name, mask in make_masks(index, filters).items() if not mask[position]]
    return [_describe_filter(name, index, filters, atom, position) for name in left_out]


def _describe_filter(name: str, index: SpaceIndex, filters: Filters, atom: Atom, position: int) -> str:
    if name == "current":
        # No filter that the caller set: a fact that is over is found only by an instant.
        return _describe_end(index, filters, atom, position)
    if name.startswith("tag "):
        return f"the filter tags leaves it out: it does not have the {name}"
    if name.startswith("metadata "):
        return f"the filter metadata leaves it out: it has another value, or none, for {name.removeprefix('metadata ')}"
    because = ""
    if name == "known_at":
        because = f": it was recorded only at {_instant(index.created_at.values[position])}"
    elif name == "valid_at" and filters.valid_at is not None:
        begins = int(index.valid_from.values[position])
        late = begins > filters.valid_at
        because = (
            f": {f'it begins only at {to_iso(begins)}' if late else _describe_end(index, filters, atom, position)}"
        )
    elif name == "status" and filters.status == "ACTIVE":
        because = f": it was archived at {_instant(index.archived_at.values[position])}"
    return f"the filter {name} leaves it out{because}"


def _describe_end(index: SpaceIndex, filters: Filters, atom: Atom, position: int) -> str:
    known_at = FOREVER - 1 if filters.known_at is None else filters.known_at
    if index.superseded_at.values[position] > known_at:
        return f"it ended at {_instant(index.open_until.values[position])}"
    # It may have been superseded after the atom was looked up.
    by = "" if atom.superseded_by is None else f" by {atom.superseded_by}"
    valid_to = find_ends(index, filters.known_at)[position]
    if valid_to <= index.valid_from.values[position]:
        return f"it was superseded{by}, and was true at no time"
    return f"it was superseded{by}, and ended at {_instant(valid_to)}"


def _instant(micros: int) -> str:
    return to_iso(int(micros))
