"""Units of work on memory spaces."""

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
"""Revisions of memory that was brought in after an erasure begin far beyond those that were there before it: a cache
that has kept those does not take it for what it knows."""


def find_next_epoch(revision: int) -> int:
    """The revision with which the next epoch begins."""
    return (revision // REVISIONS_OF_AN_EPOCH + 1) * REVISIONS_OF_AN_EPOCH


def is_same_epoch(revision: int, other: int) -> bool:
    """Whether an atom's position is the same at both."""
    return find_next_epoch(revision) == find_next_epoch(other)


def create(
    run: Transaction, scope: Scope, name: str | None, kind: SpaceKind, metadata: str, now: Micros
) -> MemorySpace:
    """Make a space, or find the live one of that name."""
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
        # Deleted between the two looks: then its name is free.
        return _to_space(run, row) if row else create(run, scope, name, kind, metadata, now)
    record_change(run, scope, "space.created", now, space_id=row[0])
    return _to_space(run, row)


def get(run: Transaction, space_id: str) -> MemorySpace | None:
    row = run.one("get_space", id=space_id)
    return _to_space(run, row) if row else None


def find_id(run: Transaction, name: str, kind: SpaceKind = "user") -> str | None:
    """The id of the user's live space of a name."""
    row = run.one("space_by_name", kind=kind, name=name)
    return row[0] if row else None


def list_all(run: Transaction) -> list[MemorySpace]:
    return [_to_space(run, row) for row in run.all("list_spaces")]


def read_every(run: Transaction) -> Iterator[MemorySpace]:
    """All spaces of a user, also those that were put away. Only inside of `read_snapshot`."""
    return (_to_space(run, row) for row in run.each("every_space"))


def delete(run: Transaction, scope: Scope, space_id: str, now: Micros) -> None:
    if run.one("delete_space", id=space_id, now=now) is None:
        raise NotFound("memory space", space_id)
    record_change(run, scope, "space.deleted", now, space_id=space_id)


@dataclass(frozen=True)
class SpaceChange:
    """A change to a space's memory that has begun: its number, and the first place for the atoms that it adds."""

    revision: int
    first: int
    vector_model: str | None
    tombstone_key: str | None
    """What the hashes of deleted facts are keyed with; None as long as there are none."""


def begin_change(run: Transaction, space_id: str, now: Micros, atoms: int = 0) -> SpaceChange:
    """Begin to change a space's memory; no other transaction changes it before this one has ended."""
    return ask_change(run, space_id, now, atoms)()


def ask_change(run: Transaction, space_id: str, now: Micros, atoms: int) -> Callable[[], SpaceChange]:
    """The same, for who has something else to do before it has to be known where the change begins."""
    pending = run.ask("next_revision", space_id=space_id, atoms=atoms, now=now)

    def begun() -> SpaceChange:
        row = pending()
        if row is None:
            raise NotFound("memory space", space_id)
        return SpaceChange(*row)

    return begun


def read_state(run: Transaction, space_id: str) -> Row | None:
    """Return `(revision, atoms, vector_model, names_revision)` of a live space.

    `atoms` counts all positions that were ever taken, also those of atoms that are gone.
    """
    return run.one("space_state", space_id=space_id)


def ask_revision(run: Transaction, space_id: str) -> PendingRow:
    """Begin to read the revision of a live space; the row has nothing else."""
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
    """The embedder whose vectors recall asks, if any."""
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
    """The spaces of all users that have not the vectors of this model, or not all of them."""
    return [(Scope(*owner), space_id) for *owner, space_id in run.all("spaces_lacking_vectors", model=model)]
