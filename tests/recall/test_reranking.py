"""A reranker that reads the best hits once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.providers.model_download import pull
from longmind.providers.model_files import RERANKERS
from longmind.recall.retriever import RERANKED
from longmind.settings import load_settings
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of

EMBEDDER = WordsEmbedder("test:words", dimension=32)


class ScriptedReranker:
    model = "test:scripted"

    def __init__(self, answer: Callable[[Sequence[str]], Any]) -> None:
        self._answer = answer
        self.read: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.read += texts
        return self._answer(texts)


def opened(url: str, answer: Callable[[Sequence[str]], Any]) -> tuple[longmind.Engine, ScriptedReranker]:
    reranker = ScriptedReranker(answer)
    return longmind.open(url, embedder=EMBEDDER, reranker=reranker), reranker


def test_what_it_thinks_of_a_hit_moves_it_up_and_is_part_of_its_score(database_url: str) -> None:
    engine, reranker = opened(database_url, lambda texts: [9.0 if "Graz" in text else -9.0 for text in texts])
    with engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("tea tea tea"), fact("tea in Graz"), fact("tea tea")])
        found = memory.recall_by_topic(space_id, "tea", explain=True)
    assert texts_of(found)[0] == "tea in Graz"
    assert sorted(reranker.read) == ["tea in Graz", "tea tea", "tea tea tea"]
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert [hit.explanation.rerank for hit in found.hits if hit.explanation] == [9.0, -9.0, -9.0]


def test_what_it_thinks_very_little_of_is_still_found(database_url: str) -> None:
    engine, _ = opened(database_url, lambda texts: [9_000.0 if "Graz" in text else -9_000.0 for text in texts])
    with engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("tea tea tea"), fact("tea in Graz"), fact("tea tea"), fact("a tea")])
        found = memory.recall_by_topic(space_id, "tea", limit=3)
    assert texts_of(found)[0] == "tea in Graz"
    assert (len(found.hits), found.total_candidates) == (3, 4)


def test_why_not_tells_the_place_that_it_has_led_to(database_url: str) -> None:
    engine, _ = opened(database_url, lambda texts: [9.0 if "Graz" in text else -9.0 for text in texts])
    with engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("tea tea tea"), fact("tea in Graz"), fact("tea tea")])
        hits = memory.recall_by_topic(space_id, "tea", explain=True).hits
        answers = [memory.why_not(hit.atom.id, "tea") for hit in hits]
    assert [answer.rank for answer in answers] == [1, 2, 3]
    assert [answer.explanation.rerank for answer in answers if answer.explanation] == [9.0, -9.0, -9.0]


def test_it_reads_also_where_there_is_no_embedder(database_url: str) -> None:
    reranker = ScriptedReranker(lambda texts: [9.0 if "Graz" in text else -9.0 for text in texts])
    atoms = [fact("tea"), fact("tea in Graz with Ben"), fact("tea again"), fact("coffee in Graz")]
    with longmind.open(database_url, embedder=None, reranker=reranker) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, atoms)
        found = memory.recall_by_topic(space_id, "tea", explain=True)
        ranks = [memory.why_not(hit.atom.id, "tea").rank for hit in found.hits]
    with longmind.open(database_url, embedder=None) as engine:
        plain = memory_of(engine).recall_by_topic(space_id, "tea", explain=True)
    assert texts_of(plain) == ["tea", "tea again", "tea in Graz with Ben"]
    assert texts_of(found) == ["tea in Graz with Ben", "tea", "tea again"]
    assert "coffee in Graz" not in reranker.read
    assert ranks == [1, 2, 3]
    assert [hit.explanation.rerank for hit in found.hits if hit.explanation] == [9.0, -9.0, -9.0]
    assert all(0 < hit.score <= 1 for hit in found.hits)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


@pytest.mark.parametrize("thought", [0.0, -7.0, 1e300])
def test_one_that_thinks_the_same_of_all_changes_no_score(database_url: str, thought: float) -> None:
    reranker = ScriptedReranker(lambda texts: [thought] * len(texts))
    with longmind.open(database_url, embedder=None, reranker=reranker) as engine:
        space_id = memory_of(engine).create_memory_space().id
        memory_of(engine).add_atoms(space_id, [fact("tea with Ben"), fact("tea again and again in Graz")])
        found = memory_of(engine).recall_by_topic(space_id, "tea")
    with longmind.open(database_url, embedder=None) as engine:
        plain = memory_of(engine).recall_by_topic(space_id, "tea")
    assert texts_of(found) == texts_of(plain)
    assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in plain.hits], abs=1e-5)


def test_it_reads_the_best_hits_only_and_what_was_said_before_them(database_url: str) -> None:
    engine, reranker = opened(database_url, lambda texts: [0.0] * len(texts))
    with engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact(f"tea number{number}") for number in range(3 * RERANKED)])
        memory.add_atom(space_id, {**fact("tea for two"), "search_context": ["What would you like?", "Fine."]})
        found = memory.recall_by_topic(space_id, "tea for two", limit=2 * RERANKED)
    assert len(reranker.read) == RERANKED
    assert "What would you like? tea for two" in reranker.read
    assert len(found.hits) == 2 * RERANKED


def test_it_is_not_asked_where_there_is_nothing_to_read(database_url: str) -> None:
    engine, reranker = opened(database_url, lambda texts: [0.0] * len(texts))
    with engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        assert memory.recall_by_topic(space_id, "tea").hits == []
        memory.add_atom(space_id, fact("tea"))
        memory.recall_by_topic(space_id, "  ")
        memory.recall_timeline(space_id)
    assert reranker.read == []


@pytest.mark.parametrize("answer", [[], [1.0], [float("nan")] * 2, ["many"] * 2, None])
def test_one_that_answers_nonsense_is_an_error_that_says_so(database_url: str, answer: Any) -> None:
    engine, _ = opened(database_url, lambda texts: answer)
    with engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("tea"), fact("tea again")])
        with pytest.raises(longmind.RerankerFailed, match="test:scripted"):
            memory.recall_by_topic(space_id, "tea")


@pytest.mark.parametrize("name", ["local:nonsense", "openai:gpt", "nonsense"])
def test_an_unknown_one_is_refused_with_those_that_are_known(sqlite_url: str, name: str) -> None:
    with pytest.raises(longmind.InvalidInput) as refused:
        longmind.open(sqlite_url, reranker=name)
    assert "local:minilm-l12" in (refused.value.hint or "")


def test_an_object_that_is_none_is_refused(sqlite_url: str) -> None:
    with pytest.raises(longmind.InvalidInput, match="not a reranker"):
        longmind.open(sqlite_url, reranker=object())  # type: ignore[arg-type]  # that is the mistake


def test_the_local_one_knows_an_answer_from_a_text_that_shares_its_words(database_url: str) -> None:
    folder = Path(load_settings({}).models_folder)
    try:
        pull(RERANKERS["minilm-l12"], folder)
    except longmind.ModelMissing as error:
        pytest.skip(f"the model is not here and cannot be fetched: {error}")
    with longmind.open(database_url, embedder=None, reranker="local:minilm-l12") as engine:
        reranking = engine._parts.reranking
        assert reranking is not None
        question = "How many people live in Berlin?"
        answer, other = reranking.score(
            question,
            ["Berlin had a population of 3,520,031 in 2016.", "How many people live here, and do they like it?"],
        )
    assert answer > 3 > 0 > other


def test_the_surest_opinions_lose_no_hit(database_url: str) -> None:
    class Surest:
        model = "test:surest"

        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            return [1e308 * (-1) ** place for place in range(len(texts))]

    with longmind.open(database_url, embedder=WordsEmbedder(), reranker=Surest()) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact(f"tea number {number}") for number in range(30)])
        assert len(memory.recall_by_topic(space_id, "tea", limit=30).hits) == 30
