"""Memory spaces: named partitions of one user's memory."""

from __future__ import annotations

from typing import Any, Literal

from longmind.models.value import Value

SpaceKind = Literal["user", "group", "agent", "shared"]


class MemorySpace(Value):
    """A memory space. Spaces of the kind `shared` can be granted to other users to read."""

    id: str
    tenant_id: str
    app_id: str
    user_id: str
    name: str | None
    kind: SpaceKind
    metadata: dict[str, Any]
    atom_count: int
    created_at: str
    updated_at: str
