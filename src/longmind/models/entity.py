"""Entities: people, places and things that atoms are about.

A folded name belongs to at most one entity of a type in a space, as its canonical name or as an alias.
"""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

from longmind.models.value import Value

EntityType = Literal["PERSON", "ORGANIZATION", "PLACE", "OBJECT", "CONCEPT", "EVENT", "AGREEMENT"]
EntityStatus = Literal["ACTIVE", "MERGED"]


class Entity(Value):
    """An entity of a memory space. A merged one has the status MERGED and the id that it was merged into."""

    id: str
    memory_space_id: str
    tenant_id: str
    app_id: str
    user_id: str
    type: EntityType
    canonical_name: str
    description: str | None
    attributes: dict[str, Any]
    aliases: list[str]
    # Set when it was merged into another entity, to which its id then leads.
    status: EntityStatus
    merged_into: str | None
    # Derived from the atoms that mention it.
    first_seen_at: str
    last_seen_at: str
    atom_count: int
    created_at: str
    updated_at: str


def fold_name(name: str) -> str:
    """Return the form of a name in which its spellings are equal: NFKC, case folded, single spaces."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Case folding decomposes some letters, so the result is normalised again.
    return " ".join(unicodedata.normalize("NFKC", folded).split())
