"""Units of work on the keys of the server."""

from __future__ import annotations

from dataclasses import dataclass

from longmind.clock import Micros, to_iso
from longmind.models.key import AccessKey, KeyAccess
from longmind.scope import Scope
from longmind.store.database import Row, Transaction

ERASED = "(erased)"
"""Who a key was for whose user is erased."""


@dataclass(frozen=True)
class NewKey:
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
    """How many keys there have ever been, and how many of them open something now."""

    made: int
    valid: int


@dataclass(frozen=True)
class KnownKey:
    """A key as a request is checked against it."""

    key: AccessKey
    digest: str
    expires_at: Micros | None
    last_used_at: Micros | None


def insert(run: Transaction, new: NewKey, now: Micros) -> AccessKey:
    row = run.one("insert_access_key", **vars(new), now=now)
    assert row is not None
    return _to_key(row)


def find(run: Transaction, key_id: str) -> KnownKey | None:
    row = run.one("find_access_key", id=key_id)
    if row is None:
        return None
    digest, *rest = row
    return KnownKey(_to_key(tuple(rest)), digest, expires_at=rest[8], last_used_at=rest[10])


def list_oldest_first(run: Transaction, tenant_id: str | None, app_id: str | None) -> list[AccessKey]:
    return [_to_key(row) for row in run.all("list_access_keys", tenant_id=tenant_id, app_id=app_id)]


def revoke(run: Transaction, key_id: str, now: Micros) -> AccessKey | None:
    row = run.one("revoke_access_key", id=key_id, now=now)
    return _to_key(row) if row else None


def forget_user(run: Transaction, scope: Scope, now: Micros) -> int:
    """Revoke the keys of a user for good, and keep nothing of theirs in them; gives how many they were."""
    named = {"tenant_id": scope.tenant_id, "app_id": scope.app_id, "user_id": scope.user_id}
    return len(run.all("forget_access_keys", **named, erased=ERASED, now=now))


def count(run: Transaction, now: Micros) -> KeyCount:
    row = run.one("count_access_keys", now=now)
    assert row is not None
    return KeyCount(*row)


def has_any(run: Transaction) -> bool:
    return run.one("any_access_key") is not None


def note_uses(run: Transaction, uses: dict[str, Micros]) -> None:
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
