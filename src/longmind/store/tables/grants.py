"""Grants: which user may read a shared space of another.

They belong to an app, since owner and reader are two of its users. A grant is never enough to read by: the space must
also exist in the scope of its owner, and be a shared one.
"""

from __future__ import annotations

from collections.abc import Iterator

from longmind.clock import Micros, to_iso
from longmind.errors import InvalidInput, NotFound
from longmind.models.grant import SpaceGrant
from longmind.scope import ReaderScope, Scope
from longmind.store.database import Database, Row, Transaction
from longmind.store.tables import spaces
from longmind.store.tables.ledger import record_change

GrantedSpace = tuple[str, ReaderScope]
"""A space, and the scope that it is read in: that of its owner, without any of the owner's rights."""

_ALL = 2**53
"""More spaces than any user is granted."""


def grant(run: Transaction, scope: Scope, space_id: str, user_id: str, now: Micros) -> SpaceGrant:
    """Let a user read a shared space; a grant that exists stays as it is."""
    _hold(run, space_id)
    row = run.one("insert_grant", space_id=space_id, user_id=user_id, owner_id=scope.user_id, now=now)
    if row is None:
        # No row comes back for a grant that exists.
        return next(grant for grant in list_of_space(run, scope, space_id) if grant.user_id == user_id)
    record_change(run, scope, "space.granted", now, space_id=space_id, reader_id=user_id)
    return _to_grant(scope, space_id, row)


def revoke(run: Transaction, scope: Scope, space_id: str, user_id: str, now: Micros) -> None:
    """Take a grant back. Without such a grant nothing changes."""
    _hold(run, space_id)
    if run.one("delete_grant", space_id=space_id, user_id=user_id, owner_id=scope.user_id) is not None:
        record_change(run, scope, "space.revoked", now, space_id=space_id, reader_id=user_id)


def revoke_all(run: Transaction, scope: Scope, space_id: str) -> None:
    """Remove all grants of a space that is being deleted."""
    run.send("drop_grants", space_id=space_id, owner_id=scope.user_id)


def list_of_space(run: Transaction, scope: Scope, space_id: str) -> list[SpaceGrant]:
    """Return the grants of a space of the user; raise NotFound if there is no such space."""
    spaces.require(run, space_id)
    rows = run.all("grants_of_space", space_id=space_id, owner_id=scope.user_id)
    return [_to_grant(scope, space_id, row) for row in rows]


def find_owner_scope(run: Transaction, scope: Scope, space_id: str) -> ReaderScope | None:
    """Return the read-only scope of the owner who granted this user a space; None without a grant."""
    row = run.one("owner_of_granted", space_id=space_id, user_id=scope.user_id)
    return _to_reader_scope(scope, row[0]) if row else None


def list_granted(run: Transaction, scope: Scope, after_id: str = "", limit: int = _ALL) -> list[GrantedSpace]:
    """Return the spaces of others that a user may read, oldest first, that come after an id."""
    rows = run.all("spaces_granted_to", user_id=scope.user_id, after_id=after_id, limit=limit)
    return [(space_id, _to_reader_scope(scope, owner_id)) for space_id, owner_id in rows]


def read_every(run: Transaction, scope: Scope) -> Iterator[Row]:
    """Yield space, owner, reader and instant of each grant that a user gave or has. Only inside of `read_snapshot`."""
    return run.each("every_grant", user_id=scope.user_id)


def find_shared_owner(database: Database, scope: Scope, space_id: str) -> ReaderScope | None:
    """Return the read-only scope of the owner who shares a space with this user; None if nobody does."""
    owner = database.read(scope, find_owner_scope, scope, space_id)
    # The grant alone does not count: the space must exist, and be one that can be granted.
    return owner if owner is not None and database.read(owner, is_shared, space_id) else None


def is_shared(run: Transaction, space_id: str) -> bool:
    """Return whether the scope of the transaction has such a space, and it is one that can be granted."""
    return run.one("shared_space", space_id=space_id) is not None


def _hold(run: Transaction, space_id: str) -> None:
    if run.one("hold_shared_space", space_id=space_id) is None:
        if spaces.get(run, space_id) is None:
            raise NotFound("memory space", space_id)
        raise InvalidInput(
            f"The space {space_id!r} is not a shared space.",
            hint="Grant a space that was created with kind='shared'.",
        )


def _to_reader_scope(scope: Scope, owner_id: str) -> ReaderScope:
    return ReaderScope(scope.tenant_id, scope.app_id, owner_id)


def _to_grant(scope: Scope, space_id: str, row: Row) -> SpaceGrant:
    user_id, created_at = row
    return SpaceGrant(
        memory_space_id=space_id,
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        owner_id=scope.user_id,
        user_id=user_id,
        created_at=to_iso(created_at),
    )
