"""Memory spaces: named partitions of one user's memory."""

from __future__ import annotations

from typing import Any, Literal

from longmind.models.value import Value

SpaceKind = Literal["user", "group", "agent", "shared"]


class MemorySpace(Value):
    """A memory space. Spaces of the kind `shared` can be granted to other users to read."""

    id: str
    """Begins with `ms_`."""
    tenant_id: str
    app_id: str
    user_id: str
    name: str | None
    kind: SpaceKind
    metadata: dict[str, Any]
    """JSON of the app's own."""
    atom_count: int
    """Facts in it, those that have ended or were replaced included."""
    created_at: str
    updated_at: str
