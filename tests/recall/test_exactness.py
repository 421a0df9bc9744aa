"""Whom vectors are nearest to is told as exactly as by numbers that nothing was rounded of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import longmind
from longmind.memory import Memory
from longmind.recall import kernels as kernel
from longmind.recall.kernels import numpy_kernels
from tests.recall.facts import fact, memory_of

ATOMS, QUERIES, TOP = 1_500, 25, 10
ALIKE = 3e-5
"""Cosines that are nearer to each other than this may change places."""


class DrawnEmbedder:
    """Gives each of some texts a vector by its number; the texts have no word in common."""

    model = "test:drawn"

    def __init__(self, dimension: int, outweighing: float) -> None:
        self.dimension = dimension
        drawn = np.random.default_rng(dimension).normal(size=(ATOMS + QUERIES, dimension))
        # As some embedders have it: one number that is large in all texts, and hardly tells one from another.
        drawn[:, 0] += outweighing * np.sqrt(dimension)
        self.vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.asarray(self.vectors[[number_of(text) for text in texts]])

    def embed_query(self, query: str) -> NDArray[np.float64]:
        return np.asarray(self.vectors[number_of(query)])


def number_of(text: str) -> int:
    return int(text.removeprefix("number"))


@pytest.fixture(params=["compiled", "plain"])
def loops(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "compiled":
        if kernel.compiled is None:
            pytest.skip("nothing was compiled here")
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "loops", numpy_kernels)
        patch.setattr(kernel, "likeness", numpy_kernels.likeness)
        patch.setattr(kernel, "knows_processor", False)
        yield


def nearest(embedder: DrawnEmbedder, query: int, among: Sequence[int]) -> list[tuple[int, float]]:
    cosines = embedder.vectors[list(among)] @ embedder.vectors[query]
    return [(among[place], float(cosines[place])) for place in np.argsort(-cosines)[:TOP]]


def assert_nearest(memory: Memory, space_id: str, embedder: DrawnEmbedder, query: int, *, tag: str | None) -> None:
    among = [number for number in range(ATOMS) if tag is None or number % 3 == 0]
    expected = nearest(embedder, query, among)
    tags = None if tag is None else [tag]
    for explain in (False, True):
        hits = memory.recall_by_topic(space_id, f"number{query}", limit=TOP, tags=tags, explain=explain).hits
        found = [number_of(hit.atom.text) for hit in hits]
        cosines = (embedder.vectors[found] @ embedder.vectors[query]).tolist()
        assert cosines == pytest.approx([cosine for _, cosine in expected], abs=ALIKE)
        if explain:
            assert [hit.explanation.dense for hit in hits if hit.explanation] == pytest.approx(cosines, abs=ALIKE)
            assert [hit.explanation.dense_rank for hit in hits if hit.explanation] == [*range(1, TOP + 1)]


@pytest.mark.patient
@pytest.mark.conforms("A6.1", "A6.6")
@pytest.mark.parametrize("outweighing", [0.0, 2.0])
@pytest.mark.parametrize("dimension", [48, 384])
@pytest.mark.usefixtures("loops")
def test_the_nearest_are_those_that_plain_arithmetic_finds(
    database_url: str, dimension: int, outweighing: float
) -> None:
    embedder = DrawnEmbedder(dimension, outweighing)
    with longmind.open(database_url, embedder=embedder) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space("main").id
        instant = "2026-01-01T00:00:00Z"
        for start in range(0, ATOMS, 500):
            numbers = range(start, start + 500)
            memory.add_atoms(
                space_id,
                [fact(f"number{n}", valid_from=instant, tags=["third"] if n % 3 == 0 else []) for n in numbers],
            )
        for query in range(ATOMS, ATOMS + QUERIES):
            assert_nearest(memory, space_id, embedder, query, tag=None)
        assert_nearest(memory, space_id, embedder, ATOMS, tag="third")
    with longmind.open(database_url, embedder=embedder) as reopened:
        assert_nearest(memory_of(reopened), space_id, embedder, ATOMS + 1, tag=None)


class OneForAll:
    """Gives all texts that do not speak of the same thing one vector."""

    model, dimension = "test:one-for-all", 24

    def embed_texts(self, texts: Sequence[str]) -> list[NDArray[np.float64]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> NDArray[np.float64]:
        return np.asarray(np.random.default_rng(len(query) if "?" in query else 7).normal(size=self.dimension))


@pytest.mark.patient
@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize("atoms", [1, 5])
def test_where_vectors_tell_nothing_apart_words_do(database_url: str, atoms: int) -> None:
    with longmind.open(database_url, embedder=OneForAll()) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space("main").id
        memory.add_atoms(space_id, [fact(f"Ada likes tea number {number}") for number in range(atoms)])
        scores = {}
        for query in ("tea?", "the zebra?", "is the weather in Rome fine?"):
            for explain in (False, True):
                hits = memory.recall_by_topic(space_id, query, explain=explain).hits
                assert len(hits) == atoms
                assert len({round(hit.score, 12) for hit in hits}) == 1
                scores[query, explain] = hits[0].score
            assert scores[query, False] == pytest.approx(scores[query, True])
        assert scores["the zebra?", False] == pytest.approx(scores["is the weather in Rome fine?", False])
        assert scores["tea?", False] > 2 * scores["the zebra?", False]
