"""The facts of a profile, read from a memory space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from longmind.clock import Micros
from longmind.extraction.consolidation.profile_order import STABLE_KINDS, TRUSTED, rank_for_profile
from longmind.models.atom import Atom
from longmind.recall.request import Filters
from longmind.scope import Scope

if TYPE_CHECKING:
    from longmind.recall.retriever import AtomRetriever

MOST_RANKED = 200
"""Facts that are ranked for a profile, the most important ones."""


def find_profile_facts(
    retriever: AtomRetriever,
    scope: Scope,
    space_id: str,
    *,
    now: Micros,
    known_at: Micros | None = None,
    speaker: str | None = None,
    entity_id: str | None = None,
    without: Iterable[int] = (),
) -> dict[int, Atom]:
    """Return the facts that may stand in a profile by their positions in the space, those to show first at first.

    speaker: in a shared space, the user whose profile it is. entity_id: the entity whose profile it is, in place of the
    user's. without: positions of facts that are shown elsewhere.
    """
    filters = Filters(now=now, kinds=STABLE_KINDS, trust=TRUSTED, known_at=known_at, begun=True, without=tuple(without))
    found = retriever.list_by_importance(
        scope, space_id, filters, MOST_RANKED, speaker=speaker if entity_id is None else None, entity=entity_id
    )
    positions = {atom.id: position for position, atom in found.items()}
    return {positions[atom.id]: atom for atom in rank_for_profile(found.values(), about_user=entity_id is None)}
