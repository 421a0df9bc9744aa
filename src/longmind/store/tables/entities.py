"""Entities and their names.

A name leads to one entity per type and space, in the folded form in which names are compared. Merging two entities
moves the names and atoms of one to the other; the row stays, so that its id still leads there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longmind.clock import Micros, to_iso, to_micros
from longmind.errors import Conflict, InvalidInput, NotFound
from longmind.ids import new_id
from longmind.models.entity import Entity, EntityType, fold_name
from longmind.scope import Scope
from longmind.store.database import PendingRow, Row, Transaction
from longmind.store.tables import atoms, spaces
from longmind.store.tables.ledger import record_change
from longmind.validation.text import decode_json


def create(
    run: Transaction,
    scope: Scope,
    space_id: str,
    type: EntityType,
    canonical_name: str,
    description: str | None,
    attributes: str,
    aliases: tuple[str, ...],
    now: Micros,
) -> Entity:
    """Make an entity, or return the one that has this name already.

    Raise Conflict if an alias is a name of another entity.
    """
    known = find(run, space_id, type, canonical_name)
    if known is not None:
        return known
    change = spaces.begin_change(run, space_id, now)
    # Look again, now that the space is held: another transaction may have made it in between.
    known = find(run, space_id, type, canonical_name)
    if known is not None:
        return known
    # An alias that leads to another entity would make the name ambiguous.
    for alias in aliases:
        owner = find(run, space_id, type, alias)
        if owner is not None:
            raise Conflict(
                f"The alias {alias!r} is a name of the entity {owner.id!r} ({owner.canonical_name}).",
                hint="If both are one entity, leave the alias out and call merge_entities; else leave it out.",
            )
    entity_id = _make(
        run, scope, space_id, type, canonical_name, description, attributes, aliases, change.revision, now
    )
    return _require(run, entity_id)


def find_or_make(
    run: Transaction,
    scope: Scope,
    space_id: str,
    type: EntityType,
    name: str,
    aliases: tuple[str, ...],
    revision: int,
    now: Micros,
) -> str:
    """Return the id of the entity that a name or one of its aliases stands for; it is made if there is none.

    The caller has begun a change of the space. New names are added to the entity; one that leads to another stays with
    that one.
    """
    # The first name that is known decides, so that all names of one mention lead to one entity.
    for each in (name, *aliases):
        rows = _look_up_name(run, space_id, type, each)
        if rows:
            learned = [_add_name(run, space_id, type, alias, rows[0][1], now)() for alias in (name, *aliases)]
            if any(learned):
                spaces.note_names(run, space_id, revision)
            return str(rows[0][1])
    return _make(run, scope, space_id, type, name, None, "{}", aliases, revision, now)


def _make(
    run: Transaction,
    scope: Scope,
    space_id: str,
    type: EntityType,
    canonical_name: str,
    description: str | None,
    attributes: str,
    aliases: tuple[str, ...],
    revision: int,
    now: Micros,
) -> str:
    entity_id = new_id("ent", now)
    run.send(
        "insert_entity",
        id=entity_id,
        space_id=space_id,
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        user_id=scope.user_id,
        type=type,
        canonical_name=canonical_name,
        description=description,
        attributes=attributes,
        now=now,
    )
    for name in (canonical_name, *aliases):
        _add_name(run, space_id, type, name, entity_id, now)
    spaces.note_names(run, space_id, revision)
    record_change(run, scope, "entity.created", now, space_id=space_id, entity_id=entity_id)
    return entity_id


def get(run: Transaction, entity_id: str) -> Entity | None:
    """Return the entity with an id as it is, or None; one that was merged says into which."""
    row = run.one("get_entity", id=entity_id)
    return _to_entity(run, row) if row else None


def read_every(run: Transaction) -> Iterator[Entity]:
    """Yield all entities of a user. Only inside of `read_snapshot`."""
    return (_to_entity(run, row) for row in run.each("every_entity"))


def resolve(run: Transaction, entity_id: str) -> Entity | None:
    """Return the entity that an id stands for now, at the end of the chain of merges; None for an unknown id."""
    entity = get(run, entity_id)
    # Merging resolves both sides first, so that chains never close to a circle.
    while entity is not None and entity.merged_into is not None:
        entity = get(run, entity.merged_into)
    return entity


def find(run: Transaction, space_id: str, type: EntityType | None, name: str) -> Entity | None:
    """Return the entity that has a name, or None. Names of a merged entity belong to the one it was merged into."""
    rows = _look_up_name(run, space_id, type, name)
    return resolve(run, rows[0][1]) if rows else None


def find_folded(run: Transaction, space_id: str, type: EntityType, folded: str) -> str | None:
    """Return the id of the entity of a type that has a folded name in just this spelling; None if there is none."""
    row = run.one("entities_named", space_id=space_id, folded=folded, type=type)
    return None if row is None else row[1]


def list_names(run: Transaction, entity_id: str) -> list[str]:
    """Return all names of an entity, its canonical one included."""
    return [name for (name,) in run.all("names_of_entity", entity_id=entity_id)]


def list_ids(run: Transaction, space_id: str, id_or_name: str) -> list[str]:
    """Return the entities that an id or a name stands for in a space.

    A name may stand for several, of different types.
    """
    entity = resolve(run, id_or_name)
    if entity is not None:
        return [entity.id] if entity.memory_space_id == space_id else []
    return list(dict.fromkeys(row[1] for row in _look_up_name(run, space_id, None, id_or_name)))


_CURLED = "\u2019\u2018\u02bc"
_APOSTROPHES = str.maketrans(dict.fromkeys(_CURLED, "'"))


def _look_up_name(run: Transaction, space_id: str, type: EntityType | None, name: str) -> list[Row]:
    """Return the rows that a name leads to, whichever kind of apostrophe it is written with."""
    folded = fold_name(name)
    plainly = folded.translate(_APOSTROPHES)
    spellings = dict.fromkeys((folded, plainly, *(plainly.replace("'", each) for each in _CURLED)))
    if plainly.count("'") > 1:
        # A pair of apostrophes may be quotation marks: one that opens, and one that closes.
        opened = plainly.replace("'", "\u2018", 1).replace("'", "\u2019")
        spellings[opened] = None
    return [row for each in spellings for row in run.all("entities_named", space_id=space_id, folded=each, type=type)]


def list_positions(run: Transaction, space_id: str, entity_id: str) -> tuple[int, ...]:
    """Return the positions of the atoms of a space that mention an entity, ascending."""
    return tuple(row[0] for row in run.all("positions_of_entity", space_id=space_id, entity_id=entity_id))


def map_positions(run: Transaction, space_id: str, entity_ids: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the positions of the atoms that mention each of some entities."""
    return {entity_id: list_positions(run, space_id, entity_id) for entity_id in entity_ids}


