"""For any history and any question, recall quotes what looking at every message quotes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.recall import kernels as kernel
from longmind.recall.kernels import numpy_kernels
from tests.clock import SettableClock
from tests.passages.pieces import CountingEmbedder
from tests.passages.reference import Asked
from tests.passages.world import World


class FamiliarEmbedder(CountingEmbedder):
    """One that tells how similar things usually are, as the built-in one does."""

    usual_similarity = (0.1, 0.2)


EMBEDDERS = {"words": CountingEmbedder, "familiar": FamiliarEmbedder, "none": None}
NAMESPACES = ("chat", "notes")
WORDS = (
    "apple", "apples", "pear", "Berlin", "runs", "running", "the", "is", "東京に住む", "寿司", "नमस्ते", "😀", "C++",
    "2024", "naïve", "why?", "long.", "dislikes", "loved", "tool", "in May",
)  # fmt: skip
LABELS = ("", "", "", "Anna: ", "Ben: ", "Anna Lee: ")
LONG = tuple(
    " ".join(f"Then {name}{number} was {WORDS[number % 10]} again." for number in range(size))
    for name, size in (("thing", 45), ("step", 70))
)
"""Messages of several pieces."""
BEFORE = ("", "", "", "We met yesterday.", "Thank you! My friend told me about it.")
WHO = ("", "", "", "Ben", "what did Anna and Ben say about", "I", "who hates", "which tool has", "list all")
WHEN = ("", "", "", "in February 2026", "on 2026-02-20", "two weeks ago")
ROLES = ("user", "app", "assistant", "tool")

phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
texts = st.builds("{}{}".format, st.sampled_from(LABELS), st.one_of(phrases, phrases, phrases, st.sampled_from(LONG)))
queries = st.builds(
    lambda *parts: " ".join(part for part in parts if part),
    st.sampled_from(BEFORE), st.sampled_from(WHO), st.one_of(phrases, phrases, st.just("")), st.sampled_from(WHEN),
)  # fmt: skip
engines, spaces, numbers = st.integers(0, 1), st.integers(0, 1), st.integers(0, 40)
visibilities = st.sampled_from(("user", "user", "user", "internal", "hidden"))
days = st.sampled_from((0, 0, 0, 1, 9, 30, -1))
namespaces = st.sampled_from(NAMESPACES)
turns = st.tuples(st.just("turn"), engines, numbers, texts, texts, days)
STEPS = st.one_of(
    turns,
    turns,
    turns,
    st.tuples(st.just("ask"), engines, numbers, texts, visibilities, days),
    st.tuples(st.just("answer"), engines, numbers, texts, visibilities, st.none() | texts),
    st.tuples(st.just("ask_again"), engines, numbers, texts),
    st.tuples(st.just("start"), engines, namespaces),
    st.tuples(st.just("bind"), engines, st.sampled_from((*NAMESPACES, "*")), spaces),
    st.tuples(st.just("forget"), engines, st.lists(numbers, min_size=1, max_size=2), st.booleans()),
    st.tuples(st.just("learn"), engines, numbers),
    st.tuples(st.just("work"), engines),
    st.tuples(st.just("wait"), st.sampled_from((0.000001, 1.0, 86_400.0, 30 * 86_400.0))),
)


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> CountingEmbedder | None:
    kind = EMBEDDERS[request.param]
    return None if kind is None else kind(dimension=16)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def both(
    database_url: str, embedder: CountingEmbedder | None, clock: SettableClock
) -> Iterator[tuple[longmind.Engine, longmind.Engine]]:
    """Two engines on one database, which share nothing else."""
    with (
        longmind.open(database_url, embedder=embedder, clock=clock) as one,
        longmind.open(database_url, embedder=embedder, clock=clock) as other,
    ):
        yield one, other


def ask_in_every_way(data: st.DataObject, world: World) -> None:
    query = data.draw(queries, "query")
    asked = data.draw(options(world), "options")
    for engine in range(len(world.engines)):
        for space in range(2):
            world.check(engine, space, query, Asked(limit=200))
            world.check(engine, space, query, asked)


def options(world: World) -> st.SearchStrategy[Asked]:
    # Every boundary there is, and the moments beside it.
    edges = sorted({world.clock.now, *(said.said_at for said in world.messages)})
    instants = st.builds(int.__add__, st.sampled_from(edges), st.sampled_from((-1, 0, 1)))

    def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(st.none(), st.none(), values)

    return st.builds(
        Asked,
        limit=st.sampled_from((1, 2, 3, 10)),
        trust=maybe(st.lists(st.sampled_from(ROLES), max_size=2)),
        valid_at=maybe(instants),
        known_at=maybe(instants),
        min_score=maybe(st.sampled_from((0.0, 0.02, 0.15, 0.5, 1.0))),
        exhaustive=maybe(st.booleans()),
    )


def live_and_ask(
    both: Sequence[longmind.Engine],
    url: str,
    clock: SettableClock,
    embedder: CountingEmbedder | None,
    data: st.DataObject,
) -> None:
    # Jobs of the users before.
    both[0].work()
    world = World(both, clock, embedder)
    world.bind(0, data.draw(st.sampled_from(("chat", "chat", "*")), "bound"), 0)
    world.start(0, "chat")
    for _ in range(data.draw(st.integers(1, 4), "rounds")):
        for name, *arguments in data.draw(st.lists(STEPS, min_size=2, max_size=8), "steps"):
            getattr(world, name)(*arguments)
        ask_in_every_way(data, world)
    if embedder is not None:
        world.embed_all(0)
    with longmind.open(url, embedder=embedder, clock=clock) as reopened:
        world.engines.append(reopened)
        ask_in_every_way(data, world)


@pytest.mark.patient
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_recall_equals_looking_at_every_message(
    both: tuple[longmind.Engine, longmind.Engine],
    database_url: str,
    clock: SettableClock,
    embedder: CountingEmbedder | None,
    data: st.DataObject,
) -> None:
    live_and_ask(both, database_url, clock, embedder, data)


@pytest.mark.patient
@pytest.mark.skipif(kernel.compiled is None, reason="nothing was compiled here, so the test above says the same")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_recall_equals_looking_at_every_message_where_nothing_was_compiled(
    sqlite_url: str, clock: SettableClock, embedder: CountingEmbedder | None, data: st.DataObject
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        longmind.open(sqlite_url, embedder=embedder, clock=clock) as one,
        longmind.open(sqlite_url, embedder=embedder, clock=clock) as other,
    ):
        patch.setattr(kernel, "loops", numpy_kernels)
        patch.setattr(kernel, "likeness", numpy_kernels.likeness)
        live_and_ask((one, other), sqlite_url, clock, embedder, data)
