"""A request to a space, and the filters that atoms have to pass.

Filters are applied before anything is ranked, so that the limit is filled whenever enough atoms pass.
"""

from __future__ import annotations

from typing import NamedTuple

from longmind.models.atom import AtomKind, AtomStatus, Trust
from longmind.models.recall import Effort


class Filters(NamedTuple):
    """The filters of a request. Instants are microseconds; None lets every atom pass."""

    now: int
    category_names: tuple[str, ...] | None = None
    except_categories: tuple[str, ...] = ()
    kinds: tuple[AtomKind, ...] | None = None
    tags: tuple[str, ...] | None = None
    metadata: tuple[tuple[str, object], ...] | None = None
    """Entries that an atom must have in its metadata."""
    min_importance: int | None = None
    status: AtomStatus | None = "ACTIVE"
    trust: tuple[Trust, ...] | None = None
    valid_at: int | None = None
    known_at: int | None = None
    include_superseded: bool = False
    include_ended: bool = False
    """True if facts that ended without a successor may be found too."""
    window: tuple[int | None, int | None] = (None, None)
    positions: tuple[int, ...] | None = None
    """The only positions that may be found: those of the atoms that mention an entity."""
    without: tuple[int, ...] = ()
    """Positions that may not be found, since their atoms are shown already."""
    begun: bool = False
    """True if atoms must have begun; plans and events may lie ahead."""

    @property
    def as_of(self) -> int:
        """The instant that is asked about: ages of memories and "last week" in a question are counted from it."""
        if self.valid_at is not None:
            return self.valid_at
        return self.now if self.known_at is None else self.known_at


class TopicOptions(NamedTuple):
    """The options of a recall by topic."""

    limit: int
    """The most hits, and the most passages."""
    explain: bool = False
    """True if each score comes with its factors."""
    min_score: float = 0.0
    """The least score of a hit or passage."""
    effort: Effort = "normal"
    """`high` may spend half a second: a reranker reads the first results, and a question is taken apart."""
    exhaustive: bool | None = None
    """True to collect everything relevant; None where the question asks for all."""
    passages: bool = True
    """False leaves passages out."""


class RecallRequest(NamedTuple):
    """A request to a space."""

    filters: Filters
    query: str | None = None
    entity: str | None = None
    """The id or name of an entity that every hit has to mention."""

    def filters_at(self, positions: tuple[int, ...] | None) -> Filters:
        """Return the filters, given the positions of the atoms that mention the entity of the request."""
        return self.filters if positions is None else self.filters._replace(positions=positions)
