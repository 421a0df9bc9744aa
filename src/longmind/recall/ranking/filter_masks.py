"""Masks of the atoms that pass each filter, computed before anything is ranked.

A mask is an array of booleans by position. A filter that excludes nothing has no mask, so that the usual request, to a
space in which nothing has ended, costs nothing here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longmind.models.atom import AtomStatus
from longmind.recall.index.atom_columns import FOREVER, KINDS, TRUSTS
from longmind.recall.index.growable_column import Column
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.request import Filters

Mask = NDArray[np.bool_]


def mask_allowed(index: SpaceIndex, filters: Filters) -> Mask:
    """Return which atoms pass all filters."""
    if filters[1:] == _PLAIN and not index.derive("once over", lambda: _is_any_over(index)):
        # The usual request to the usual space.
        return index.present.values
    masks = make_masks(index, filters)
    everything = masks.pop("present")
    return np.logical_and.reduce([everything, *masks.values()]) if masks else everything


def make_masks(index: SpaceIndex, filters: Filters) -> dict[str, Mask]:
    """Return, by the name of each filter that can exclude an atom, which atoms pass it."""
    masks = {"present": index.present.values}
    known_at = filters.known_at
    if known_at is not None:
        masks["known_at"] = index.created_at.values <= known_at
    if filters.status is not None:
        masks |= _mask_status(index, filters.status, known_at)
    if filters.valid_at is not None:
        valid_to = find_ends(index, known_at)
        masks["valid_at"] = (index.valid_from.values <= filters.valid_at) & (valid_to > filters.valid_at)
    elif not filters.include_superseded:
        masks |= _mask_current(index, filters.now, known_at, filters.include_ended)
    start, end = filters.window
    if start is not None:
        masks["from"] = (find_ends(index, known_at) > start) | (index.valid_from.values >= start)
    if end is not None:
        masks["to"] = index.valid_from.values <= end
    if filters.kinds is not None:
        masks["kinds"] = np.isin(index.kind.values, [KINDS.index(kind) for kind in filters.kinds])
    if filters.trust is not None:
        masks["trust"] = np.isin(index.trust.values, [TRUSTS.index(each) for each in filters.trust])
    if filters.min_importance is not None:
        masks["min_importance"] = index.importance.values >= filters.min_importance
    if filters.category_names is not None:
        masks["category_names"] = index.mask_categories(filters.category_names)
    if filters.except_categories:
        masks["except_categories"] = ~index.mask_categories(filters.except_categories)
    for tag in filters.tags or ():
        masks[f"tag {tag!r}"] = index.mask_positions(index.find_tagged(tag))
    for key, value in filters.metadata or ():
        masks[f"metadata {key!r}"] = index.mask_positions(index.find_with_metadata(key, value))
    if filters.positions is not None:
        masks["entity"] = index.mask_positions(filters.positions)
    if filters.without:
        masks["without"] = ~index.mask_positions(filters.without)
    if filters.begun and filters.as_of < index.derive("latest", lambda: int(index.valid_from.values.max(initial=0))):
        # A fact valid when recorded counts as begun even if the caller read the clock before the index.
        by_now = np.maximum(index.created_at.values, filters.as_of)
        masks["begun"] = (index.valid_from.values <= by_now) | np.isin(index.kind.values, _AHEAD)
    return masks


def _mask_status(index: SpaceIndex, status: AtomStatus, known_at: int | None) -> dict[str, Mask]:
    if status == "DELETED":
        # Nothing of a deleted atom is left to be found.
        return {"status": np.zeros(index.atoms, np.bool_)}
    if status == "ACTIVE" and known_at is None and not index.derive("archived", lambda: _has_end(index.archived_at)):
        return {}
    archived = index.archived_at.values <= (_AT_ALL if known_at is None else known_at)
    return {"status": archived if status == "ARCHIVED" else ~archived}


def _mask_current(index: SpaceIndex, now: int, known_at: int | None, include_ended: bool) -> dict[str, Mask]:
    if known_at is None and not index.derive("ended", lambda: _has_end(index.valid_to) or _has_end(index.open_until)):
        return {}
    valid_to = find_ends(index, known_at)
    # An atom that was superseded before it began was never true, even if its time lies in the future.
    had_time = valid_to > index.valid_from.values
    current = (valid_to > (now if known_at is None else known_at)) & had_time
    if known_at is None:
        # A fact that was replaced at once is over even if the caller read the clock before the index.
        current &= ~index.derive("replaced", lambda: _mask_replaced(index))
    if include_ended:
        current |= index.superseded_at.values > (_AT_ALL if known_at is None else known_at)
    return {"current": current}


def _mask_replaced(index: SpaceIndex) -> Mask:
    superseded_at = index.superseded_at.values
    replaced: Mask = (superseded_at != FOREVER) & (index.valid_to.values <= superseded_at)
    return replaced


def _is_any_over(index: SpaceIndex) -> bool:
    return _has_end(index.archived_at) or _has_end(index.valid_to) or _has_end(index.open_until)


def _has_end(column: Column) -> bool:
    """Return whether any value of a column of ends is set."""
    return bool((column.values != FOREVER).any())


def find_ends(index: SpaceIndex, known_at: int | None) -> NDArray[np.int64]:
    """Return the end of each atom's validity as it was known at an instant, or as it is known now for None.

    Before a fact was superseded, it had the end that it was recorded with, or none.
    """
    superseded = index.superseded_at.values <= (_AT_ALL if known_at is None else known_at)
    ends = np.where(superseded, index.valid_to.values, index.open_until.values)
    if known_at is not None and index.cuts is not None:
        # Ends that were corrected several times: the correction that was known then.
        places, known_from, cut_to = index.cuts
        ends[places] = index.open_until.values[places]
        known = known_from <= known_at
        np.minimum.at(ends, places[known], cut_to[known])
        ends[places] = np.maximum(ends[places], index.valid_from.values[places])
    return ends


_AHEAD = [KINDS.index(kind) for kind in ("INTENTION", "EPISODE")]
_AT_ALL = FOREVER - 1
"""Without an instant everything recorded is known, even by a machine whose clock is ahead."""
_PLAIN = Filters(now=0)[1:]
"""The filters of a request that sets none, without `now`."""
