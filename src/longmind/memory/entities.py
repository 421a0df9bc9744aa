"""Operations on entities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from longmind.memory.service_base import MemoryBase
from longmind.memory.validation import validate_entity_type, validate_name, validate_names
from longmind.models.entity import Entity, EntityType, fold_name
from longmind.store.database import Transaction
from longmind.store.tables import entities as store
from longmind.store.tables import spaces
from longmind.validation.identifiers import validate_id, validate_metadata
from longmind.validation.parameter_limits import DESCRIPTION, LIMIT, Description, EntityId, Limit, Name, SpaceId, Text
from longmind.validation.text import validate_text


class Entities(MemoryBase):
    """The people, places and things that atoms are about."""

    def create_entity(
        self,
        memory_space_id: SpaceId,
        type: EntityType,
        canonical_name: Name,
        *,
        description: Description | None = None,
        attributes: dict[str, Any] | None = None,
        aliases: Sequence[Name] = (),
    ) -> Entity:
        """Create an entity, or return the existing one of that type and name unchanged.

        memory_space_id: the id or the name of a space. type: for example `PERSON`. canonical_name: at most 255
        characters.
        description: at most 10,000 characters. attributes: up to 64 KiB of JSON. aliases: other names, at most 1,000.

        A name belongs to one entity of a type: raises Conflict, which names the owner, for an alias that is taken.
        """
        fields = (
            validate_entity_type(type),
            validate_name("canonical_name", canonical_name),
            None if description is None else DESCRIPTION.check("description", description),
            validate_metadata(attributes, "attributes"),
            validate_names("aliases", aliases) or (),
            self._clock(),
        )
        space_id = self._find_space(memory_space_id)
        return self._database.write(self._scope, store.create, self._scope, space_id, *fields)

    def get_entity(self, entity_id: EntityId) -> Entity | None:
        """Return an entity, or None. A merged one is returned as it is, with the id that it was merged into.

        entity_id: the entity.
        """
        checked = validate_id("entity_id", entity_id)
        found = self._find_by_id(lambda scope: self._database.read(scope, store.get, checked))
        return found[0] if found else None

    def find_entity_by_name(self, memory_space_id: SpaceId, type: EntityType, name: Name) -> Entity | None:
        """Return the entity of a type with exactly this name or alias, ignoring case, or None.

        memory_space_id: the id or the name of a space. type: for example `PERSON`. name: at most 255 characters.
        """
        type_and_name = (validate_entity_type(type), validate_name("name", name))
        space_id = self._find_space(memory_space_id)
        return self._read_space(space_id, lambda scope: self._database.read(scope, _find, space_id, *type_and_name))

    def merge_entities(self, canonical_id: EntityId, alias_id: EntityId) -> Entity:
        """Merge one entity into another: its atoms and names move, and its id then leads to the other.

        canonical_id: the entity that stays. alias_id: the one that is merged into it.

        Raises InvalidInput for entities of different spaces, or if both are the same already.
        """
        return self._database.write(
            self._scope,
            store.merge,
            self._scope,
            validate_id("canonical_id", canonical_id),
            validate_id("alias_id", alias_id),
            self._clock(),
        )

    def search_entities(
        self, memory_space_id: SpaceId, query: Text, *, type: EntityType | None = None, limit: Limit = 20
    ) -> list[Entity]:
        """Search entities with a name like the query, the most similar first.

        Equal names come before beginnings, parts, shared words and similar letters.

        memory_space_id: the id or the name of a space. query: a name or a part of one. type: only entities of this
        type, for example `PERSON`. limit: from 1 to 10,000.
        """
        checked_search = (
            validate_text("query", query),
            None if type is None else validate_entity_type(type),
            LIMIT.check("limit", limit),
        )
        space_id = self._find_space(memory_space_id)
        return self._read_space(space_id, lambda scope: self._database.read(scope, _search, space_id, *checked_search))


def _find(run: Transaction, space_id: str, type: EntityType, name: str) -> Entity | None:
    spaces.require(run, space_id)
    return store.find(run, space_id, type, name)


def _search(run: Transaction, space_id: str, query: str, type: EntityType | None, limit: int) -> list[Entity]:
    spaces.require(run, space_id)
    wanted = fold_name(query)
    # Compared in Python: SQL has no such measure on both engines, and a space holds few names.
    best: dict[str, float] = {}
    for name, entity_id, _ in store.list_folded_names(run, space_id):
        likeness = _measure_likeness(wanted, name)
        if likeness > best.get(entity_id, 0.0):
            best[entity_id] = likeness
    # Ties go by id, so that the order never depends on the database.
    ranked = sorted(best, key=lambda entity_id: (-best[entity_id], entity_id))
    found = (store.get(run, entity_id) for entity_id in ranked)
    # Compared by the entity's own type: a name that a merge moved may be of another type.
    return list(islice((each for each in found if each is not None and type in (None, each.type)), limit))


def _measure_likeness(wanted: str, name: str) -> float:
    """Return how similar a name is to the wanted one, from 1.0 for equal to 0.0."""
    if not wanted or wanted == name:
        return 1.0
    if name.startswith(wanted):
        return 0.9
    if f" {wanted}" in f" {name}":
        return 0.8
    if wanted in name or name in wanted.split():
        return 0.7
    words, others = set(wanted.split()), set(name.split())
    if words & others:
        return 0.6 * len(words & others) / len(words | others)
    # The Dice coefficient of letter pairs.
    pairs, other_pairs = _list_letter_pairs(wanted), _list_letter_pairs(name)
    alike = 2 * len(pairs & other_pairs) / (len(pairs) + len(other_pairs) or 1)
    # A typing error leaves most pairs of letters intact; with fewer in common it is another name.
    return 0.5 * alike if alike >= 0.5 else 0.0


def _list_letter_pairs(text: str) -> set[str]:
    return {text[place : place + 2] for place in range(len(text) - 1)}
