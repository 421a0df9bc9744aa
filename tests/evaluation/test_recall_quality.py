"""`./dev bench recall-quality`: refused input, the report, and the file of results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.recall_quality import main
from tests.evaluation.datasets import a_query, a_set, write

TINY = Path(__file__).parent / "tiny"


def measure(data: Path, *arguments: str) -> int:
    return main(["--data", str(data), "--notes", str(TINY / "notes"), "--embedder", "none", *arguments])


@pytest.mark.parametrize("output", ["missing/results.json", "file/results.json", "folder"])
def test_nothing_is_measured_if_the_results_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert measure(TINY, "--output", str(tmp_path / output)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "Error: " in err
    assert "Hint: " in err
    assert "Garden talk" not in err, "it was measured nevertheless"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "missing" / "results.json"
    assert measure(TINY, "--output", str(output)) == 1
    assert f"There is no folder {output.parent} to write results.json into." in capsys.readouterr().err
    assert measure(tmp_path / "nowhere") == 1
    assert "There are no conversations with questions in" in capsys.readouterr().err


def test_recall_is_measured_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "results.json"
    output.write_text("old", "utf-8")
    assert measure(TINY, "--output", str(output)) == 0
    out = capsys.readouterr().out
    assert "Garden talk, 4 questions" in out
    assert "updates current above old" in out
    assert "musts pass" in out
    results = json.loads(output.read_text("utf-8"))
    assert results["datasets"]["Garden talk"]["retrievers"]["longmind"]["ALL"]["questions"] == 3
    assert results["environment"]["machine"]["cores"] > 0


def test_only_the_first_histories_of_each_set_are_measured_on_request(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    assert measure(TINY, "--corpora", "1", "--output", str(output)) == 0
    assert json.loads(output.read_text("utf-8"))["datasets"]["Garden talk"]["corpora"] == 1


def test_the_report_has_every_measure_beside_the_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(TINY) == 0
    out = capsys.readouterr().out
    (headings,) = (line.split() for line in out.splitlines() if "all@5" in line)
    assert headings == "retriever R@5 R@10 R@50 all@5 all@10 all@50 in 1k tokens p90".split()
    assert "Mean and worst over the sets" in out
    assert "Confidence and time" in out
    assert "Of 2 facts that changed (95 %): current above old 1.000 0.34-1.00" in out


@pytest.mark.parametrize("queries", [[], [a_query("adversarial")]])
def test_a_set_without_a_question_that_has_an_answer_is_shown_without_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], queries: list[object]
) -> None:
    write(tmp_path, "small.json", a_set("Small [talk]") | {"queries": queries})
    assert measure(tmp_path) == 0
    out = capsys.readouterr().out
    assert "Small [talk]: no question that has an answer was asked." in out
    assert ("adversarial (1)" in out) == bool(queries)
    assert ("Small [talk] by category" in out) == bool(queries)


@pytest.mark.parametrize(
    ("chosen", "vectors"), [("auto", "none, since auto found no model"), ("none", "none, overlap of words alone")]
)
def test_the_report_says_what_words_alone_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chosen: str, vectors: str
) -> None:
    monkeypatch.setenv("LONGMIND_MODELS_FOLDER", str(tmp_path))
    assert main(["--data", str(TINY), "--notes", str(TINY / "notes"), "--embedder", chosen]) == 0
    assert f"Vectors: {vectors}." in capsys.readouterr().out
