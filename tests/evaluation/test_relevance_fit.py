"""`./dev bench relevance-fit`: constants that are fitted on all sets, and on all but one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.evaluation.dataset import read_datasets
from benchmarks.evaluation.extracted_facts import extract_facts
from benchmarks.evaluation.recall_evaluation import EvaluationSetup
from benchmarks.evaluation.token_counter import choose_tokenizer
from benchmarks.relevance_fit import fit_relevance, main
from harness.embedder import WordsEmbedder
from longmind.providers.embedder import CheckedEmbedder

TINY = Path(__file__).parent / "tiny"
NOTES = TINY / "notes" / "shed.json"


def make_setup() -> EvaluationSetup:
    embedding = CheckedEmbedder(WordsEmbedder(dimension=64))
    return EvaluationSetup.from_embedder(embedding, choose_tokenizer(TINY), lambda line: None)


def test_constants_of_passages_and_facts_are_printed_with_what_each_set_loses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fit_relevance(TINY, NOTES, make_setup())
    out = capsys.readouterr().out
    assert "PASSAGES = Relevance(" in out
    assert "FACTS = Relevance(" in out
    assert "configurations of weights tried" in out
    assert "extracted of Garden" in out


def test_facts_are_those_that_the_product_learns_with_the_turns_they_come_from() -> None:
    for dataset in read_datasets(TINY):
        facts = extract_facts(dataset, None)
        turns = dataset.session_of
        assert facts
        assert all(turns[turn] == fact.session for fact in facts for turn in fact.turns)


def test_without_an_embedder_there_is_nothing_to_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(TINY), "--notes", str(NOTES), "--embedder", "none"]) == 1
    assert "There is no embedder" in capsys.readouterr().err
