"""Keys of the server: who may use it, and for which user."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from longmind.models.value import Value

KeyAccess = Literal["user", "any-user", "admin"]


class AccessKey(Value):
    """A key as the server knows it, without its secret part."""

    id: str
    """The first part of the key, which is not secret and appears in logs."""
    name: str
    tenant_id: str
    app_id: str
    access: KeyAccess
    """`user` serves one user, `any-user` the user that each request names; `admin` adds the capability `admin`."""
    user_id: str | None
    rate: str | None
    """The rate limit, such as `600/minute`; None applies the setting `rate_limit`."""
    # Its life: a key works until it expires or is revoked, whichever comes first.
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    """Exact to the minute."""


class MadeKey(AccessKey):
    """A new key, with its only chance to be seen whole."""

    token: str = Field(repr=False)
