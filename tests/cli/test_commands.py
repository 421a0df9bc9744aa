"""The command line, as it is called in a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect.providers.weights import ALL_WEIGHTS, MODELS, is_present
from recollect.settings import load_settings

TINY = Path(__file__).parents[1] / "quality" / "tiny"
MODEL_IS_HERE = is_present(MODELS["arctic-s"], Path(load_settings({}).models_folder))
COMMAND = Path(sys.executable).with_name("recollect")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # An index that nobody answers at: no test fetches anything.
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_NO_INPUT": "1"}
    return subprocess.run(
        [str(COMMAND), *arguments],
        env={**os.environ, **offline, "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_models_there_are_can_be_listed(tmp_path: Path) -> None:
    listed = run("models", "list", "--json", RECOLLECT_MODELS_FOLDER=str(tmp_path))
    assert listed.returncode == 0
    models = json.loads(listed.stdout)
    assert [(model["name"], model["present"]) for model in models] == [(name, False) for name in ALL_WEIGHTS]
    assert "arctic-s" in run("models", "list", RECOLLECT_MODELS_FOLDER=str(tmp_path)).stdout


def test_an_unknown_model_is_an_error_with_a_hint_on_standard_error() -> None:
    done = run("models", "pull", "nonesuch")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Error: There is no local model 'nonesuch'." in done.stderr
    assert "Hint: Known are arctic-s, minilm-l12." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_cannot_be_fetched_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    done = run("models", "pull", RECOLLECT_MODELS_FOLDER=str(tmp_path), PATH="")
    assert done.returncode == 1
    assert "could not be fetched" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("reindex", "--nonsense"), ("bench", "recall"), ("models", "pull", "a", "b")]
)
def test_misuse_ends_with_two(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Usage" in done.stderr


@pytest.mark.skipif(not MODEL_IS_HERE, reason="the local model is not here: recollect models pull")
def test_reindexing_gives_every_atom_a_vector_of_the_embedder(sqlite_url: str) -> None:
    with recollect.open(sqlite_url, embedder=None) as engine:
        memory = engine.context(tenant_id="t", app_id="a", user_id="u").memory
        space = memory.create_memory_space("m")
        memory.add_atoms(
            space.id, [{"text": f"Fact {n}.", "category": {"name": "x", "kind": "FACT"}} for n in range(3)]
        )
    first = run("reindex", "--url", sqlite_url, "--embedder", "local:arctic-s", "--json")
    assert (first.returncode, json.loads(first.stdout)) == (0, {"vectors": 3})
    again = run("reindex", "--url", sqlite_url, "--embedder", "local:arctic-s")
    assert again.stdout == "0 vectors were made.\n"


def test_reindexing_without_an_embedder_is_refused(sqlite_url: str) -> None:
    done = run("reindex", "--url", sqlite_url, "--embedder", "none")
    assert done.returncode == 1
    assert "no embedder" in done.stderr


def test_an_address_that_is_none_is_an_error() -> None:
    done = run("reindex", "--url", "nonsense")
    assert done.returncode == 1
    assert "Hint: Use sqlite:///" in done.stderr


def test_recall_is_measured_and_written(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    done = run("bench", "recall", "--data", str(TINY), "--output", str(output), "--embedder", "none")
    assert done.returncode == 0, done.stderr
    assert "Garden talk, 4 questions" in done.stdout
    assert "updates ALL current above old" in done.stdout
    assert "pass" in done.stdout
    results = json.loads(output.read_text("utf-8"))
    assert results["datasets"]["Garden talk"]["recollect"]["ALL"]["questions"] == 3


def test_results_can_be_had_as_json_with_nothing_beside_them() -> None:
    done = run("bench", "recall", "--data", str(TINY), "--limit-corpora", "1", "--embedder", "none", "--json")
    assert json.loads(done.stdout)["datasets"]["Garden talk"]["corpora"] == 1


@pytest.fixture
def failed_job(sqlite_url: str) -> recollect.Job:
    with recollect.open(sqlite_url, embedder=None) as engine:
        engine.register_job("fail", lambda run: 1 / 0)
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        ada.jobs.enqueue("other", {"text": "[bold]"})
        job = ada.jobs.enqueue("fail", max_attempts=1)
        engine.work()
    return job


@pytest.mark.conforms("A5.15")
def test_a_job_that_failed_is_listed_with_its_error_shown_and_retried(
    sqlite_url: str, failed_job: recollect.Job
) -> None:
    listed = run("jobs", "list", "--status", "dead", "--json", RECOLLECT_URL=sqlite_url)
    assert listed.returncode == 0, listed.stderr
    (job,) = json.loads(listed.stdout)
    assert (job["id"], job["userId"], job["error"]) == (failed_job.id, "ada", "ZeroDivisionError: division by zero")
    assert len(json.loads(run("jobs", "list", "--json", "--url", sqlite_url).stdout)) == 2
    assert "dead" in run("jobs", "list", "--kind", "fail", RECOLLECT_URL=sqlite_url).stdout
    assert json.loads(run("jobs", "show", failed_job.id, RECOLLECT_URL=sqlite_url).stdout) == job
    retried = run("jobs", "retry", failed_job.id, RECOLLECT_URL=sqlite_url)
    assert retried.stdout.split() == [failed_job.id, "is", "queued."]
    assert json.loads(run("jobs", "show", failed_job.id, RECOLLECT_URL=sqlite_url).stdout)["status"] == "queued"
    again = run("jobs", "retry", failed_job.id, RECOLLECT_URL=sqlite_url)
    assert (again.returncode, "is queued" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments", [("show", "job_none"), ("retry", "job_none"), ("list", "--status", "lost"), ("list", "--limit", "0")]
)
def test_a_job_that_is_not_there_or_a_list_that_cannot_be_is_an_error(
    sqlite_url: str, arguments: tuple[str, ...]
) -> None:
    done = run("jobs", *arguments, RECOLLECT_URL=sqlite_url)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Error:" in done.stderr
    assert "Traceback" not in done.stderr
