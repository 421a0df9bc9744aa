"""Which atoms of a space pass the filters: worked out before anything is ranked."""

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
    """Which atoms pass all filters."""
    if filters[1:] == _PLAIN and not index.derive("once over", lambda: _is_any_over(index)):
        # As most questions are asked, and of most spaces.
        return index.present.values
    masks = make_masks(index, filters)
    everything = masks.pop("present")
    return np.logical_and.reduce([everything, *masks.values()]) if masks else everything


def make_masks(index: SpaceIndex, filters: Filters) -> dict[str, Mask]:
    """For each filter that leaves anything out, by its name, which atoms pass it."""
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
    if filters.positions is not None:
        masks["entity"] = index.mask_positions(filters.positions)
    if filters.without:
        masks["without"] = ~index.mask_positions(filters.without)
    if filters.begun and filters.as_of < index.derive("latest", lambda: int(index.valid_from.values.max(initial=0))):
        # What held when it was recorded has begun, also to who has looked at the clock before, and then at the space.
        by_now = np.maximum(index.created_at.values, filters.as_of)
        masks["begun"] = (index.valid_from.values <= by_now) | np.isin(index.kind.values, _AHEAD)
    return masks


def _mask_status(index: SpaceIndex, status: AtomStatus, known_at: int | None) -> dict[str, Mask]:
    if status == "DELETED":
        # Nothing is left of those that could be found.
        return {"status": np.zeros(index.atoms, np.bool_)}
    if status == "ACTIVE" and known_at is None and not index.derive("archived", lambda: _has_end(index.archived_at)):
        return {}
    archived = index.archived_at.values <= (_AT_ALL if known_at is None else known_at)
    return {"status": archived if status == "ARCHIVED" else ~archived}


def _mask_current(index: SpaceIndex, now: int, known_at: int | None, include_ended: bool) -> dict[str, Mask]:
    if known_at is None and not index.derive("ended", lambda: _has_end(index.valid_to) or _has_end(index.open_until)):
        return {}
    valid_to = find_ends(index, known_at)
    # A version that was superseded before it began has no time at all, also when that lies in the future.
    had_time = valid_to > index.valid_from.values
    current = (valid_to > (now if known_at is None else known_at)) & had_time
    if known_at is None:
        # What was replaced at once is over, also to who has looked at the clock before and at the space afterwards.
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
    """Whether there is an instant in a column at all."""
    return bool((column.values != FOREVER).any())


def find_ends(index: SpaceIndex, known_at: int | None) -> NDArray[np.int64]:
    """The end of each atom's validity as it was known then: before a fact was superseded, it had no such end."""
    superseded = index.superseded_at.values <= (_AT_ALL if known_at is None else known_at)
    ends = np.where(superseded, index.valid_to.values, index.open_until.values)
    if known_at is not None and index.cuts is not None:
        # Those that were cut several times: as far as it was known.
        places, known_from, cut_to = index.cuts
        ends[places] = index.open_until.values[places]
        known = known_from <= known_at
        np.minimum.at(ends, places[known], cut_to[known])
        ends[places] = np.maximum(ends[places], index.valid_from.values[places])
    return ends


_AHEAD = [KINDS.index(kind) for kind in ("INTENTION", "EPISODE")]
_AT_ALL = FOREVER - 1
"""Without an instant everything that was recorded is known, also by a machine whose clock is ahead of ours."""
_PLAIN = Filters(now=0)[1:]
"""All of them but the first, which is the instant of the call."""
