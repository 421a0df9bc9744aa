"""What is asked of a space, and which atoms may be found at all.

Filters are applied before anything is ranked, so that a limit is filled when it can be.
"""

from __future__ import annotations

from typing import NamedTuple

from longmind.models.atom import AtomKind, AtomStatus, Trust


class Filters(NamedTuple):
    """Instants are microseconds; None lets everything through."""

    now: int
    category_names: tuple[str, ...] | None = None
    except_categories: tuple[str, ...] = ()
    kinds: tuple[AtomKind, ...] | None = None
    tags: tuple[str, ...] | None = None
    min_importance: int | None = None
    status: AtomStatus | None = "ACTIVE"
    trust: tuple[Trust, ...] | None = None
    valid_at: int | None = None
    known_at: int | None = None
    include_superseded: bool = False
    include_ended: bool = False
    """Whether what has ended by itself, and not because something newer has replaced it, may be found too."""
    window: tuple[int | None, int | None] = (None, None)
    positions: tuple[int, ...] | None = None
    """The only places that may be found: of the atoms that mention an entity."""
    without: tuple[int, ...] = ()
    """Places that may not be found, since they are shown already."""
    begun: bool = False
    """Whether what holds for a while must hold already. Plans and events may lie ahead."""

    @property
    def as_of(self) -> int:
        """The instant that is asked about: the age of memories, and "last week" in a question, are counted from it."""
        if self.valid_at is not None:
            return self.valid_at
        return self.now if self.known_at is None else self.known_at


class RecallRequest(NamedTuple):
    """What is asked of a space."""

    filters: Filters
    query: str | None = None
    entity: str | None = None
    """Whom everything that is found has to mention, by an id or a name."""

    def filters_at(self, positions: tuple[int, ...] | None) -> Filters:
        """The filters, once it is known where that entity is mentioned."""
        return self.filters if positions is None else self.filters._replace(positions=positions)