def list_positions_by_name(run: Transaction, space_id: str, id_or_name: str) -> tuple[int, ...]:
    """Return the positions of the atoms that mention the entities an id or a name stands for."""
    spaces.require(run, space_id)
    found = {place for each in list_ids(run, space_id, id_or_name) for place in list_positions(run, space_id, each)}
    return tuple(sorted(found))


def list_folded_names(run: Transaction, space_id: str, type: EntityType | None = None) -> list[tuple[str, str, Micros]]:
    """Return all folded names in a space, each with its entity and the instant since which that has it."""
    rows = run.all("names_in_space", space_id=space_id, type=type)
    return [(folded, entity_id, since) for folded, entity_id, _, since in rows]


def merge(run: Transaction, scope: Scope, canonical_id: str, alias_id: str, now: Micros) -> Entity:
    """Merge one entity into another: its atoms and its names move over, and its id leads there."""
    found = get(run, canonical_id)
    if found is None:
        raise NotFound("entity", canonical_id)
    # Hold the space first: of two merges at once, the second must see where the first has led.
    revision = spaces.begin_change(run, found.memory_space_id, now).revision
    canonical, alias = resolve(run, canonical_id), resolve(run, alias_id)
    if canonical is None:
        raise NotFound("entity", canonical_id)
    if alias is None:
        raise NotFound("entity", alias_id)
    if canonical.id == alias.id:
        raise InvalidInput(f"{canonical_id!r} and {alias_id!r} are the same entity already.")
    if canonical.memory_space_id != alias.memory_space_id:
        raise InvalidInput(
            f"{canonical_id!r} and {alias_id!r} are entities of different spaces.", hint="Merge entities of one space."
        )
    for (atom_id,) in run.all("atoms_of_entity", entity_id=alias.id):
        atoms.relink(run, atom_id, alias.id, canonical.id, revision, now)
    run.send("unlink_entity", entity_id=alias.id)
    run.send("move_names", canonical_id=canonical.id, alias_id=alias.id)
    if alias.type != canonical.type:
        # Names are looked up by type, so the names of the alias must also be found under the type it now has.
        for name in (alias.canonical_name, *alias.aliases):
            _add_name(run, canonical.memory_space_id, canonical.type, name, canonical.id, now)
    spaces.note_names(run, canonical.memory_space_id, revision)
    run.send("merge_entity", canonical_id=canonical.id, alias_id=alias.id, now=now)
    run.send(
        "widen_entity",
        id=canonical.id,
        first_seen_at=to_micros(alias.first_seen_at),
        last_seen_at=to_micros(alias.last_seen_at),
        now=now,
    )
    record_change(
        run, scope, "entity.merged", now, space_id=canonical.memory_space_id, entity_id=canonical.id, alias_id=alias.id
    )
    return _require(run, canonical.id)


