"""Archival memory is found again line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import longmind
from longmind.blocks import Blocks
from longmind.models.recall import WEAK_BELOW
from tests.embedder import WordsEmbedder

LINES = [
    "Sister Anna lives in Oslo",
    "",
    "Favourite film is Alien",
    "Car is a blue Volvo, bought in Oslo",
    "Dentist is Dr. Gruber",
]


@pytest.fixture(params=["none", "words"])
def engine(database_url: str, request: pytest.FixtureRequest) -> Iterator[longmind.Engine]:
    embedder: Any = "none" if request.param == "none" else WordsEmbedder(dimension=256)
    with longmind.open(database_url, embedder=embedder) as engine:
        yield engine


@pytest.fixture
def blocks(ctx: longmind.Context) -> Blocks:
    ctx.blocks.update("core", "Volvo is in the core block", None)
    ctx.blocks.update("archival", "\n".join(LINES), None)
    ctx.blocks.update("archival", "Volvo needs new tyres", None, agent_id="garage")
    ctx.blocks.update("archival", "Volvo is none of the garage's business", None, agent_id="planner")
    return ctx.blocks


def found(blocks: Blocks, query: str, **named: Any) -> list[str]:
    return [line.content for line in blocks.recall(query, **named)]


@pytest.mark.conforms("C4", "C7", "C16")
def test_a_line_is_found_by_what_it_says_with_where_it_stands(blocks: Blocks) -> None:
    (first, *_) = blocks.recall("Which film does the user like best?")
    block = blocks.get("archival")
    assert block is not None
    assert first.model_dump() == {
        "content": "Favourite film is Alien",
        "score": first.score,
        "raw_score": first.raw_score,
        "block_type": "archival",
        "scope": "user",
        "agent_id": None,
        "line_number": 3,
        "updated_at": block.updated_at,
    }


@pytest.mark.conforms("C16")
def test_with_an_agent_its_archive_is_searched_beside_the_users_and_no_other(blocks: Blocks) -> None:
    assert found(blocks, "Volvo") == ["Car is a blue Volvo, bought in Oslo"]
    assert set(found(blocks, "Volvo", agent_id="garage")) == {
        "Volvo needs new tyres",
        "Car is a blue Volvo, bought in Oslo",
    }
    hit = next(line for line in blocks.recall("tyres", agent_id="garage"))
    assert (hit.scope, hit.agent_id, hit.line_number) == ("agent", "garage", 1)


@pytest.mark.conforms("C16")
def test_an_empty_query_lists_the_lines_as_they_stand(blocks: Blocks) -> None:
    written = [line for line in LINES if line]
    assert found(blocks, "") == written
    assert found(blocks, " \n", limit=2, agent_id="garage") == written[:2]
    assert found(blocks, "", agent_id="garage", limit=100) == [*written, "Volvo needs new tyres"]


@pytest.mark.conforms("C16", "T18")
def test_scores_are_between_0_and_1_and_go_with_the_raw_ones(blocks: Blocks) -> None:
    for query in ("Oslo", "Where in Oslo does sister Anna live?", "blue Volvo in Oslo", "Alien Gruber Anna Oslo"):
        lines = blocks.recall(query, agent_id="garage", limit=100)
        assert lines
        assert all(0 < line.score <= 1 for line in lines)
        by_raw = sorted(lines, key=lambda line: -line.raw_score)
        assert [line.content for line in lines] == [line.content for line in by_raw]
        scores = [line.score for line in by_raw]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.conforms("C8", "T18")
def test_the_same_least_score_lets_the_answer_through_with_vectors_and_without(blocks: Blocks) -> None:
    for question, answer in (
        ("Where does my sister live?", "Sister Anna lives in Oslo"),
        ("Which film shall we watch?", "Favourite film is Alien"),
        ("Who is my dentist?", "Dentist is Dr. Gruber"),
    ):
        assert [line.content for line in blocks.recall(question) if line.score >= 0.25] == [answer]
    auto = {"archival_mode": "auto", "archival_min_score": 0.25}
    (reminder,) = blocks.reminders("Which film shall we watch?", policy=auto)
    assert reminder.endswith("\n- Favourite film is Alien")


@pytest.mark.conforms("T18")
def test_without_vectors_a_score_says_how_much_of_the_question_a_line_answers(database_url: str) -> None:
    with longmind.open(database_url, embedder="none") as engine:
        blocks = engine.context(tenant_id="acme", app_id="support", user_id="ada").blocks
        blocks.update("archival", "\n".join(LINES), None)
        (whole,) = blocks.recall("dentist Gruber")
        (half,) = blocks.recall("dentist weather")
        (little,) = blocks.recall(
            "Before the dentist: what will tomorrow's weather forecast say about rain, sun, wind,"
            " fog, hail, thunder, lightning and the chance of finding a taxi?"
        )
    assert whole.score > 0.6 > half.score > 0.25 > little.score > 0


def test_nothing_is_found_of_what_was_never_written(blocks: Blocks) -> None:
    assert found(blocks, "quantum chromodynamics") == []


@pytest.mark.conforms("C16")
def test_what_was_written_a_moment_ago_is_found_and_what_was_removed_is_not(blocks: Blocks) -> None:
    assert found(blocks, "dentist", limit=1) == ["Dentist is Dr. Gruber"]
    block = blocks.get("archival")
    assert block is not None
    blocks.update("archival", block.content.replace("Gruber", "Maier"), block.updated_at)
    assert found(blocks, "dentist", limit=1) == ["Dentist is Dr. Maier"]
    blocks.delete("archival")
    assert found(blocks, "dentist") == []
    blocks.update("archival", "Dentist is Dr. Huber", None)
    assert found(blocks, "dentist") == ["Dentist is Dr. Huber"]


def test_the_limit_is_kept_and_checked(blocks: Blocks) -> None:
    assert len(found(blocks, "Oslo", limit=1)) == 1
    for wrong in (0, 201, "3", None):
        with pytest.raises(longmind.LongmindError):
            blocks.recall("Oslo", limit=wrong)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(longmind.LimitExceeded):
        blocks.recall("x" * 10_001)


def test_any_text_can_be_asked_and_any_line_be_there(ctx: longmind.Context) -> None:
    ctx.blocks.update("archival", "🧠🧠\n漢字を書く\n' OR 1=1 --\n\u2028\n...", None)
    assert found(ctx.blocks, "漢字", limit=1) == ["漢字を書く"]
    for query in ("🧠", "'\"*()", "...", "a OR NOT b"):
        assert len(ctx.blocks.recall(query)) <= 5


class AngleEmbedder:
    """Every line says how alike it is to any question, in hundredths."""

    model = "test:angles"
    dimension = 2
    usual_similarity = (0.4, 0.1)

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        likeness = [int(text) / 100 for text in texts]
        return [[each, math.sqrt(1 - each**2)] for each in likeness]

    def embed_query(self, query: str) -> list[float]:
        return [1.0, 0.0]


def test_a_line_that_shares_no_word_is_found_unless_it_is_weak(database_url: str) -> None:
    with longmind.open(database_url, embedder=AngleEmbedder()) as engine:
        blocks = engine.context(tenant_id="acme", app_id="support", user_id="ada").blocks
        blocks.update("archival", "\n".join(map(str, range(20, 100, 2))), None)
        scores = [line.score for line in blocks.recall("Which film?", limit=100)]
        assert WEAK_BELOW <= min(scores) < 0.2
        assert len(scores) < 40
