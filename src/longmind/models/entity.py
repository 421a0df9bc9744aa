"""An entity: a person, place or thing that atoms are about."""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

from longmind.models.value import Value

EntityType = Literal["PERSON", "ORGANIZATION", "PLACE", "OBJECT", "CONCEPT", "EVENT", "AGREEMENT"]
EntityStatus = Literal["ACTIVE", "MERGED"]


class Entity(Value):
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
    status: EntityStatus
    merged_into: str | None
    first_seen_at: str
    last_seen_at: str
    atom_count: int
    created_at: str
    updated_at: str


def fold_name(name: str) -> str:
    """The form in which two spellings of a name are the same: NFKC, no case, single spaces."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Folding takes some letters apart that another spelling of the name has in one.
    return " ".join(unicodedata.normalize("NFKC", folded).split())
