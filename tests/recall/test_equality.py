"""For any memory and any filter, recall answers what looking at every atom answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from harness.crew import Line, start_process
from longmind.clock import to_iso, to_micros
from longmind.memory import Memory
from longmind.memory.validation import validate_atom
from longmind.providers.embedder import CheckedEmbedder, Embedder
from longmind.recall import kernels as kernel
from longmind.recall.index import storage as writing
from longmind.recall.kernels import numpy_kernels
from longmind.store.database import Transaction
from longmind.store.tables import atoms as atoms_store
from longmind.store.tables import spaces
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.recall.reference import DAY, Asked
from tests.recall.world import World


class FamiliarEmbedder(WordsEmbedder):
    """One that tells how similar things usually are, as the built-in one does."""

    usual_similarity = (0.1, 0.2)


EMBEDDERS: dict[str, Embedder | None] = {
    "words": WordsEmbedder(dimension=16),
    "familiar": FamiliarEmbedder("test:familiar", 16),
    "none": None,
}
VOCABULARY = (
    "apple", "apples", "pear", "Berlin", "runs", "running", "don't", "Ben's", "the", "is", "東京", "東京に住む", "寿司",
    "ฉันชอบ", "ข้าว", "नमस्ते", "مرحبا", "😀", "C++", "user-id", "2024", "naïve", "ZEBRA?", "why?", "long.",
    "dislikes", "loved",
)  # fmt: skip
WHEN = ("", "", "", "in May 2025", "on 2026-02-20", "two weeks ago")
WHO = ("", "", "Ben", "did Carla and Ben", "I", "Ada Lovelace", "the countess", "what does Ben like", "who hates")
"""Who is asked about, also by what they like, which what they dislike speaks against."""
BEFORE = ("", "", "", "We met yesterday.", "Thank you! My friend told me about it.")
"""What makes a message of a question."""
NAMES = ("Ben", "Ada Lovelace")

texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7).map(" ".join)
kinds = st.sampled_from(("FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE"))
categories = st.sampled_from(("home", "work", "Arbeit & Leben"))
tag_sets = st.lists(st.sampled_from(("a", "b", "c d", "日")), max_size=3, unique=True)


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Embedder | None:
    return EMBEDDERS[request.param]


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def memories(database_url: str, embedder: Embedder | None, clock: SettableClock) -> Iterator[list[Memory]]:
    """The same user's memory through two engines on one database."""
    with (
        longmind.open(database_url, embedder=embedder, clock=clock) as one,
        longmind.open(database_url, embedder=embedder, clock=clock) as other,
    ):
        yield [memory_of(one), memory_of(other)]


def memory_of(engine: longmind.Engine) -> Memory:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada").memory


