"""Embedders of the host's own: what they may do wrong, and that nothing is half-written when they do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import longmind
from longmind.memory import Memory
from longmind.recall.ranking.relevance import BY_SHARED_WORDS
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of


class WrongEmbedder(WordsEmbedder):
    """Right until it is told what to do wrong."""

    wrong = ""

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return self._spoiled([super(WrongEmbedder, self).embed_query(text) for text in texts])

    def embed_query(self, query: str) -> Any:
        return self._spoiled([super().embed_query(query)])[0]

    def _spoiled(self, vectors: list[list[float]]) -> Any:
        last = vectors[-1]
        match self.wrong:
            case "too short":
                return [*vectors[:-1], last[:-1]]
            case "all too long":
                return [[*vector, 0.0] for vector in vectors]
            case "NaN":
                last[3] = float("nan")
            case "infinity":
                last[3] = float("inf")
            case "beyond 32 bits":
                last[3] = 1e300
            case "one too few":
                return vectors[:-1] or [[]]
            case "one too many":
                return [*vectors, last] if len(vectors) > 1 else [last + last]
            case "words":
                return [["one"] * len(last)] * len(vectors)
            case "nothing":
                return [None]
            case "raises":
                raise RuntimeError("the model has gone away")
            case "raises half-way":
                return [self._or_fail(place, vector) for place, vector in enumerate(vectors)]
        return vectors

    @staticmethod
    def _or_fail(place: int, vector: list[float]) -> list[float]:
        if place:
            raise TimeoutError("too slow")
        return vector


WAYS = ("too short", "all too long", "NaN", "infinity", "beyond 32 bits", "one too few", "one too many", "words",
        "nothing", "raises")  # fmt: skip


@pytest.fixture
def wrong() -> WrongEmbedder:
    return WrongEmbedder()


@pytest.mark.patient
@pytest.mark.parametrize("way", [*WAYS, "raises half-way"])
def test_an_embedder_that_fails_writes_nothing(database_url: str, wrong: WrongEmbedder, way: str) -> None:
    with longmind.open(database_url, embedder=wrong) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        kept = memory.add_atom(space_id, fact("tea"))
        cursor = engine.last_cursor()
        wrong.wrong = way
        with pytest.raises(longmind.EmbedderFailed) as failed:
            memory.add_atoms(space_id, [fact("one"), fact("two"), fact("three")])
        assert failed.value.status == 502
        assert "embedder=None" in failed.value.hint
        assert "test:words" in failed.value.message
        if way != "raises half-way":
            with pytest.raises(longmind.EmbedderFailed):
                memory.supersede_atom(kept.id, fact("green tea"))
        wrong.wrong = ""
        space = memory.get_memory_space(space_id)
        assert space is not None
        assert space.atom_count == 1
        assert engine.last_cursor() == cursor
        assert [atom.superseded_by for atom in memory.list_atoms(space_id, status=None)] == [None]
        assert texts_of(memory.recall_by_topic(space_id, "one two three")) == ["tea"]
        memory.add_atom(space_id, fact("one"))
        assert texts_of(memory.recall_by_topic(space_id, "one"))[0] == "one"


@pytest.mark.patient
@pytest.mark.parametrize("way", WAYS)
def test_a_query_that_cannot_be_embedded_is_an_error_and_not_a_worse_answer(
    database_url: str, wrong: WrongEmbedder, way: str
) -> None:
    with longmind.open(database_url, embedder=wrong) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atom(space_id, fact("tea"))
        wrong.wrong = way
        for ask in (memory.recall_by_topic, lambda space, query: memory.recall_timeline(space, query=query)):
            with pytest.raises(longmind.EmbedderFailed) as failed:
                ask(space_id, "tea")
            assert failed.value.status == 502
        # What needs no vector goes on.
        assert texts_of(memory.recall_timeline(space_id)) == ["tea"]
        assert memory.recall_by_entity(space_id, "nobody").hits == []
        wrong.wrong = ""
        assert texts_of(memory.recall_by_topic(space_id, "tea")) == ["tea"]


class SilentEmbedder(WordsEmbedder):
    """Has nothing to say about some texts: their vectors are all zeros."""

    def embed_query(self, query: str) -> list[float]:
        return [0.0] * self.dimension if "silent" in query else super().embed_query(query)


def test_a_vector_of_zeros_counts_as_none(database_url: str) -> None:
    with longmind.open(database_url, embedder=SilentEmbedder()) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("a silent text"), fact("loud music")])
        found = memory.recall_by_topic(space_id, "a text of music", explain=True)
        dense = {hit.atom.text: hit.explanation.dense for hit in found.hits if hit.explanation}
        assert dense["a silent text"] is None
        assert dense["loud music"] is not None
        assert memory.recall_by_topic(space_id, "silent").hits[0].atom.text == "a silent text"


class ScaledEmbedder(WordsEmbedder):
    """Gives the right directions, at a length of its own."""

    def __init__(self, length: float) -> None:
        super().__init__()
        self._length = length

    def embed_query(self, query: str) -> list[float]:
        return [number * self._length for number in super().embed_query(query)]


class ScatteredEmbedder(WordsEmbedder):
    """Gives every second number of an array, read from behind."""

    def embed_query(self, query: str) -> Any:
        vector = np.array(super().embed_query(query), np.float32)
        vector /= np.linalg.norm(vector)
        return np.repeat(vector[::-1], 2)[::-2]


def test_vectors_need_not_stand_in_one_piece(database_url: str) -> None:
    atoms = [fact("green tea"), fact("black coffee"), fact("a cup of tea")]
    dense = []
    for embedder in (WordsEmbedder(), ScatteredEmbedder()):
        with longmind.open(database_url, embedder=embedder) as engine:
            memory = memory_of(engine)
            space_id = memory.create_memory_space(f"of {type(embedder).__name__}").id
            memory.add_atoms(space_id, atoms)
            hits = memory.recall_by_topic(space_id, "green tea", explain=True).hits
            dense.append({hit.atom.text: hit.explanation.dense for hit in hits if hit.explanation})
    assert dense[1] == pytest.approx(dense[0], abs=1e-6)


@pytest.mark.parametrize("length", [1e37, 1e20, 1e-20, 1e-40])
def test_very_long_and_very_short_vectors_count_by_their_direction(database_url: str, length: float) -> None:
    with longmind.open(database_url, embedder=ScaledEmbedder(length)) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("green tea"), fact("black coffee")])
        dense = [
            hit.explanation.dense
            for hit in memory.recall_by_topic(space_id, "green tea", explain=True).hits
            if hit.explanation
        ]
        assert dense[0] == pytest.approx(1.0, abs=0.01)
        assert dense[1] == pytest.approx(0.0, abs=0.6)


@pytest.mark.parametrize("wrong_name", ["arctic", "local:", ":x", "local:nothing", ""])
def test_a_name_that_is_none_is_refused(sqlite_url: str, wrong_name: str) -> None:
    with pytest.raises(longmind.InvalidInput) as refused:
        longmind.open(sqlite_url, embedder=wrong_name or ":")
    assert refused.value.hint


def test_what_is_not_an_embedder_is_refused(sqlite_url: str) -> None:
    with pytest.raises(longmind.InvalidInput, match="not an embedder"):
        longmind.open(sqlite_url, embedder=object())  # type: ignore[arg-type]


@pytest.mark.parametrize("model", [None, 5, "", "a\x00b"])
def test_an_embedder_whose_model_has_no_name_is_refused(sqlite_url: str, model: Any) -> None:
    with pytest.raises(longmind.InvalidInput, match="model"):
        longmind.open(sqlite_url, embedder=WordsEmbedder(model))


def test_a_refused_embedder_leaves_no_database_behind(sqlite_url: str) -> None:
    with pytest.raises(longmind.InvalidInput):
        longmind.open(sqlite_url, embedder="local:nothing")
    with longmind.open(sqlite_url, embedder=None) as engine:
        assert memory_of(engine).list_memory_spaces() == []


def test_the_embedder_can_be_chosen_in_the_environment(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGMIND_EMBEDDER", "local:nothing")
    with pytest.raises(longmind.InvalidInput, match="nothing"):
        longmind.open(sqlite_url)
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    with longmind.open(sqlite_url) as engine:
        memory: Memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atom(space_id, fact("red tea"))
        # Without an embedder likeness is the share of words in common, here two of two and one of two.
        for query, share in (("red tea", 1.0), ("red", 1 / math.sqrt(2))):
            odds = math.exp(BY_SHARED_WORDS.slope * share + BY_SHARED_WORDS.level) * 0.88
            found = memory.recall_by_topic(space_id, query).hits
            assert [hit.score for hit in found] == pytest.approx([odds / (1 + odds)])


def test_batches_reach_the_embedder_whole(database_url: str) -> None:
    asked: list[int] = []

    class Counting(WordsEmbedder):
        def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
            asked.append(len(texts))
            return super().embed_texts(texts)

    with longmind.open(database_url, embedder=Counting()) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact(f"tea {number}") for number in range(500)])
        memory.recall_by_topic(space_id, "tea")
    assert asked == [500]


class DistantEmbedder(WordsEmbedder):
    """One whose model and dimension have to be asked for."""

    def __init__(self, failing: str) -> None:
        self._failing = failing

    @property
    def model(self) -> str:  # type: ignore[override]  # in the place of an attribute
        return str(self._asked("model", "test:distant"))

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return int(self._asked("dimension", 8))

    def _asked(self, name: str, answer: Any) -> Any:
        if name == self._failing:
            raise ConnectionError("the vendor is down")
        return answer


def test_an_embedder_that_cannot_be_asked_is_told_so_when_it_is_needed(sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder=DistantEmbedder("dimension")) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        with pytest.raises(longmind.EmbedderFailed, match="the vendor is down"):
            memory.add_atom(space_id, fact("tea"))
        assert memory.list_atoms(space_id) == []
    with pytest.raises(longmind.EmbedderFailed, match=r"DistantEmbedder.*the vendor is down"):
        longmind.open(sqlite_url, embedder=DistantEmbedder("model"))


@pytest.mark.parametrize("usual", [(1,), "ab", (0.1, "x"), (0.1, -1.0), (float("nan"), 1.0), 7])
def test_a_usual_similarity_that_is_none_is_refused(sqlite_url: str, usual: Any) -> None:
    embedder = WordsEmbedder()
    embedder.usual_similarity = usual  # type: ignore[attr-defined]  # a host may say it
    with pytest.raises(longmind.InvalidInput, match="usual_similarity"):
        longmind.open(sqlite_url, embedder=embedder)
