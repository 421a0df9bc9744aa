"""`longmind bench recall`: what is refused before anything is measured, and what is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import Run
from tests.quality.odd import a_query, a_set, write

TINY = Path(__file__).parents[1] / "quality" / "tiny"


@pytest.mark.parametrize("output", ["missing/results.json", "file/results.json", "folder"])
def test_results_that_could_not_be_written_are_not_measured(run: Run, tmp_path: Path, output: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    done = run("bench", "recall", "--data", str(TINY), "--embedder", "none", "--output", str(tmp_path / output))
    assert done.code in (1, 2)
    assert done.out == ""
    assert "Garden talk" not in done.err, "it was measured nevertheless"
    assert "Traceback" not in done.err


def test_a_folder_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "missing" / "results.json"
    done = run("bench", "recall", "--data", str(TINY), "--embedder", "none", "--output", str(output))
    assert f"There is no folder {output.parent} to write results.json into." in done.err


def test_results_of_before_are_written_over(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    output.write_text("old", "utf-8")
    done = run("bench", "recall", "--data", str(TINY), "--embedder", "none", "--output", str(output))
    assert done.code == 0, done.err
    assert json.loads(output.read_text("utf-8"))["environment"]["machine"]["cores"] > 0


def test_any_stands_beside_all_and_updates_have_their_interval(run: Run) -> None:
    done = run("bench", "recall", "--data", str(TINY), "--embedder", "none")
    (headings,) = (line.split() for line in done.out.splitlines() if line.startswith(" retriever"))
    assert headings == "retriever R@5 any@5 all@5 R@10 any@10 all@10 NDCG sess@5 in 1k tokens".split()
    assert "Of 2 facts that changed (95 %): current above old 1.000 0.34-1.00" in done.out


@pytest.mark.parametrize("queries", [[], [a_query("adversarial")]])
def test_a_set_without_a_question_that_has_an_answer_is_shown_without_figures(
    run: Run, tmp_path: Path, queries: list[object]
) -> None:
    write(tmp_path, "small.json", a_set("Small [talk]") | {"queries": queries})
    done = run("bench", "recall", "--data", str(tmp_path), "--embedder", "none")
    assert done.code == 0, done.err
    assert "Small [talk]: no question that has an answer was asked." in done.out
    assert ("adversarial (1)" in done.out) == bool(queries)
    assert ("Small [talk] by category" in done.out) == bool(queries)


@pytest.mark.parametrize(
    ("chosen", "told"), [("auto", "none, since auto found no model"), ("none", "none, overlap of words alone")]
)
def test_what_words_alone_means_is_told(run: Run, tmp_path: Path, chosen: str, told: str) -> None:
    done = run("bench", "recall", "--data", str(TINY), "--embedder", chosen, LONGMIND_MODELS_FOLDER=str(tmp_path))
    assert f"Vectors: {told}." in done.out
