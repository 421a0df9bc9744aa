"""A grant: who may read a shared space beside its owner."""

from __future__ import annotations

from longmind.models.value import Value


class SpaceGrant(Value):
    memory_space_id: str
    tenant_id: str
    app_id: str
    owner_id: str
    """The user whose space it is, and who alone may write to it."""
    user_id: str
    """Who may read it; `*` is every user of the same tenant and app."""
    created_at: str
