"""Memory spaces, and the revisions and positions that changes of their memory take.

Every change takes the next revision in the row of its space, which holds the row until the transaction ends: changes of
one space happen one after another, and a cache that knows a revision can ask for what came after it. Atoms take their
positions in the same statement, and keep them for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from longmind.clock import Micros, to_iso
from longmind.errors import NotFound
from longmind.ids import new_id
from longmind.models.space import MemorySpace, SpaceKind
from longmind.scope import Scope
from longmind.store.database import PendingRow, Row, Transaction
from longmind.store.tables.ledger import record_change
from longmind.validation.text import decode_json

REVISIONS_OF_AN_EPOCH = 2**40
"""Revisions of memory that is imported after an erasure begin far beyond those before it, so that no cache takes it
for the memory that it knows."""


def find_next_epoch(revision: int) -> int:
    """Return the revision with which the next epoch begins."""
    return (revision // REVISIONS_OF_AN_EPOCH + 1) * REVISIONS_OF_AN_EPOCH


def is_same_epoch(revision: int, other: int) -> bool:
    """Return whether two revisions are of one epoch, so that positions mean the same atoms at both."""
    return find_next_epoch(revision) == find_next_epoch(other)


def create(
    run: Transaction, scope: Scope, name: str | None, kind: SpaceKind, metadata: str, now: Micros
) -> MemorySpace:
    """Make a space, or return the live one of that name."""
    row = run.one(
        "insert_space",
        id=new_id("ms", now),
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        user_id=scope.user_id,
        name=name,
        kind=kind,
        metadata=metadata,
        now=now,
    )
    if row is None:
        row = run.one("space_by_name", kind=kind, name=name)
        # If it was deleted between the two statements, its name is free.
        return _to_space(run, row) if row else create(run, scope, name, kind, metadata, now)
    record_change(run, scope, "space.created", now, space_id=row[0])
    return _to_space(run, row)


def get(run: Transaction, space_id: str) -> MemorySpace | None:
    """Return a live space; None if the scope has none with this id."""
    row = run.one("get_space", id=space_id)
    return _to_space(run, row) if row else None


def find_id(run: Transaction, name: str, kind: SpaceKind = "user") -> str | None:
    """Return the id of the user's live space with this name; None if there is none."""
    row = run.one("space_by_name", kind=kind, name=name)
    return row[0] if row else None


def list_all(run: Transaction) -> list[MemorySpace]:
    """Return the live spaces of a user."""
    return [_to_space(run, row) for row in run.all("list_spaces")]


def read_every(run: Transaction) -> Iterator[MemorySpace]:
    """Yield all spaces of a user, deleted ones too. Only inside of `read_snapshot`."""
    return (_to_space(run, row) for row in run.each("every_space"))


def delete(run: Transaction, scope: Scope, space_id: str, now: Micros) -> None:
    """Delete a space. Its rows stay, out of reach, until the user is erased."""
    if run.one("delete_space", id=space_id, now=now) is None:
        raise NotFound("memory space", space_id)
    record_change(run, scope, "space.deleted", now, space_id=space_id)


@dataclass(frozen=True)
class SpaceChange:
    """A change of a space's memory that has begun: its revision, and the first position for the atoms that it adds."""

    revision: int
    first: int
    vector_model: str | None
    tombstone_key: str | None
    """The secret that hashes of deleted facts are keyed with; None as long as there are none."""


def begin_change(run: Transaction, space_id: str, now: Micros, atoms: int = 0) -> SpaceChange:
    """Begin to change a space's memory; no other transaction changes it before this one has ended.

    atoms: the number of positions to take.
    """
    return ask_change(run, space_id, now, atoms)()


def ask_change(run: Transaction, space_id: str, now: Micros, atoms: int) -> Callable[[], SpaceChange]:
    """Send the statement of `begin_change`, and return a function that waits for its answer.

    So a caller can prepare rows while the server takes the revision.
    """
    pending = run.ask("next_revision", space_id=space_id, atoms=atoms, now=now)

    def wait() -> SpaceChange:
        row = pending()
        if row is None:
            raise NotFound("memory space", space_id)
        return SpaceChange(*row)

    return wait


def return_position(run: Transaction, space_id: str) -> None:
    """Give back the last position that the change of a space, which has begun, has taken: no atom is added there."""
    run.send("return_position", space_id=space_id)


def read_state(run: Transaction, space_id: str) -> Row | None:
    """Return `(revision, atoms, vector_model, names_revision)` of a live space; None if there is none.

    The state of its owner's messages follows, as in `passages.PassageState`. `atoms` counts all positions that were
    ever taken, also those of atoms that are gone.
    """
    return run.one("space_state", space_id=space_id)


def ask_revision(run: Transaction, space_id: str) -> PendingRow:
    """Begin to read the revision of a live space, which the state of its owner's messages follows."""
    return run.ask("space_revision", space_id=space_id)


def is_live(run: Transaction, space_id: str) -> bool:
    """Return whether the scope has such a space, and it was not deleted."""
    return read_state(run, space_id) is not None


def require(run: Transaction, space_id: str) -> None:
    """Raise NotFound unless the scope has such a space, and it was not deleted."""
    if not is_live(run, space_id):
        raise NotFound("memory space", space_id)


def _to_space(run: Transaction, row: Row) -> MemorySpace:
    id, tenant_id, app_id, user_id, name, kind, metadata, created_at, updated_at = row
    # Positions that were taken, less the atoms that were removed: no scan of the atoms.
    counted = run.one("count_atoms", space_id=id)
    return MemorySpace(
        id=id,
        tenant_id=tenant_id,
        app_id=app_id,
        user_id=user_id,
        name=name,
        kind=kind,
        metadata=decode_json(metadata, dict),
        atom_count=counted[0] if counted else 0,
        created_at=to_iso(created_at),
        updated_at=to_iso(updated_at),
    )


def read_vector_model(run: Transaction, space_id: str) -> str | None:
    """Return the embedder whose vectors recall asks, if any; raise NotFound if there is no such space."""
    state = read_state(run, space_id)
    if state is None:
        raise NotFound("memory space", space_id)
    model: str | None = state[2]
    return model


def adopt_vector_model(run: Transaction, space_id: str, model: str) -> None:
    """Let recall ask the vectors of an embedder. Every atom of the space must have one by then."""
    run.send("adopt_vector_model", space_id=space_id, model=model)


def note_names(run: Transaction, space_id: str, revision: int) -> None:
    """Note that the names of entities changed with a revision, so that caches read them again."""
    run.send("names_changed", space_id=space_id, revision=revision)


def list_shared_by_others(run: Transaction, scope: Scope) -> list[Row]:
    """Return `(user_id, id, deleted_at)` of the shared spaces of all other users of an app, deleted ones too."""
    return run.all("shared_spaces_of_others", tenant_id=scope.tenant_id, app_id=scope.app_id, user_id=scope.user_id)


def list_lacking_vectors(run: Transaction, model: str) -> list[tuple[Scope, str]]:
    """Return the spaces of all users in which some atom has no vector of an embedder."""
    return [(Scope(*owner), space_id) for *owner, space_id in run.all("spaces_lacking_vectors", model=model)]


def list_users(run: Transaction, tenant_id: str, app_id: str) -> list[str]:
    """Return the users of an app who have a live space."""
    return [row[0] for row in run.all("users_of_app", tenant_id=tenant_id, app_id=app_id)]
