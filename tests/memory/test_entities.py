"""The people, places and things that atoms are about: names, aliases, merging and search."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import longmind
from longmind.memory import Memory
from longmind.models.entity import EntityType, fold_name
from tests.clock import SettableClock
from tests.memory.facts import at_once, fact, kinds_since, looked_up


def known(memory: Memory, entity: longmind.Entity) -> longmind.Entity:
    """The entity as it is now."""
    now = memory.get_entity(entity.id)
    assert now is not None
    return now


@pytest.mark.conforms("A4.2", "A4.3", "A4.4")
def test_an_entity_is_made_and_looked_up(memory: Memory, space: longmind.MemorySpace) -> None:
    entity = memory.create_entity(
        space.id,
        "PERSON",
        "Robert Smith",
        description="A neighbour",
        attributes={"age": 42},
        aliases=["Bob", "Rob Smith"],
    )
    assert entity.id.startswith("ent_")
    assert entity.memory_space_id == space.id
    assert (entity.tenant_id, entity.app_id, entity.user_id) == ("acme", "support", "ada")
    assert (entity.type, entity.canonical_name, entity.description) == ("PERSON", "Robert Smith", "A neighbour")
    assert (entity.attributes, entity.aliases) == ({"age": 42}, ["Bob", "Rob Smith"])
    assert (entity.status, entity.merged_into, entity.atom_count) == ("ACTIVE", None, 0)
    assert entity.first_seen_at == entity.last_seen_at == entity.created_at == entity.updated_at
    assert entity.created_at == "2026-03-01T09:30:00.000000Z"
    assert memory.get_entity(entity.id) == entity
    assert memory.get_entity("ent_none") is None


@pytest.mark.conforms("A4.3")
def test_json_has_the_names_that_callers_know(memory: Memory, space: longmind.MemorySpace) -> None:
    entity = memory.create_entity(space.id, "PERSON", "Bob")
    assert entity.model_dump().keys() == {
        "id", "memorySpaceId", "tenantId", "appId", "userId", "type", "canonicalName", "description", "attributes",
        "aliases", "status", "mergedInto", "firstSeenAt", "lastSeenAt", "atomCount", "createdAt", "updatedAt",
    }  # fmt: skip
    assert longmind.Entity.model_validate_json(entity.model_dump_json()) == entity


@pytest.mark.conforms("A4.1")
def test_the_types_are_these_and_each_has_its_own_names(memory: Memory, space: longmind.MemorySpace) -> None:
    types = ("PERSON", "ORGANIZATION", "PLACE", "OBJECT", "CONCEPT", "EVENT", "AGREEMENT")
    assert get_args(EntityType) == types
    made = {type: memory.create_entity(space.id, type, "Phoenix") for type in get_args(EntityType)}
    assert len({entity.id for entity in made.values()}) == 7
    for type, entity in made.items():
        assert memory.find_entity_by_name(space.id, type, "phoenix") == entity


@pytest.mark.conforms("A4.5")
@pytest.mark.parametrize(
    "spelling",
    ["Straße München", "STRASSE MÜNCHEN", "  straße \t münchen ", "Straße\u00a0München", "Straße Mu\u0308nchen"],
)
def test_a_name_is_found_however_it_is_spelled(spelling: str, memory: Memory, space: longmind.MemorySpace) -> None:
    entity = memory.create_entity(space.id, "PLACE", "Straße München")
    assert memory.find_entity_by_name(space.id, "PLACE", spelling) == entity
    assert memory.create_entity(space.id, "PLACE", spelling) == entity
    assert memory.find_entity_by_name(space.id, "PERSON", spelling) is None
    assert memory.find_entity_by_name(space.id, "PLACE", "Straße") is None


@pytest.mark.conforms("A4.5")
def test_full_width_letters_and_ligatures_are_the_same_names(memory: Memory, space: longmind.MemorySpace) -> None:
    entity = memory.create_entity(space.id, "ORGANIZATION", "\uff21\uff22\uff23 \uff43\uff4f", aliases=["oﬃce №5"])
    assert memory.find_entity_by_name(space.id, "ORGANIZATION", "abc CO") == entity
    assert memory.find_entity_by_name(space.id, "ORGANIZATION", "OFFICE No5") == entity
    assert entity.canonical_name == "\uff21\uff22\uff23 \uff43\uff4f"


@pytest.mark.conforms("A4.5")
def test_a_name_is_the_same_in_capitals_also_where_letters_come_apart(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    for name in ("Ταΐγετος", "Weiß", "ŉ", "ﬁn"):
        entity = memory.create_entity(space.id, "PLACE", name)
        assert memory.find_entity_by_name(space.id, "PLACE", name.upper()) == entity


@pytest.mark.conforms("A4.5")
@given(name=st.text(min_size=1))
def test_folding_a_folded_name_changes_nothing(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)


@pytest.mark.conforms("A4.5")
def test_an_alias_finds_its_entity(memory: Memory, space: longmind.MemorySpace) -> None:
    entity = memory.create_entity(space.id, "PERSON", "Robert", aliases=["Bob", "BOB", "Bobby"])
    assert {fold_name(alias) for alias in entity.aliases} == {"bob", "bobby"}
    for name in ("bob", "Bobby", "ROBERT"):
        assert memory.find_entity_by_name(space.id, "PERSON", name) == entity
    assert memory.create_entity(space.id, "PERSON", "bobby", description="Somebody else?") == entity


@pytest.mark.conforms("A4.5")
def test_an_alias_that_is_another_ones_is_a_conflict_that_names_the_owner(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    robert = memory.create_entity(space.id, "PERSON", "Robert", aliases=["Bob"])
    cursor, before = engine.last_cursor(), memory.get_memory_space(space.id)
    for alias in ("bob", " ROBERT "):
        with pytest.raises(longmind.Conflict, match=robert.id) as refused:
            memory.create_entity(space.id, "PERSON", "Bobby Brown", aliases=["BB", alias])
        assert "merge_entities" in refused.value.hint
    assert memory.search_entities(space.id, "") == [robert]
    assert kinds_since(engine, cursor) == []
    assert memory.get_memory_space(space.id) == before
    # Elsewhere, and for another type, the name is free.
    assert memory.create_entity(space.id, "OBJECT", "The boat", aliases=["Bob"]).aliases == ["Bob"]
    assert memory.create_entity(memory.create_memory_space("work").id, "PERSON", "B", aliases=["Bob"]).aliases == [
        "Bob"
    ]
    # Two that are one are merged, and then the name leads to the same.
    bobby = memory.create_entity(space.id, "PERSON", "Bobby Brown", aliases=["BB"])
    merged = memory.merge_entities(bobby.id, robert.id)
    assert merged.aliases == ["BB", "Bob", "Robert"]
    assert memory.create_entity(space.id, "PERSON", "Bobby Brown", aliases=["Bob"]) == merged


@pytest.mark.conforms("A4.5")
def test_of_many_who_take_one_alias_at_once_exactly_one_gets_it(memory: Memory, space: longmind.MemorySpace) -> None:
    def create(index: int) -> longmind.Entity | longmind.Conflict:
        try:
            return memory.create_entity(space.id, "PERSON", f"Robert {index}", aliases=["Bob"])
        except longmind.Conflict as conflict:
            return conflict

    answers = at_once(4, create)
    (owner,) = [answer for answer in answers if isinstance(answer, longmind.Entity)]
    assert all(owner.id in answer.message for answer in answers if isinstance(answer, longmind.Conflict))
    assert memory.search_entities(space.id, "") == [owner]


@pytest.mark.conforms("A4.2")
def test_creating_what_is_there_changes_nothing(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    bob = memory.create_entity(space.id, "PERSON", "Bob", aliases=["Bobby"])
    eve = memory.create_entity(space.id, "PERSON", "Eve")
    before, cursor = memory.get_memory_space(space.id), engine.last_cursor()
    clock.advance(60)
    # Not even when it is given a name of somebody else: the one that is there is given back as it is.
    for name, aliases in (("bob", []), ("Bobby", ["Robert"]), ("Bob", ["Eve"])):
        assert memory.create_entity(space.id, "PERSON", name, aliases=aliases) == bob
    assert memory.get_memory_space(space.id) == before
    assert kinds_since(engine, cursor) == []
    assert known(memory, bob) == bob
    assert known(memory, eve) == eve
    assert revision_of(memory, space) == 2


def revision_of(memory: Memory, space: longmind.MemorySpace) -> int:
    state = memory._database.read(memory._scope, lambda run: run.one("space_state", space_id=space.id))
    assert state is not None
    return int(state[0])


@pytest.mark.conforms("A4.5")
def test_names_are_known_in_their_space_alone(memory: Memory, space: longmind.MemorySpace) -> None:
    work = memory.create_memory_space("work")
    here, there = (memory.create_entity(each.id, "PERSON", "Bob") for each in (space, work))
    assert here.id != there.id
    assert memory.find_entity_by_name(work.id, "PERSON", "Bob") == there
    with pytest.raises(longmind.NotFound):
        memory.find_entity_by_name("ms_none", "PERSON", "Bob")


@pytest.mark.conforms("A4.2")
def test_eight_threads_that_create_one_entity_at_once_get_one(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    made = at_once(8, lambda _: memory.create_entity(space.id, "PERSON", "Bob"))
    assert len({entity.id for entity in made}) == 1
    assert kinds_since(engine, 0).count("entity.created") == 1


def test_what_cannot_be_an_entity_is_refused(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    cursor = engine.last_cursor()
    refused: list[dict[str, Any]] = [
        {"type": "person"},
        {"type": None},
        {"canonical_name": ""},
        {"canonical_name": "a\x00b"},
        {"canonical_name": "\ud800"},
        {"canonical_name": "n" * 256},
        {"canonical_name": 5},
        {"description": 5},
        {"description": "d" * 10_001},
        {"attributes": []},
        {"attributes": {"a": object()}},
        {"aliases": "Bob"},
        {"aliases": [""]},
        {"aliases": [5]},
    ]
    for fields in refused:
        # Shown when it is not refused.
        print(fields)
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.create_entity(space.id, **{"type": "PERSON", "canonical_name": "Bob", **fields})
    with pytest.raises(longmind.NotFound):
        memory.create_entity("ms_none", "PERSON", "Bob")
    assert memory.search_entities(space.id, "") == []
    assert kinds_since(engine, cursor) == []


@pytest.mark.conforms("A4.3")
def test_an_entity_knows_how_many_atoms_speak_of_it_and_since_when(memory: Memory, space: longmind.MemorySpace) -> None:
    bob = memory.create_entity(space.id, "PERSON", "Bob")
    atom = memory.add_atom(space.id, fact("Bob was born.", entity_ids=[bob.id, bob.id], valid_from="1990-01-01"))
    memory.add_atom(space.id, fact("Bob will retire.", entity_ids=[bob.id], valid_from="2055-01-01"))
    seen = known(memory, bob)
    assert atom.entity_ids == [bob.id]
    assert seen.atom_count == 2
    assert (seen.first_seen_at, seen.last_seen_at) == ("1990-01-01T00:00:00.000000Z", "2055-01-01T00:00:00.000000Z")


@pytest.mark.conforms("A4.3")
def test_an_entity_is_seen_no_longer_where_an_atom_was_deleted(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    bob = memory.create_entity(space.id, "PERSON", "Bob")
    early, middle, late = memory.add_atoms(
        space.id,
        [
            fact(f"Bob in {year}.", entity_ids=[bob.id], valid_from=f"{year}-01-01T00:00:00Z")
            for year in (1990, 2000, 2050)
        ],
    )
    clock.advance(60)
    seen = []
    for atom in (middle, early, late):
        memory.delete_atom(atom.id)
        now = known(memory, bob)
        seen.append((now.first_seen_at[:4], now.last_seen_at[:4], now.atom_count))
    assert seen == [("1990", "2050", 2), ("2026", "2050", 1), ("2026", "2026", 0)]
    assert now.first_seen_at == now.last_seen_at == now.created_at
    assert now.updated_at == "2026-03-01T09:31:00.000000Z"


@pytest.mark.conforms("A4.3", "A4.6")
def test_a_merged_entity_stays_seen_when_the_other_one_was_first(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    made = []
    for name in "ABC":
        made.append(memory.create_entity(space.id, "PERSON", name))
        clock.advance(60)
    first, second, third = made
    atom = memory.add_atom(space.id, fact(entity_ids=[first.id], valid_from="1990-01-01T00:00:00Z"))
    memory.merge_entities(second.id, first.id)
    merged = memory.merge_entities(third.id, second.id)
    assert merged.first_seen_at == atom.valid_from
    memory.delete_atom(atom.id)
    now = known(memory, merged)
    assert (now.first_seen_at, now.last_seen_at) == (first.created_at, third.created_at)


@pytest.mark.conforms("A4.6")
def test_merging_takes_over_atoms_and_names(memory: Memory, space: longmind.MemorySpace, clock: SettableClock) -> None:
    bob = memory.create_entity(space.id, "PERSON", "Bob", aliases=["Bobby"])
    robert = memory.create_entity(space.id, "PERSON", "Robert", aliases=["Rob"])
    eve = memory.create_entity(space.id, "PERSON", "Eve")
    of_bob, of_robert, of_both, of_all = memory.add_atoms(
        space.id,
        [
            fact("About Bob.", entity_ids=[bob.id]),
            fact("About Robert.", entity_ids=[robert.id], valid_from="2020-01-01T00:00:00Z"),
            fact("About both.", entity_ids=[robert.id, bob.id]),
            fact("About all.", entity_ids=[eve.id, robert.id]),
        ],
    )
    clock.advance(60)
    merged = memory.merge_entities(bob.id, robert.id)
    assert merged == known(memory, bob)
    assert (merged.canonical_name, merged.aliases) == ("Bob", ["Bobby", "Rob", "Robert"])
    # An atom that spoke of both counts once.
    assert merged.atom_count == 4
    assert merged.first_seen_at == "2020-01-01T00:00:00.000000Z"
    assert looked_up(memory, of_bob).entity_ids == [bob.id]
    assert looked_up(memory, of_robert).entity_ids == [bob.id]
    assert looked_up(memory, of_both).entity_ids == [bob.id]
    assert looked_up(memory, of_all).entity_ids == [eve.id, bob.id]
    alias = known(memory, robert)
    assert (alias.status, alias.merged_into, alias.atom_count) == ("MERGED", bob.id, 0)
    assert alias.canonical_name == "Robert"
    for name in ("Bob", "bobby", "ROBERT", "rob"):
        assert memory.find_entity_by_name(space.id, "PERSON", name) == merged
        assert len(memory.recall_by_entity(space.id, name).hits) == 4
    assert len(memory.recall_by_entity(space.id, robert.id).hits) == 4


@pytest.mark.conforms("A4.6", "T22")
def test_the_id_of_a_merged_entity_leads_to_the_other_one(memory: Memory, space: longmind.MemorySpace) -> None:
    a, b, c, d = (memory.create_entity(space.id, "PERSON", name) for name in "ABCD")
    memory.merge_entities(b.id, a.id)
    memory.merge_entities(c.id, b.id)
    # A is C by now, and so C is what D is merged into.
    assert memory.merge_entities(a.id, d.id).id == c.id
    atom = memory.add_atom(space.id, fact("About A.", entity_ids=[a.id, b.id, d.id]))
    assert atom.entity_ids == [c.id]
    assert [known(memory, each).merged_into for each in (a, b, c, d)] == [b.id, c.id, None, c.id]
    assert known(memory, c).aliases == ["A", "B", "D"]
    for each in (a, b, c, d):
        assert [hit.atom.id for hit in memory.recall_by_entity(space.id, each.id).hits] == [atom.id]
        assert [hit.atom.id for hit in memory.recall_timeline(space.id, entity_id_or_name=each.id).hits] == [atom.id]
        assert memory.find_entity_by_name(space.id, "PERSON", each.canonical_name) == known(memory, c)


@pytest.mark.conforms("A4.6", "T22")
def test_merging_never_makes_a_circle(engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace) -> None:
    a, b, c = (memory.create_entity(space.id, "PERSON", name) for name in "ABC")
    memory.merge_entities(b.id, a.id)
    memory.merge_entities(c.id, b.id)
    cursor = engine.last_cursor()
    for canonical, alias in ((a, b), (a, c), (b, a), (c, a), (b, c), (a, a), (c, c)):
        with pytest.raises(longmind.InvalidInput, match="the same entity already"):
            memory.merge_entities(canonical.id, alias.id)
    assert kinds_since(engine, cursor) == []
    assert known(memory, c).status == "ACTIVE"


@pytest.mark.conforms("T22")
def test_two_who_merge_the_same_two_the_other_way_round_make_no_circle(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    for turn in range(10):
        pair = [memory.create_entity(space.id, "PERSON", f"{name}{turn}") for name in "AB"]

        def merge(index: int, ids: tuple[str, str] = (pair[0].id, pair[1].id)) -> bool:
            try:
                memory.merge_entities(ids[index], ids[1 - index])
            except longmind.InvalidInput:
                return False
            return True

        assert sorted(at_once(2, merge)) == [False, True]
        assert sorted(known(memory, each).status for each in pair) == ["ACTIVE", "MERGED"]


@pytest.mark.conforms("A4.6")
def test_entities_of_two_spaces_are_not_merged(memory: Memory, space: longmind.MemorySpace) -> None:
    here = memory.create_entity(space.id, "PERSON", "Bob")
    there = memory.create_entity(memory.create_memory_space("work").id, "PERSON", "Bob")
    for canonical, alias in ((here, there), (there, here)):
        with pytest.raises(longmind.InvalidInput, match="different spaces"):
            memory.merge_entities(canonical.id, alias.id)
    for canonical_id, alias_id in ((here.id, "ent_none"), ("ent_none", here.id)):
        with pytest.raises(longmind.NotFound, match="ent_none"):
            memory.merge_entities(canonical_id, alias_id)
    assert known(memory, here) == here


@pytest.mark.conforms("A4.6")
def test_entities_of_two_types_can_be_merged_and_are_found_under_both(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    firm = memory.create_entity(space.id, "ORGANIZATION", "Acme")
    thing = memory.create_entity(space.id, "CONCEPT", "The firm")
    merged = memory.merge_entities(firm.id, thing.id)
    assert merged.type == "ORGANIZATION"
    assert merged.aliases == ["The firm"]
    assert memory.find_entity_by_name(space.id, "ORGANIZATION", "the firm") == merged
    assert memory.find_entity_by_name(space.id, "CONCEPT", "the firm") == merged


@pytest.mark.conforms("A4.7")
def test_entities_are_searched_by_what_their_names_are_like(memory: Memory, space: longmind.MemorySpace) -> None:
    for type, name, aliases in (
        ("PERSON", "Anna Berg", ["Annie"]),
        ("PERSON", "Johanna", []),
        ("PLACE", "Bergen", []),
        ("PERSON", "Peter", []),
    ):
        memory.create_entity(space.id, type, name, aliases=aliases)  # type: ignore[arg-type]

    def names(query: str, **asked: Any) -> list[str]:
        return [entity.canonical_name for entity in memory.search_entities(space.id, query, **asked)]

    assert names("anna") == ["Anna Berg", "Johanna"]
    assert names("ANNIE") == ["Anna Berg"]
    assert set(names("berg")) == {"Anna Berg", "Bergen"}
    assert names("berg", type="PLACE") == ["Bergen"]
    # A slip of the pen.
    assert names("Petre") == ["Peter"]
    assert names("anna", limit=1) == ["Anna Berg"]
    assert names("zzz") == []
    assert set(names("")) == {"Anna Berg", "Johanna", "Bergen", "Peter"}
    for query in ("%", "'; --", "*", "a_na", "\\", '"anna'):
        assert "Peter" not in names(query)


@pytest.mark.conforms("A4.7", "T22")
def test_a_search_finds_the_entity_that_others_were_merged_into_once(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    bob = memory.create_entity(space.id, "PERSON", "Bob")
    robert = memory.create_entity(space.id, "PERSON", "Robert")
    merged = memory.merge_entities(bob.id, robert.id)
    assert memory.search_entities(space.id, "robert") == [merged]
    assert memory.search_entities(space.id, "") == [merged]


@pytest.mark.conforms("A4.7")
def test_a_search_for_a_type_finds_only_that_type_also_after_a_merge(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    person = memory.create_entity(space.id, "PERSON", "Jordan Smith")
    place = memory.create_entity(space.id, "PLACE", "Amman")
    memory.merge_entities(place.id, person.id)
    assert memory.search_entities(space.id, "jordan", type="PERSON") == []
    assert [each.id for each in memory.search_entities(space.id, "jordan", type="PLACE")] == [place.id]


@pytest.mark.parametrize(("name", "other"), [("O\u02bcNeil", "O'Neil"), ("Rock \u2018n\u2019 Roll", "Rock 'n' Roll")])
def test_a_name_is_the_same_with_any_apostrophe(
    memory: Memory, space: longmind.MemorySpace, name: str, other: str
) -> None:
    entity = memory.create_entity(space.id, "CONCEPT", name)
    assert memory.create_entity(space.id, "CONCEPT", other).id == entity.id
    found = memory.find_entity_by_name(space.id, "CONCEPT", other)
    assert found is not None
    assert found.id == entity.id
