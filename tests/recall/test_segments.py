"""The search index in the database: segments stay small, and a space loads from them as it was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import longmind
from longmind.memory import Memory
from longmind.models.recall import Hit
from longmind.providers.embedder import CheckedEmbedder
from longmind.recall.event_vectors import EventVectors
from longmind.recall.index.segments import VectorsSegment, seal
from longmind.recall.index.text_index import TextIndex
from longmind.store.database import Transaction
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder

LARGEST = 4_096


def memory_of(engine: longmind.Engine) -> Memory:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada").memory


def varied(count: int) -> list[dict[str, Any]]:
    """Atoms that differ in all that recall looks at."""
    kinds = ("FACT", "RULE", "EPISODE", "PREFERENCE")
    words = ("apple", "pear", "pie", "running", "東京に住む", "man's")
    return [
        {
            "text": f"{words[number % 6]} {words[number % 5]} {words[number % 5]} word{number}. Is it?",
            "category": {"name": f"category {number % 7}", "kind": kinds[number % 4]},
            "importance": 1 + number % 5,
            "tags": [f"tag {each}" for each in range(number % 3)],
            "speaker": f"Speaker {number % 4}" if number % 4 else None,
            "trust": ("user", "app", "assistant", "tool")[number % 4],
            # No two begin at the same instant, so that nothing is ordered by ids, which are random.
            "valid_from": f"2025-01-{1 + number % 28:02}T{number // 60 % 24:02}:{number % 60:02}:00Z",
            "valid_to": f"2027-01-{1 + number % 28:02}T00:00:00Z" if number % 5 == 0 else None,
            "search_context": ["an apple pie", "far away"][: number % 3],
        }
        for number in range(count)
    ]


def answers(memory: Memory, space_id: str) -> list[list[tuple[Any, ...]]]:
    """What recall says in many ways, without the ids, which are never the same."""
    ask = memory.recall_by_topic
    asked: list[Callable[[], longmind.Recall]] = [
        lambda: ask(space_id, "apple pie word17", limit=200, explain=True),
        lambda: ask(space_id, "東京 running man", limit=200),
        lambda: ask(space_id, "pear", limit=200, tags=["tag 1"]),
        lambda: ask(space_id, "pear", limit=200, kinds=["RULE", "EPISODE"], min_importance=3),
        lambda: ask(space_id, "pie", limit=200, category_names=["category 2", "category 5"]),
        lambda: ask(space_id, "What did Speaker 2 say about the pie?", limit=200, trust=["assistant", "user"]),
        lambda: ask(space_id, "apple", limit=200, valid_at="2027-01-10T00:00:00Z"),
        lambda: memory.recall_timeline(space_id, limit=200),
    ]
    return [[told(hit) for hit in each().hits] for each in asked]


def told(hit: Hit) -> tuple[Any, ...]:
    atom = hit.atom.model_copy(update=dict.fromkeys(("id", "memory_space_id", "supersedes", "superseded_by"), ""))
    return (atom, hit.score, hit.decay_weight, hit.explanation)


@pytest.mark.patient
def test_atoms_that_were_added_at_once_are_found_like_those_added_one_by_one(
    database_url: str, clock: SettableClock
) -> None:
    given = varied(300)
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as engine:
        memory = memory_of(engine)
        bulk, single = (memory.create_memory_space(name).id for name in ("bulk", "single"))
        memory.add_atoms(bulk, given)
        for atom in given:
            memory.add_atom(single, atom)
        expected = answers(memory, bulk)
        assert all(expected)
        assert answers(memory, single) == expected
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as reopened:
        assert answers(memory_of(reopened), bulk) == expected
        assert answers(memory_of(reopened), single) == expected


def test_what_has_changed_since_its_segment_was_written_is_loaded_as_it_is_now(
    database_url: str, clock: SettableClock
) -> None:
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space("main").id
        atoms = memory.add_atoms(space_id, varied(300))
        answers(memory, space_id)
        clock.advance(60)
        for atom in atoms[10:20]:
            memory.archive_atom(atom.id)
        for atom in atoms[20:30]:
            memory.supersede_atom(atom.id, {**varied(1)[0], "valid_from": "2026-02-01T00:00:00Z"})
        for atom in atoms[25:35]:
            memory.delete_atom(atom.id)
        # Some are changed before their segment is joined to the next, and some after.
        memory.add_atoms(space_id, varied(220))
        memory.archive_atom(atoms[40].id)
        known = answers(memory, space_id)
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as reopened:
        assert answers(memory_of(reopened), space_id) == known


def spans(run: Transaction, space_id: str) -> list[list[tuple[int, int]]]:
    """Where the segments of words, of vectors and of facts begin, and of how many atoms they are."""
    words = run.all("term_segments_from", space_id=space_id, position=0)
    vectors = run.all("vector_spans", space_id=space_id, model=CheckedEmbedder(WordsEmbedder()).stamp)
    facts = run.all("fact_segments_between", space_id=space_id, first=0, until=1_000_000)
    return [[(row[0], row[1]) for row in rows] for rows in (words, vectors, facts)]


@pytest.mark.patient
def test_no_segment_crosses_a_multiple_of_the_largest(engine: longmind.Engine, memory: Memory) -> None:
    space_id = memory.create_memory_space("main").id
    memory.add_atoms(space_id, varied(300))
    assert engine._database.read(memory._scope, spans, space_id) == [[(0, 300)]] * 3
    atoms = memory.add_atoms(space_id, varied(2 * LARGEST + 10))
    # What was begun before is joined to what completes it.
    expected = [(0, LARGEST), (LARGEST, LARGEST), (2 * LARGEST, 310)]
    assert engine._database.read(memory._scope, spans, space_id) == [expected] * 3
    memory.delete_atom(atoms[5_000].id)
    memory.add_atoms(space_id, [varied(1)[0]])
    words, vectors, facts = engine._database.read(memory._scope, spans, space_id)
    assert words == vectors == [*expected, (2 * LARGEST + 310, 1)]
    # A single atom is read as it is, until there are enough for a segment.
    assert facts == expected


def test_a_few_atoms_that_go_beyond_a_multiple_of_the_largest_fill_it_up(
    engine: longmind.Engine, memory: Memory
) -> None:
    space_id = memory.create_memory_space("main").id
    memory.add_atoms(space_id, varied(LARGEST - 96))
    memory.add_atoms(space_id, varied(100))
    words, vectors, facts = engine._database.read(memory._scope, spans, space_id)
    assert words == vectors == [(0, LARGEST), (LARGEST, 4)]
    assert facts == [(0, LARGEST)]


def test_an_older_store_without_facts_in_segments_is_loaded_from_its_atoms(
    database_url: str, clock: SettableClock
) -> None:
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space("main").id
        memory.add_atoms(space_id, varied(300))
        known = answers(memory, space_id)
        engine._database.write(
            memory._scope,
            lambda run: run.send("drop_fact_segments", space_id=space_id, from_position=0, to_position=300),
        )
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as reopened:
        assert answers(memory_of(reopened), space_id) == known


@pytest.mark.parametrize(("dimension", "outweighing", "most"), [(128, 1, 2e-5), (768, 1, 2e-5), (384, 60, 5e-5)])
def test_cosines_are_as_exact_as_is_said(dimension: int, outweighing: float, most: float) -> None:
    drawn = np.random.default_rng(7).normal(size=(2_000, dimension))
    drawn[10:, 0] *= outweighing
    vectors = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    index = TextIndex()
    index.add_vectors(0, VectorsSegment.from_vectors(vectors))
    for query in vectors[:10]:
        found = index.similarity(query)
        assert found is not None
        assert np.abs(found - vectors.astype(np.float64) @ query).max() < most


def test_vectors_that_were_written_down_roughly_are_read_as_they_are() -> None:
    vectors = np.random.default_rng(7).normal(size=(5, 12)).astype(np.float32)
    kept = VectorsSegment.from_vectors(vectors)
    written = seal(b"VCTS", 12, (5, 0, 0), kept.scales, kept.rows)
    read = VectorsSegment.decode(written)
    assert np.array_equal(read.rows, kept.rows)
    assert np.array_equal(read.scales, kept.scales)
    assert not read.finer.any()
    both = VectorsSegment.decode(VectorsSegment.join([read, kept]).encode())
    assert np.array_equal(both.finer, np.concatenate([read.finer, kept.finer]))
    events = seal(b"EVTS", 12, (5, 0, 0), np.arange(5, dtype="<i8"), kept.scales, kept.rows)
    assert np.array_equal(EventVectors.decode(events).vectors.rows, kept.rows)