@st.composite
def atom_inputs(draw: st.DrawFn, now: int, entities: Sequence[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"text": draw(texts), "category": {"name": draw(categories), "kind": draw(kinds)}}
    optional = {
        "importance": st.integers(1, 5),
        "tags": tag_sets,
        "trust": st.sampled_from(("user", "app", "assistant", "tool")),
        "speaker": st.sampled_from(("Ben", "Carla", "user")),
        "entity_ids": st.lists(st.sampled_from(list(entities)), max_size=2, unique=True),
        "search_context": st.lists(texts | st.just(""), max_size=5),
    }
    for name, values in optional.items():
        if draw(st.booleans()):
            made[name] = draw(values)
    if draw(st.booleans()):
        start = now + draw(st.sampled_from((-800, -100, -10, -1, 0, 3))) * DAY
        made["valid_from"] = to_iso(start)
        if draw(st.booleans()):
            made["valid_to"] = to_iso(start + draw(st.sampled_from((1, DAY, 30 * DAY))))
    if draw(st.integers(0, 4)) == 0:
        made["created_at"] = to_iso(now - draw(st.integers(0, 50)) * DAY)
        if "valid_to" in made and "valid_from" not in made:
            del made["valid_to"]
    return made


def change_something(data: st.DataObject, world: World, memory: Memory, entities: list[str]) -> None:
    there = [atom for atom in world.atoms if not atom.deleted]
    # A version is recorded later than the one before it, and what has ended by then is closed.
    then = world.clock.now + 1
    open_ones = [
        atom for atom in there if atom.superseded_at is None and (atom.valid_to is None or atom.valid_to > then)
    ]
    what = data.draw(st.sampled_from(("add", "add", "supersede", "archive", "delete", "wait", "merge")), "change")
    if what == "add" or (what in ("archive", "delete") and not there) or (what == "supersede" and not open_ones):
        inputs = data.draw(st.lists(atom_inputs(world.clock.now, entities), min_size=1, max_size=6), "atoms")
        world.add(memory, inputs)
    elif what == "supersede":
        world.clock.now = then
        new = data.draw(atom_inputs(world.clock.now, entities), "new version")
        old = data.draw(st.sampled_from(open_ones), "old version")
        if "created_at" in new and to_micros(new["created_at"]) <= old.created_at:
            # It would be refused.
            del new["created_at"]
        world.supersede(memory, old, new)
    elif what == "archive":
        world.archive(memory, data.draw(st.sampled_from(there), "archived"))
    elif what == "delete":
        world.delete(memory, data.draw(st.sampled_from(there), "deleted"))
    elif what == "wait":
        world.clock.advance(data.draw(st.sampled_from((0.000001, 1.0, 86_400.0, 30 * 86_400.0)), "seconds"))
    elif len(entities) > 1:
        world.merge(memory, entities[0], entities.pop())


def instants(world: World) -> st.SearchStrategy[int]:
    """Every boundary there is, and the moments beside it."""
    edges = {world.clock.now}
    for atom in world.atoms:
        edges |= {
            instant
            for instant in (atom.valid_from, atom.valid_to, atom.created_at, atom.superseded_at, atom.archived_at)
            if instant is not None
        }
    return st.builds(int.__add__, st.sampled_from(sorted(edges)), st.sampled_from((-1, 0, 1)))


def filters(world: World, entities: Sequence[str]) -> st.SearchStrategy[Asked]:
    def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(st.none(), st.none(), st.none(), values)

    return st.builds(
        Asked,
        category_names=maybe(st.lists(st.sampled_from(("home", "work", "nowhere")), max_size=2)),
        kinds=maybe(st.lists(kinds, max_size=3)),
        tags=maybe(tag_sets),
        min_importance=maybe(st.integers(1, 5)),
        trust=maybe(st.lists(st.sampled_from(("user", "app", "assistant", "tool")), max_size=2)),
        status=maybe(st.sampled_from(("ACTIVE", "ARCHIVED"))),
        entity=maybe(st.sampled_from((*entities, *NAMES, "nobody"))),
        valid_at=maybe(instants(world)),
        known_at=maybe(instants(world)),
    )


def ask_in_every_way(data: st.DataObject, world: World, memories: Sequence[Memory], entities: Sequence[str]) -> None:
    who, when = data.draw(st.sampled_from(WHO)), data.draw(st.sampled_from(WHEN))
    before, what = data.draw(st.sampled_from(BEFORE)), data.draw(st.one_of(st.just(""), texts), "query")
    query = " ".join(part for part in (before, who, what, when) if part)
    asked = data.draw(filters(world, entities), "filters")
    limit = data.draw(st.sampled_from((1, 2, 3, 10, 200)), "limit")
    entity = data.draw(st.sampled_from((*entities, *world.reference.redirects, *NAMES, "nobody")), "entity")
    edges = sorted(data.draw(st.tuples(instants(world), instants(world)), "window"))
    window = tuple(edge if data.draw(st.booleans()) else None for edge in edges)
    every_version = data.draw(st.booleans())
    for memory in memories:
        world.check_topic(memory, query, asked, limit)
        world.check_entity(memory, entity, asked, limit)
        for about in ({}, {"query": query}, {"entity": entity}):
            world.check_timeline(
                memory,
                **about,
                window=(window[0], window[1]),
                include_superseded=every_version,
                known_at=asked.known_at,
                limit=limit,
            )


def world_with_entities(memory: Memory, clock: SettableClock, embedder: Embedder | None) -> tuple[World, list[str]]:
    world = World(memory, clock, embedder)
    people = [
        world.create_entity(memory, "Ben"),
        world.create_entity(memory, "Ada Lovelace", ["the countess"]),
    ]
    return world, people


def change_and_ask(
    memories: list[Memory], url: str, clock: SettableClock, embedder: Embedder | None, data: st.DataObject
) -> None:
    world, entities = world_with_entities(memories[0], clock, embedder)
    for _ in range(data.draw(st.integers(1, 5), "rounds")):
        for _ in range(data.draw(st.integers(1, 4), "changes")):
            change_something(data, world, data.draw(st.sampled_from(memories), "engine"), entities)
        ask_in_every_way(data, world, memories, entities)
    with longmind.open(url, embedder=embedder, clock=clock) as reopened:
        ask_in_every_way(data, world, [*memories, memory_of(reopened)], entities)


@pytest.mark.patient
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.conforms("A6.1", "A6.2", "A6.3", "A6.4", "A6.6", "A6.7", "A6.8", "R-B", "R-C", "R-D", "T13")
def test_recall_equals_looking_at_every_atom(
    memories: list[Memory],
    database_url: str,
    clock: SettableClock,
    embedder: Embedder | None,
    data: st.DataObject,
) -> None:
    change_and_ask(memories, database_url, clock, embedder, data)


@pytest.mark.patient
@pytest.mark.skipif(kernel.compiled is None, reason="nothing was compiled here, so the test above says the same")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_recall_equals_looking_at_every_atom_where_nothing_was_compiled(
    sqlite_url: str, clock: SettableClock, embedder: Embedder | None, data: st.DataObject
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        longmind.open(sqlite_url, embedder=embedder, clock=clock) as engine,
    ):
        patch.setattr(kernel, "loops", numpy_kernels)
        patch.setattr(kernel, "likeness", numpy_kernels.likeness)
        change_and_ask([memory_of(engine)], sqlite_url, clock, embedder, data)


def plain(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "category": {"name": "home", "kind": "FACT"}, **more}


def segments_of(memory: Memory, world: World) -> list[int]:
    """How many atoms there are in each segment of the index."""

    def sizes(run: Transaction) -> list[int]:
        rows = run.all("term_segments_from", space_id=world.space_id, position=0)
        embedder = world.reference.embedder
        stamp = "" if embedder is None else CheckedEmbedder(embedder).stamp
        vectors = run.all("vector_spans", space_id=world.space_id, model=stamp)
        assert not vectors or [row[1] for row in vectors] == [row[1] for row in rows]
        return [row[1] for row in rows]

    return memory._database.read(memory._scope, sizes)


def ask_about(world: World, memory: Memory) -> None:
    for query in ("apple pie", "the running man", "東京", "word3", "word299 apple", "😀", ""):
        world.check_topic(memory, query, Asked(), 10)
    world.check_topic(memory, "apple", Asked(tags=["even"], min_importance=3), 25)
    world.check_timeline(memory, query="apple", limit=5)
    world.check_timeline(memory, limit=7)


def varied(count: int, *, first: int = 0) -> list[dict[str, Any]]:
    words = ("apple", "pear", "pie", "running", "東京に住む", "man")
    return [
        plain(
            f"word{number} {words[number % 6]} {words[number // 6 % 6]}",
            importance=number % 5 + 1,
            tags=["even"] if number % 2 == 0 else [],
        )
        for number in range(first, first + count)
    ]


@pytest.mark.patient
def test_recall_stays_the_same_when_single_adds_are_joined_into_larger_segments(
    memories: list[Memory], database_url: str, clock: SettableClock, embedder: Embedder | None
) -> None:
    world = World(memories[0], clock, embedder)
    for number, new in enumerate(varied(265)):
        world.add(memories[number % 2], [new])
        if number in (100, 254, 255, 256):
            ask_about(world, memories[0])
    assert segments_of(memories[0], world) == [256, *[1] * 9]
    world.delete(memories[1], world.atoms[17])
    for memory in memories:
        ask_about(world, memory)
    with longmind.open(database_url, embedder=embedder, clock=clock) as reopened:
        ask_about(world, memory_of(reopened))


def add_one_by_one(run: Transaction, engine: longmind.Engine, space_id: str, inputs: list[Any]) -> list[str]:
    """As many single adds, in one transaction to save time."""
    scope = engine.context(tenant_id="acme", app_id="support", user_id="ada").scope
    ids = []
    for each in inputs:
        checked = validate_atom(each, engine._clock())
        now = engine._clock()
        begun = spaces.ask_change(run, space_id, now, 1)
        [added], change = atoms_store.add(run, scope, space_id, [checked], now, begun)
        writing.write(run, space_id, change, engine._parts.retriever.index([checked]))
        ids.append(added.id)
    return ids


@pytest.mark.patient
def test_recall_stays_the_same_beyond_the_largest_segment(database_url: str, clock: SettableClock) -> None:
    embedder = WordsEmbedder(dimension=8)
    with longmind.open(database_url, embedder=embedder, clock=clock) as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        world = World(context.memory, clock, embedder)
        inputs = varied(4_100)
        for part in (inputs[:4_000], inputs[4_000:]):
            ids = engine._database.write(context.scope, add_one_by_one, engine, world.space_id, part)
            for atom_id, each in zip(ids, part, strict=True):
                world.know(atom_id, each)
            world.check_topic(context.memory, "word3999 apple 東京", Asked(), 50)
        assert segments_of(context.memory, world) == [4_096, *[1] * 4]
        world.delete(context.memory, world.atoms[4_050])
        world.check_topic(context.memory, "word4050 apple", Asked(tags=["even"]), 50)
    with longmind.open(database_url, embedder=embedder, clock=clock) as reopened:
        world.check_topic(memory_of(reopened), "word4050 apple", Asked(tags=["even"]), 50)


def write_from_elsewhere(line: Line, url: str, space_id: str, now: str, ids: list[str]) -> list[str]:
    """Add two atoms, supersede one, archive one, delete one; the clock stands where the test's stands."""
    with longmind.open(url, embedder=WordsEmbedder(dimension=16), clock=SettableClock(now)) as engine:
        memory = memory_of(engine)
        added = memory.add_atoms(space_id, [plain("apple cake"), plain("東京 pear", speaker="Carla")])
        newer = memory.supersede_atom(ids[0], plain("a newer apple"))
        memory.archive_atom(ids[1])
        memory.delete_atom(ids[2])
        return [*(atom.id for atom in added), newer.id]


@pytest.mark.patient
def test_what_another_process_has_written_is_recalled_like_ones_own(database_url: str, clock: SettableClock) -> None:
    embedder = WordsEmbedder(dimension=16)
    with longmind.open(database_url, embedder=embedder, clock=clock) as engine:
        memory = memory_of(engine)
        world = World(memory, clock, embedder)
        world.add(memory, varied(12))
        ask_about(world, memory)
        clock.advance(60)
        ids = [atom.id for atom in world.atoms[:3]]
        with start_process(write_from_elsewhere, database_url, world.space_id, to_iso(clock.now), ids) as child:
            cake, tokyo, newer = child.result()
        world.know(cake, plain("apple cake"))
        world.know(tokyo, plain("東京 pear", speaker="Carla"))
        world.know_superseded(world.atoms[0], newer, plain("a newer apple"))
        world.atoms[1].archived_at = clock.now
        world.atoms[2].deleted = True
        ask_about(world, memory)


@pytest.mark.patient
def test_a_bulk_of_more_atoms_than_two_bytes_can_count_is_found_whole(sqlite_url: str) -> None:
    """Words are written down with the place of their atom, and a bulk may have a hundred thousand."""
    with longmind.open(sqlite_url, embedder=None) as engine:
        memory = memory_of(engine)
        space = memory.create_memory_space()
        memory.add_atoms(space.id, [plain(f"number{place}") for place in range(65_540)])
        for place in (0, 3, 65_535, 65_536, 65_539):
            [hit] = memory.recall_by_topic(space.id, f"number{place}").hits
            assert hit.atom.text == f"number{place}"
