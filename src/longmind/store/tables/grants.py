"""Units of work on grants. They belong to an app, since owner and reader are two users of it."""

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
"""A space, and the scope it is read in: its owner's, with none of the rights that a call of theirs may have."""

_ALL = 2**53
"""More than anybody is granted."""


def grant(run: Transaction, scope: Scope, space_id: str, user_id: str, now: Micros) -> SpaceGrant:
    """Let a user read a shared space; one who has the grant already keeps it as it is."""
    _hold(run, space_id)
    row = run.one("insert_grant", space_id=space_id, user_id=user_id, owner_id=scope.user_id, now=now)
    if row is None:
        return next(grant for grant in list_of_space(run, scope, space_id) if grant.user_id == user_id)
    record_change(run, scope, "space.granted", now, space_id=space_id, reader_id=user_id)
    return _to_grant(scope, space_id, row)


def revoke(run: Transaction, scope: Scope, space_id: str, user_id: str, now: Micros) -> None:
    _hold(run, space_id)
    if run.one("delete_grant", space_id=space_id, user_id=user_id, owner_id=scope.user_id) is not None:
        record_change(run, scope, "space.revoked", now, space_id=space_id, reader_id=user_id)


def revoke_all(run: Transaction, scope: Scope, space_id: str) -> None:
    """With a space that is deleted its grants go too."""
    run.send("drop_grants", space_id=space_id, owner_id=scope.user_id)


def list_of_space(run: Transaction, scope: Scope, space_id: str) -> list[SpaceGrant]:
    spaces.require(run, space_id)
    rows = run.all("grants_of_space", space_id=space_id, owner_id=scope.user_id)
    return [_to_grant(scope, space_id, row) for row in rows]


def find_owner_scope(run: Transaction, scope: Scope, space_id: str) -> ReaderScope | None:
    """In whose scope a space may be looked for that is not the user's own."""
    row = run.one("owner_of_granted", space_id=space_id, user_id=scope.user_id)
    return _to_reader_scope(scope, row[0]) if row else None


def list_held(run: Transaction, scope: Scope, after_id: str = "", limit: int = _ALL) -> list[GrantedSpace]:
    """The spaces that a user may read beside their own, oldest first."""
    rows = run.all("spaces_granted_to", user_id=scope.user_id, after_id=after_id, limit=limit)
    return [(space_id, _to_reader_scope(scope, owner_id)) for space_id, owner_id in rows]


def read_every(run: Transaction, scope: Scope) -> Iterator[Row]:
    """Yield space, owner, reader and instant of each grant that a user gave or has. Only inside of `read_snapshot`."""
    return run.each("every_grant", user_id=scope.user_id)


def find_shared_owner(database: Database, scope: Scope, space_id: str) -> ReaderScope | None:
    """The scope to read a space in that somebody else shares with the user; None when nobody does."""
    owner = database.read(scope, find_owner_scope, scope, space_id)
    # The grant alone is not believed: the space must be there, and be one that can be granted.
    return owner if owner is not None and database.read(owner, is_shared, space_id) else None


def is_shared(run: Transaction, space_id: str) -> bool:
    """Whether a space is there in the scope of the transaction, and one that can be granted."""
    return run.one("shared_space", space_id=space_id) is not None


def _hold(run: Transaction, space_id: str) -> None:
    if run.one("hold_shared_space", space_id=space_id) is None:
        if spaces.get(run, space_id) is None:
            raise NotFound("memory space", space_id)
        raise InvalidInput(
            f"The space {space_id!r} is not a shared one.",
            hint="Only a space that was created with kind='shared' can be granted; a user's own stays their own.",
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
