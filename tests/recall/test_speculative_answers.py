"""On a server, recall answers while it asks whether anything has changed: the same as if it had looked first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import longmind
from harness.clean_databases import CleanDatabases
from longmind.clock import to_iso
from longmind.memory import Memory
from longmind.models.recall import Recall
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of

QUESTION = "Does Ben like tea?"


class InterruptedEmbedder(WordsEmbedder):
    """Lets something happen while it embeds a question, and counts the questions."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None
        self.questions = 0

    def embed_query(self, query: str) -> Any:
        self.questions += 1
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().embed_query(query)


@pytest.fixture
def database_url(postgres_databases: CleanDatabases) -> Iterator[str]:
    """A database on a server: a file is always looked at first."""
    with postgres_databases.lend() as url:
        yield url


@pytest.fixture
def embedder() -> InterruptedEmbedder:
    return InterruptedEmbedder()


@pytest.fixture
def engine(database_url: str, clock: SettableClock, embedder: InterruptedEmbedder) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=embedder, clock=clock) as engine:
        yield engine


@pytest.fixture
def other(database_url: str, clock: SettableClock) -> Iterator[Memory]:
    """The same memory through another engine, which always looks first."""
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as engine:
        engine._database.is_remote = False
        yield memory_of(engine)


def make_quiet(engine: longmind.Engine, ctx: longmind.Context, space_id: str) -> None:
    """Ask until the last look has found nothing new."""
    for _ in range(3):
        ctx.memory.recall_by_topic(space_id, QUESTION)
    assert engine._parts.retriever._space_indexes.is_quiet(ctx.scope, space_id)


def answer_of(found: Recall) -> dict[str, Any]:
    return found.model_dump(exclude={"latency_ms"})


class Changes:
    """What another engine does to a space, one thing after the other."""

    def __init__(self, other: Memory, space_id: str) -> None:
        self._other = other
        self._space_id = space_id
        self._atoms = other.add_atoms(space_id, [fact(f"tea {number}", tags=["hot"]) for number in range(60)])

    def nothing(self) -> None:
        pass

    def add(self) -> None:
        self._other.add_atom(self._space_id, fact("Ben likes tea.", tags=["hot"], importance=5))

    def supersede(self) -> None:
        self._other.supersede_atom(self._atoms.pop(0).id, fact("Ben hates tea.", tags=["hot"]))

    def archive(self) -> None:
        self._other.archive_atom(self._atoms.pop(0).id)

    def delete(self) -> None:
        self._other.delete_atom(self._atoms.pop(0).id)

    def name(self) -> None:
        ben = self._other.create_entity(self._space_id, "PERSON", "Ben")
        self._other.add_atom(self._space_id, fact("He has a cup.", tags=["hot"], entity_ids=[ben.id]))


@pytest.mark.patient
@pytest.mark.parametrize("when", ["before", "while it is embedded", "before, and somebody else has seen it"])
def test_it_is_the_answer_of_who_looks_first_whatever_another_engine_does(
    engine: longmind.Engine,
    ctx: longmind.Context,
    other: Memory,
    embedder: InterruptedEmbedder,
    clock: SettableClock,
    space_id: str,
    when: str,
) -> None:
    memory, changes = ctx.memory, Changes(other, space_id)
    start = to_iso(clock.now)
    ways: list[dict[str, Any]] = [
        {},
        {"explain": True, "limit": 100},
        {"tags": ["hot"], "min_importance": 3, "explain": True},
        {"valid_at": start, "explain": True},
        {"known_at": start},
        {"status": "ARCHIVED", "limit": 100},
    ]
    for change in (changes.name, changes.nothing, changes.add, changes.supersede, changes.archive, changes.delete):
        for way in ways:
            make_quiet(engine, ctx, space_id)
            clock.advance(1)
            if when == "while it is embedded":
                embedder.meanwhile = change
            else:
                change()
            if when == "before, and somebody else has seen it":
                embedder.meanwhile = lambda: memory.recall_timeline(space_id)
            found = memory.recall_by_topic(space_id, QUESTION, **way)
            assert embedder.meanwhile is None
            assert answer_of(found) == answer_of(other.recall_by_topic(space_id, QUESTION, **way)), (change, way)


def test_a_question_is_embedded_once_also_where_something_has_changed(
    engine: longmind.Engine,
    ctx: longmind.Context,
    other: Memory,
    embedder: InterruptedEmbedder,
    space_id: str,
) -> None:
    other.add_atom(space_id, fact("Ben likes tea."))
    make_quiet(engine, ctx, space_id)
    other.add_atom(space_id, fact("Carla likes coffee."))
    before = embedder.questions
    assert len(ctx.memory.recall_by_topic(space_id, QUESTION).hits) == 2
    assert embedder.questions == before + 1


def test_nothing_is_found_in_a_space_that_was_deleted_and_all_in_the_one_beside_it(
    engine: longmind.Engine, ctx: longmind.Context, other: Memory, space_id: str
) -> None:
    beside = other.create_memory_space("beside").id
    for each in (space_id, beside):
        other.add_atom(each, fact("Ben likes tea."))
        make_quiet(engine, ctx, each)
    other.delete_memory_space(space_id)
    for _ in range(2):
        with pytest.raises(longmind.NotFound):
            ctx.memory.recall_by_topic(space_id, QUESTION)
        assert texts_of(ctx.memory.recall_by_topic(beside, QUESTION)) == ["Ben likes tea."]
