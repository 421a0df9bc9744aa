"""Measuring extraction from beginning to end, on a few made-up conversations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import longmind
from benchmarks.evaluation import extraction_evaluation
from benchmarks.evaluation.dataset import read_updates
from benchmarks.evaluation.extraction_evaluation import measure_extraction
from benchmarks.evaluation.recall_evaluation import EvaluationSetup
from benchmarks.evaluation.scripted_clock import ScriptedClock
from benchmarks.evaluation.superseded_facts import measure_superseding
from benchmarks.evaluation.token_counter import WORDS
from longmind.extraction.candidate import Candidate, Extracted, SourceMessage
from tests.evaluation.datasets import a_set, write

TINY = Path(__file__).parent / "tiny"


def quiet(_: str) -> None: ...


MEANS = EvaluationSetup(None, WORDS, quiet)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tiny conversations with facts of two of their turns beside them."""
    (tmp_path / "garden.json").write_text((TINY / "garden.json").read_text("utf-8"), "utf-8")
    facts = [
        {"turn": "g/1:1", "speaker": "Mira", "fact": "Mira planted seven tomato seedlings."},
        {"turn": "g/1:3", "speaker": "Mira", "fact": "Mira lost the basil to the frost."},
    ]
    (tmp_path / "facts-garden.json").write_text(json.dumps(facts), "utf-8")
    return tmp_path


def test_what_the_rules_keep_is_measured_and_judged(folder: Path) -> None:
    results = measure_extraction(folder, MEANS)
    garden = results["datasets"]["Garden talk"]
    assert garden["evidence turns with an atom"] == 1.0
    assert garden["answer words kept"] == 1.0
    assert (garden["facts"], garden["facts with an atom that shares their words"]) == (2, 1.0)
    assert garden["duplicates"] == 0.0
    assert garden["recall"]["ALL"]["R@10"]["mean"] == 1.0
    goals = {each["goal"]: each["passed"] for each in results["goals"]}
    assert goals["Garden talk: evidence turns with an atom"]
    assert not goals["dates: right day"], "there were no dates to read"


def test_an_extractor_that_keeps_little_is_seen_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FirstWord:
        """Keeps one word of each conversation's first message, twice under two texts."""

        name = "first word"

        def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
            first = messages[0]
            word = first.text.split()[-1]
            return Extracted(
                [
                    Candidate(text, "word", "FACT", "user", (first.id,))
                    for text in (word, f"{word} {word} and much else")
                ]
            )

    def opened(address: str, **settings: object) -> longmind.Engine:
        return longmind.open(address, extractor=FirstWord(), **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(extraction_evaluation, "open", opened)
    garden = measure_extraction(folder, MEANS)["datasets"]["Garden talk"]
    assert garden["evidence turns with an atom"] < 1.0
    assert garden["answer words kept"] < 0.5
    assert garden["facts with an atom that shares their words"] == 0.0


def test_a_set_of_which_no_question_is_asked_has_no_recall_to_judge(tmp_path: Path) -> None:
    results = measure_extraction(write(tmp_path, "none.json", a_set("LoCoMo") | {"queries": []}), MEANS)
    assert results["datasets"]["LoCoMo"]["recall"] == {}
    assert not any("R@10" in each["goal"] for each in results["goals"])


def test_a_folder_without_conversations_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(longmind.InvalidInput, match="no conversations"):
        measure_extraction(tmp_path, MEANS)


def test_facts_that_changed_are_followed_from_the_old_value_to_the_new() -> None:
    clock = ScriptedClock()
    with longmind.open("sqlite:///:memory:", embedder=None, clock=clock) as engine:
        measured = measure_superseding(engine, clock, read_updates(TINY))
    assert measured["facts"] == 2
    assert measured["old superseded, and recall answers the new"] == 1.0
