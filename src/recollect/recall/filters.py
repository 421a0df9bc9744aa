"""Which atoms may be found at all: applied before anything is ranked, so that a limit is filled when it can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.models.atom import AtomKind, AtomStatus, Trust
from recollect.recall.facts import FOREVER, KINDS, TRUSTS
from recollect.recall.space_index import SpaceIndex

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Filters:
    """Instants are microseconds; None lets everything through."""

    now: int
    category_names: tuple[str, ...] | None = None
    kinds: tuple[AtomKind, ...] | None = None
    tags: tuple[str, ...] | None = None
    min_importance: int | None = None
    status: AtomStatus | None = "ACTIVE"
    trust: tuple[Trust, ...] | None = None
    valid_at: int | None = None
    known_at: int | None = None
    include_superseded: bool = False
    window: tuple[int | None, int | None] = (None, None)
    positions: tuple[int, ...] | None = None
    """The only places that may be found: of the atoms that mention an entity."""


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
