"""Spaces: named parts of one user's memory, found or made by name, and put away whole."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import pytest

import longmind
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.memory.facts import at_once, fact, found, kinds_since, rows_of


@pytest.mark.conforms("A2.1", "A2.2", "A1.24")
def test_a_space_is_made_and_looked_up(memory: Memory) -> None:
    space = memory.create_memory_space("personal", metadata={"colour": "red"})
    assert space.id.startswith("ms_")
    assert (space.name, space.metadata, space.atom_count) == ("personal", {"colour": "red"}, 0)
    assert (space.tenant_id, space.app_id, space.user_id) == ("acme", "support", "ada")
    assert space.created_at == space.updated_at == "2026-03-01T09:30:00.000000Z"
    assert memory.get_memory_space(space.id) == space
    assert memory.get_memory_space("ms_none") is None


@pytest.mark.conforms("A2.3")
def test_the_spaces_of_a_user_are_listed_oldest_first(memory: Memory, clock: SettableClock) -> None:
    made = []
    for name in ("work", "home", None, None):
        made.append(memory.create_memory_space(name))
        clock.advance(1)
    assert memory.list_memory_spaces() == made
    assert len({space.id for space in made}) == 4


@pytest.mark.conforms("A2.6")
def test_creating_a_space_that_is_there_finds_it_as_it_is(engine: longmind.Engine, memory: Memory) -> None:
    first = memory.create_memory_space("personal", metadata={"colour": "red"})
    cursor = engine.last_cursor()
    assert memory.create_memory_space("personal", metadata={"colour": "blue"}) == first
    assert memory.list_memory_spaces() == [first]
    assert kinds_since(engine, cursor) == []
    assert memory.create_memory_space("Personal").id != first.id


@pytest.mark.conforms("A2.6")
def test_eight_threads_that_create_one_name_at_once_get_one_space(engine: longmind.Engine, memory: Memory) -> None:
    for name in ("one", "two", "three", "four"):
        made = at_once(8, partial(lambda name, _: memory.create_memory_space(name), name))
        assert len({space.id for space in made}) == 1
    assert len(memory.list_memory_spaces()) == 4
    assert kinds_since(engine, 0) == ["space.created"] * 4


@pytest.mark.conforms("A2.6")
def test_creating_never_fails_while_others_delete(memory: Memory) -> None:
    def work(index: int) -> None:
        for _ in range(20):
            space = memory.create_memory_space("contested")
            if index % 2:
                # Another thread may be faster; that is no failure of creating.
                with contextlib.suppress(longmind.NotFound):
                    memory.delete_memory_space(space.id)

    at_once(8, work)
    assert len(memory.list_memory_spaces()) <= 1


@pytest.mark.conforms("A2.1", "A2.6")
def test_users_have_spaces_of_the_same_name_side_by_side(engine: longmind.Engine, memory: Memory) -> None:
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob").memory
    mine, theirs = memory.create_memory_space("personal"), bob.create_memory_space("personal")
    assert mine.id != theirs.id
    assert memory.list_memory_spaces() == [mine]
    assert bob.list_memory_spaces() == [theirs]


@pytest.mark.conforms("A2.5")
def test_recall_stays_in_its_space(memory: Memory) -> None:
    home, work = memory.create_memory_space("home"), memory.create_memory_space("work")
    person = memory.create_entity(home.id, "PERSON", "Bob")
    memory.add_atom(home.id, fact("Bob likes tea.", entity_ids=[person.id]))
    memory.add_atom(work.id, fact("Bob likes coffee."))
    assert found(memory, home.id, "What does Bob like?") == ["Bob likes tea."]
    assert found(memory, work.id, "What does Bob like?") == ["Bob likes coffee."]
    assert [hit.atom.text for hit in memory.recall_timeline(home.id).hits] == ["Bob likes tea."]
    assert memory.recall_by_entity(work.id, "Bob").hits == []
    assert memory.recall_by_entity(work.id, person.id).hits == []
    assert [atom.text for atom in memory.list_atoms(work.id)] == ["Bob likes coffee."]


@pytest.mark.conforms("A2.4")
def test_nothing_of_a_deleted_space_is_found(memory: Memory, space: longmind.MemorySpace) -> None:
    person = memory.create_entity(space.id, "PERSON", "Bob")
    other = memory.create_entity(space.id, "PERSON", "Rob")
    atom = memory.add_atom(space.id, fact("Bob likes tea.", entity_ids=[person.id]))
    assert found(memory, space.id, "tea") == ["Bob likes tea."]
    memory.delete_memory_space(space.id)
    assert memory.get_memory_space(space.id) is None
    assert memory.list_memory_spaces() == []
    assert memory.get_atom(atom.id) is None
    assert memory.get_entity(person.id) is None
    for refused in (
        lambda: memory.list_atoms(space.id),
        lambda: memory.recall_by_topic(space.id, "tea"),
        lambda: memory.recall_by_entity(space.id, "Bob"),
        lambda: memory.recall_timeline(space.id),
        lambda: memory.why_not(atom.id, "tea"),
        lambda: memory.find_entity_by_name(space.id, "PERSON", "Bob"),
        lambda: memory.search_entities(space.id, "Bob"),
        lambda: memory.add_atom(space.id, fact()),
        lambda: memory.supersede_atom(atom.id, fact()),
        lambda: memory.archive_atom(atom.id),
        lambda: memory.delete_atom(atom.id),
        lambda: memory.create_entity(space.id, "PERSON", "Eve"),
        lambda: memory.merge_entities(person.id, other.id),
        lambda: memory.delete_memory_space(space.id),
    ):
        with pytest.raises(longmind.NotFound):
            refused()


@pytest.mark.conforms("A2.4")
def test_a_deleted_space_is_put_away_and_not_destroyed(
    memory: Memory, space: longmind.MemorySpace, database_url: str
) -> None:
    about = fact(entity_ids=[memory.create_entity(space.id, "PLACE", "Graz").id])
    memory.add_atoms(space.id, [about, *(fact(f"Number {number}.") for number in range(256))])
    before = rows_of(database_url)
    memory.delete_memory_space(space.id)
    after = rows_of(database_url)
    for table in (
        "atoms", "entities", "entity_names", "atom_entities", "term_segments", "vector_segments", "fact_segments",
    ):  # fmt: skip
        assert before[table]
        assert after[table] == before[table]


@pytest.mark.conforms("A2.4", "A2.6")
def test_a_name_is_free_again_when_its_space_was_deleted(memory: Memory, space: longmind.MemorySpace) -> None:
    memory.add_atom(space.id, fact())
    memory.delete_memory_space(space.id)
    again = memory.create_memory_space("personal")
    assert again.id != space.id
    assert again.atom_count == 0
    assert found(memory, again.id, "Graz") == []


@pytest.mark.conforms("A2.1")
def test_a_space_counts_its_atoms(memory: Memory, space: longmind.MemorySpace) -> None:
    kept, gone = memory.add_atoms(space.id, [fact("One."), fact("Two.")])
    memory.delete_atom(gone.id)
    memory.archive_atom(kept.id)
    counted = memory.get_memory_space(space.id)
    assert counted is not None
    assert counted.atom_count == 1


def test_what_cannot_be_a_space_is_refused(memory: Memory) -> None:
    names: list[Any] = ["", " ", "\n", "a\x00b", "\ud800", "n" * 256, 5, b"home"]
    metadata: list[Any] = [[], "text", {"a": object()}, {1: 2}, {"a": float("nan")}, {"a": "x" * 70_000}]
    for name in names:
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.create_memory_space(name)
    for each in metadata:
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.create_memory_space("personal", metadata=each)
    assert memory.list_memory_spaces() == []
