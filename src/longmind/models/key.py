"""A key of the server: who may use it, and as whom."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from longmind.models.value import Value

KeyAccess = Literal["user", "any-user", "admin"]


class AccessKey(Value):
    """What is known of a key. The key itself is known to nobody but those it was given to."""

    id: str
    """The first part of the key: it is no secret, and found in logs."""
    name: str
    tenant_id: str
    app_id: str
    access: KeyAccess
    """`user` is for one user; with `any-user` each request names one; `admin` may do what needs that capability too."""
    user_id: str | None
    rate: str | None
    """How often it may be used, `600/minute`; None is what the setting `rate_limit` says."""
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    """To the minute."""


class MadeKey(AccessKey):
    """A new key, with the one chance to see it whole."""

    token: str = Field(repr=False)
