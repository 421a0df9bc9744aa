"""Access keys of the server, by their digests: the keys themselves are stored nowhere.

They belong to the host, not to a scope, so every statement here names tenant and app itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from longmind.clock import Micros, to_iso
from longmind.models.key import AccessKey, KeyAccess
from longmind.scope import Scope
from longmind.store.database import Row, Transaction

ERASED = "(erased)"
"""The user of a key once that user is erased."""


@dataclass(frozen=True)
class NewKey:
    """A key that is to be stored."""

    id: str
    name: str
    tenant_id: str
    app_id: str
    access: KeyAccess
    user_id: str | None
    digest: str
    rate: str | None
    expires_at: Micros | None


@dataclass(frozen=True)
class KeyCount:
    """The number of keys that were ever made, and of those that are valid now."""

    made: int
    valid: int


@dataclass(frozen=True)
class KnownKey:
    """A key with the columns that a request is checked against."""

    key: AccessKey
    digest: str
    expires_at: Micros | None
    last_used_at: Micros | None


def insert(run: Transaction, new: NewKey, now: Micros) -> AccessKey:
    """Store a new key."""
    row = run.one("insert_access_key", **vars(new), now=now)
    assert row is not None
    return _to_key(row)


def find(run: Transaction, key_id: str) -> KnownKey | None:
    """Return a key by its id, whether it is still valid or not; None if there is none."""
    row = run.one("find_access_key", id=key_id)
    if row is None:
        return None
    # The digest stands before the columns of a key, and two of those are needed as numbers.
    digest, *rest = row
    return KnownKey(_to_key(tuple(rest)), digest, expires_at=rest[8], last_used_at=rest[10])


def list_oldest_first(run: Transaction, tenant_id: str | None, app_id: str | None) -> list[AccessKey]:
    """Return the keys of an app, of a tenant, or all, oldest first."""
    return [_to_key(row) for row in run.all("list_access_keys", tenant_id=tenant_id, app_id=app_id)]


def revoke(run: Transaction, key_id: str, now: Micros) -> AccessKey | None:
    """Make a key invalid from now on, and return it; one that was revoked before keeps that instant."""
    row = run.one("revoke_access_key", id=key_id, now=now)
    return _to_key(row) if row else None


def forget_user(run: Transaction, scope: Scope, now: Micros) -> int:
    """Revoke the keys of an erased user and remove the user's id from them; return how many there were."""
    named = {"tenant_id": scope.tenant_id, "app_id": scope.app_id, "user_id": scope.user_id}
    return len(run.all("forget_access_keys", **named, erased=ERASED, now=now))


def count(run: Transaction, now: Micros) -> KeyCount:
    """Return the numbers of keys."""
    row = run.one("count_access_keys", now=now)
    assert row is not None
    return KeyCount(*row)


def has_any(run: Transaction) -> bool:
    """Return whether any key was ever made: until then the server asks for none."""
    return run.one("any_access_key") is not None


def note_uses(run: Transaction, uses: dict[str, Micros]) -> None:
    """Note when keys were last used, by their ids."""
    for key_id, at in uses.items():
        run.send("note_key_use", id=key_id, now=at)


def _to_key(row: Row) -> AccessKey:
    id, name, tenant_id, app_id, access, user_id, rate, created_at, expires_at, revoked_at, last_used_at = row
    return AccessKey.from_trusted(
        {
            "id": id,
            "name": name,
            "tenant_id": tenant_id,
            "app_id": app_id,
            "access": access,
            "user_id": user_id,
            "rate": rate,
            "created_at": to_iso(created_at),
            "expires_at": _to_iso(expires_at),
            "revoked_at": _to_iso(revoked_at),
            "last_used_at": _to_iso(last_used_at),
        }
    )


def _to_iso(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)
