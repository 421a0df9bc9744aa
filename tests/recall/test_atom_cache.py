"""Atoms that were recalled before come from memory, and yet are as they are in the database."""

from __future__ import annotations

from typing import Any

import longmind
from longmind.memory import Memory
from longmind.models.atom import Atom
from longmind.recall.index.atom_cache import AtomCache
from longmind.store.queries import load_queries
from longmind.store.tables import atoms
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of


def recalled(memory: Memory, space_id: str, query: str = "tea", **more: Any) -> list[Atom]:
    """What a second recall finds, which comes from memory; it is what the first has found."""
    first, second = ([hit.atom for hit in memory.recall_by_topic(space_id, query, **more).hits] for _ in range(2))
    assert first == second
    return second


def test_an_atom_that_comes_from_memory_is_the_atom_of_the_database(memory: Memory, space_id: str) -> None:
    entity = memory.create_entity(space_id, "PERSON", "Ben").id
    added = memory.add_atoms(
        space_id,
        [
            fact("tea with lemon"),
            fact("tea with milk", importance=5, confidence=0.5, tags=["hot", "new"], entity_ids=[entity]),
            fact("tea at five", kind="RULE", name="habits", valid_from="2026-01-01", trust="user", origin="import"),
        ],
    )
    found = recalled(memory, space_id)
    assert sorted(found, key=lambda atom: atom.id) == sorted(added, key=lambda atom: atom.id)
    assert [each.model_dump() for each in found] == [
        atom.model_dump() for each in found if (atom := memory.get_atom(each.id))
    ]
    assert [list(vars(atom)) for atom in found] == [list(Atom.model_fields)] * 3


def test_what_a_caller_does_to_a_hit_is_not_seen_by_the_next(memory: Memory, space_id: str) -> None:
    memory.add_atoms(space_id, [fact("tea with milk", tags=["hot"]), fact("tea with lemon")])
    for _ in range(3):
        for atom in recalled(memory, space_id):
            assert atom.tags == (["hot"] if "milk" in atom.text else [])
            assert atom.entity_ids == []
            atom.tags.append("spilled")
            atom.entity_ids.append("nobody")


def test_what_has_changed_is_recalled_as_it_is_now(
    memory: Memory, space_id: str, database_url: str, clock: SettableClock
) -> None:
    ben, benjamin = (memory.create_entity(space_id, "PERSON", name).id for name in ("Ben", "Benjamin"))
    texts = ("tea is archived", "tea is superseded", "tea is deleted", "tea is of Benjamin", "tea stays")
    ids = [atom.id for atom in memory.add_atoms(space_id, [fact(text, entity_ids=[benjamin]) for text in texts])]
    assert len(recalled(memory, space_id, status=None)) == 5
    clock.advance(60)
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as other:
        elsewhere = memory_of(other)
        elsewhere.archive_atom(ids[0])
        newer = elsewhere.supersede_atom(ids[1], fact("tea is newer"))
        elsewhere.delete_atom(ids[2])
        elsewhere.merge_entities(ben, benjamin)
        expected = {atom.id: atom for each in (*ids, newer.id) if (atom := elsewhere.get_atom(each))}
    assert set(expected) == {*ids, newer.id} - {ids[2]}
    assert {atom.id: atom for atom in recalled(memory, space_id, status=None)} == {
        id: atom for id, atom in expected.items() if id != ids[1]
    }
    assert {hit.atom.id: hit.atom for hit in memory.recall_timeline(space_id).hits} == {
        id: atom for id, atom in expected.items() if id != ids[0]
    }
    assert {tuple(atom.entity_ids) for id, atom in expected.items() if id != newer.id} == {(ben,)}


def test_every_statement_that_changes_an_atom_says_so() -> None:
    """An atom is fetched again when its revision is newer: one that changed without a new one would stay as it was."""
    changing = [query for query in load_queries("sqlite").values() if query.text.startswith("UPDATE atoms")]
    assert len(changing) >= 6
    assert [query.name for query in changing if "revision = :revision" not in query.text] == []


def test_atoms_are_kept_in_the_room_there_is(memory: Memory, space_id: str) -> None:
    added = memory.add_atoms(space_id, [fact(f"tea {number}" + "!" * number * 10) for number in range(60)])
    kept = AtomCache()
    for position, atom in enumerate(added):
        kept.put({position: atom}, 20_000)
        assert kept.nbytes <= 20_000
    everywhere = list(range(60))
    there = [atom for atom in kept.get(everywhere) if atom is not None]
    # The last to come are there, as they were.
    assert 5 < len(there) < 60
    assert kept.get(everywhere) == [None] * (60 - len(there)) + added[-len(there) :]
    kept.put({60: added[0].model_copy(update={"text": "x" * 30_000})}, 20_000)
    assert kept.get([60]) == [None]
    kept.drop(everywhere)
    assert (kept.get(everywhere), kept.nbytes) == ([None] * 60, 0)


def test_atoms_that_were_read_before_a_change_are_not_kept_after_it(
    engine: longmind.Engine, memory: Memory, space_id: str
) -> None:
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    atom = memory.add_atom(space_id, fact("tea"))
    retriever = engine._parts.retriever
    with retriever.space(scope, space_id) as index:
        revision = index.revision
    read = engine._database.read(scope, atoms.read_at, space_id, [0])
    memory.archive_atom(atom.id)
    with retriever.space(scope, space_id) as index:
        assert index.revision > revision
    # As a slow thread would, that has read it before it was archived.
    with retriever.indexes.lend_cached(scope, space_id) as index:
        index.cache_atoms(read, revision)
    [found] = recalled(memory, space_id, status="ARCHIVED")
    assert found.status == "ARCHIVED"


def test_kept_atoms_count_as_memory_that_the_cache_takes(
    engine: longmind.Engine, memory: Memory, space_id: str
) -> None:
    memory.add_atoms(space_id, [fact(f"tea number {number}") for number in range(100)])
    memory.recall_by_topic(space_id, "tea", limit=1)
    before = engine._parts.retriever.indexes.nbytes
    assert len(texts_of(memory.recall_by_topic(space_id, "tea", limit=50))) == 50
    after = engine._parts.retriever.indexes.nbytes
    assert before + 50 * 300 < after <= 2 * before
