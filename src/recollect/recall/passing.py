"""Which atoms of a space pass the filters: worked out before anything is ranked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.recall.filters import Filters
from recollect.recall.space_index import FOREVER, KINDS, TRUSTS, SpaceIndex

Mask = NDArray[np.bool_]


def passing(index: SpaceIndex, filters: Filters) -> dict[str, Mask]:
    """For each filter that is set, by its name, which atoms pass it."""
    # Without an instant everything that was recorded is known, also by a machine whose clock is ahead of ours.
    known_at = FOREVER - 1 if filters.known_at is None else filters.known_at
    masks = {"present": index.present.values, "known_at": index.created_at.values <= known_at}
    valid_to = _valid_to_as_known(index, known_at)
    if filters.status is not None:
        archived = index.archived_at.values <= known_at
        masks["status"] = archived if filters.status == "ARCHIVED" else ~archived
    if filters.valid_at is not None:
        masks["valid_at"] = (index.valid_from.values <= filters.valid_at) & (valid_to > filters.valid_at)
    elif not filters.include_superseded:
        masks["current"] = valid_to > (filters.now if filters.known_at is None else filters.known_at)
    start, end = filters.window
    if start is not None:
        masks["from"] = (valid_to > start) | (index.valid_from.values >= start)
    if end is not None:
        masks["to"] = index.valid_from.values <= end
    if filters.kinds is not None:
        masks["kinds"] = np.isin(index.kind.values, [KINDS.index(kind) for kind in filters.kinds])
    if filters.trust is not None:
        masks["trust"] = np.isin(index.trust.values, [TRUSTS.index(each) for each in filters.trust])
    if filters.min_importance is not None:
        masks["min_importance"] = index.importance.values >= filters.min_importance
    if filters.category_names is not None:
        masks["category_names"] = index.in_categories(filters.category_names)
    for tag in filters.tags or ():
        masks[f"tag {tag!r}"] = index.at(index.tagged(tag))
    if filters.positions is not None:
        masks["entity"] = index.at(filters.positions)
    return masks


def _valid_to_as_known(index: SpaceIndex, known_at: int) -> NDArray[np.int64]:
    """The end of each atom's validity as it was known then: before a fact was superseded, it had no such end."""
    return np.where(index.superseded_at.values <= known_at, index.valid_to.values, index.open_until.values)
