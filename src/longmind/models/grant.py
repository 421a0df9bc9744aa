"""Grants: permissions of other users to read a shared space."""

from __future__ import annotations

from longmind.models.value import Value


class SpaceGrant(Value):
    """The permission of one user, or of all users of the app, to read a shared space."""

    memory_space_id: str
    tenant_id: str
    app_id: str
    owner_id: str
    """The owner of the space, the only user who may write to it."""
    user_id: str
    """The reader; `*` is every user of the same tenant and app."""
    # Grants are never changed: a space is granted again after it was revoked.
    created_at: str