def forget_learned(run: Transaction, space_id: str, learned_at: Iterable[Micros]) -> tuple[int, bool]:
    """Remove entities that were first met at some instants and that no atom speaks of any more.

    Names that other entities were given at these instants go too. Returns how many entities were removed, and whether
    any name was: then the caller has to note a change of the space's names.
    """
    removed_entities = 0
    names_removed = False
    for at in sorted(learned_at):
        for (entity_id,) in run.all("entities_left_over", space_id=space_id, at=at):
            run.send("erase_names_of", id=entity_id)
            run.send("erase_entity", id=entity_id)
            removed_entities += 1
        names_removed = bool(run.all("erase_names_learned", space_id=space_id, at=at)) or names_removed
    return removed_entities, names_removed


def _add_name(run: Transaction, space_id: str, type: EntityType, name: str, entity_id: str, now: Micros) -> PendingRow:
    """Let a name lead to an entity, unless it leads to one already; a row comes back if the name is new."""
    return run.send(
        "insert_entity_name",
        space_id=space_id,
        type=type,
        folded=fold_name(name),
        name=name,
        entity_id=entity_id,
        now=now,
    )


def _require(run: Transaction, entity_id: str) -> Entity:
    entity = get(run, entity_id)
    if entity is None:
        raise NotFound("entity", entity_id)
    return entity


def _to_entity(run: Transaction, row: Row) -> Entity:
    (
        id, space_id, tenant_id, app_id, user_id, type, canonical_name, description, attributes, merged_into,
        first_seen_at, last_seen_at, created_at, updated_at,
    ) = row  # fmt: skip
    canonical = fold_name(canonical_name)
    names = {fold_name(name): name for name in list_names(run, id)}
    counted = run.one("count_atoms_of_entity", entity_id=id)
    return Entity(
        id=id,
        memory_space_id=space_id,
        tenant_id=tenant_id,
        app_id=app_id,
        user_id=user_id,
        type=type,
        canonical_name=canonical_name,
        description=description,
        attributes=decode_json(attributes, dict),
        aliases=[name for folded, name in sorted(names.items()) if folded != canonical],
        status="ACTIVE" if merged_into is None else "MERGED",
        merged_into=merged_into,
        first_seen_at=to_iso(first_seen_at),
        last_seen_at=to_iso(last_seen_at),
        atom_count=counted[0] if counted else 0,
        created_at=to_iso(created_at),
        updated_at=to_iso(updated_at),
    )
