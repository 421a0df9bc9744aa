"""`longmind doctor`: what it finds, and that it changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import longmind
from harness.postgres import as_role
from longmind.cli import main
from longmind.clock import Micros, system_clock
from longmind.recall import kernels as kernel
from longmind.recall.kernels import numpy_kernels
from tests.cli.command_calls import Run

Examined = Callable[..., tuple[int, dict[str, dict[str, Any]]]]


@pytest.fixture
def examined(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Examined:
    """Gives the exit code and the findings by name, with no embedder, which takes long to load."""

    def examine(url: str, **environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
        for name, value in {"LONGMIND_EMBEDDER": "none", **environment}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(["doctor", "--url", url, "--json"])
        told = json.loads(capsys.readouterr().out)
        assert told["healthy"] == (ended.value.code == 0)
        assert isinstance(ended.value.code, int)
        return ended.value.code, {finding["name"]: finding for finding in told["findings"]}

    return examine


def test_a_database_in_order_is_healthy(database_url: str, examined: Examined) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")

    code, found = examined(database_url)

    assert code == 0
    for name in ("Longmind", "Python", "settings", "database", "clock", "migrations", "keys", "jobs", "web tokens"):
        assert found[name]["state"] == "ok", found[name]
    assert found["keys"]["says"] == "1 of 1 are valid"
    # What is not as good as it could be says what to do, and is no trouble.
    assert found["embedder"]["state"] == "warning"
    assert "LONGMIND_EMBEDDER" in found["embedder"]["todo"]


def test_what_opening_needs_of_a_server_is_checked_before(postgres_url: str, examined: Examined) -> None:
    needs = ("server version", "encoding", "writing", "rights", "row security", "connections")
    _, found = examined(postgres_url)
    assert {name: found[name]["state"] for name in needs} == dict.fromkeys(needs, "ok")
    assert "may create the schema" in found["rights"]["says"]
    assert "opening creates the role longmind_app" in found["row security"]["says"]
    longmind.open(postgres_url, embedder=None).close()
    _, found = examined(postgres_url)
    assert {name: found[name]["state"] for name in needs} == dict.fromkeys(needs, "ok")
    assert found["rights"]["says"] == "postgres owns the tables"
    assert "step down to longmind_app" in found["row security"]["says"]
    assert "longmind_app, which it binds" in found["row security"]["says"]
    _, found = examined(postgres_url, LONGMIND_POOL_SIZE="1000")
    assert found["connections"]["state"] == "warning"


@pytest.mark.parametrize("rights", ["", "BYPASSRLS"])
def test_rights_that_a_role_lacks_are_trouble_and_opening_fails_as_said(
    postgres_url: str, examined: Examined, rights: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE visitor LOGIN {rights}".encode())
        try:
            url = as_role(postgres_url, "visitor")
            code, found = examined(url)
            assert (code, found["rights"]["state"]) == (1, "trouble")
            assert found["rights"]["says"].startswith("visitor may not create a schema in ")
            assert 'GRANT CREATE ON DATABASE "' in found["rights"]["todo"]
            with pytest.raises(longmind.StoreError):
                longmind.open(url, embedder=None)
            connection.execute(found["rights"]["todo"].removeprefix("An administrator runs: ").encode())
            assert examined(url)[1]["rights"]["state"] == "ok"
        finally:
            connection.execute("DROP OWNED BY visitor; DROP ROLE visitor")


def test_a_server_that_takes_no_writes_is_trouble(postgres_url: str, examined: Examined) -> None:
    database = postgres_url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on".encode())
    code, found = examined(postgres_url)
    assert (code, found["writing"]["state"]) == (1, "trouble")


@pytest.mark.parametrize(
    ("path", "state", "words"),
    [
        ("here.db", "ok", "files can be created in "),
        ("new/folder/here.db", "ok", "will be created"),
        ("file/here.db", "trouble", "is a file"),
    ],
)
def test_the_folder_of_a_file_is_checked_before(
    tmp_path: Path, examined: Examined, path: str, state: str, words: str
) -> None:
    (tmp_path / "file").touch()
    _, found = examined(f"sqlite:///{tmp_path}/{path}")
    assert found["database folder"]["state"] == state
    assert words in found["database folder"]["says"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file"]


def test_conversations_that_no_binding_covers_are_noticed(database_url: str, examined: Examined) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        space = ctx.memory.create_memory_space("personal")
        ctx.memory.create_binding({"namespace": "mail", "user_id": "ada"}, [space.id])
        for namespace in ("chat", "mail"):
            conversation = ctx.conversations.create_conversation(namespace)
            ctx.conversations.append_user_message(conversation.id, "I live in Graz.")
            ctx.conversations.close_conversation(conversation.id)
    code, found = examined(database_url)
    assert (code, found["bindings"]["state"]) == (0, "warning")
    assert found["bindings"]["says"] == "1 of 2 closed conversations have no enabled binding"
    assert "create_binding" in found["bindings"]["todo"]


@pytest.mark.parametrize(("seconds", "state"), [(0, "ok"), (-5, "warning"), (5, "warning"), (500, "trouble")])
def test_a_clock_that_differs_from_the_servers_is_noticed(
    postgres_url: str, examined: Examined, monkeypatch: pytest.MonkeyPatch, seconds: int, state: str
) -> None:
    longmind.open(postgres_url, embedder=None).close()
    monkeypatch.setattr("longmind.store.postgres.keepalive.system_clock", lambda: system_clock() + seconds * 1_000_000)
    assert examined(postgres_url)[1]["clock"]["state"] == state


def test_the_time_that_it_takes_to_look_is_no_difference_of_clocks(
    postgres_url: str, examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    longmind.open(postgres_url, embedder=None).close()

    def five_seconds_apart() -> Iterator[Micros]:
        # From when it is first looked at, however late that is.
        yield from count(system_clock(), 5_000_000)

    looked_at = five_seconds_apart()
    for module in ("store.postgres.keepalive", "cli.doctor_checks"):
        monkeypatch.setattr(f"longmind.{module}.system_clock", lambda: next(looked_at))
    assert examined(postgres_url)[1]["clock"]["state"] == "ok"


def test_it_tells_whether_the_loops_of_recall_are_compiled(
    sqlite_url: str, examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "compiled", numpy_kernels)
    assert examined(sqlite_url)[1]["recall"]["state"] == "ok"
    monkeypatch.setattr(kernel, "compiled", None)
    code, found = examined(sqlite_url)
    assert code == 0
    assert found["recall"]["state"] == "warning"
    assert "Install a C compiler" in found["recall"]["todo"]


def test_a_model_that_is_not_there_is_said_and_not_fetched(sqlite_url: str, tmp_path: Path, examined: Examined) -> None:
    folder = tmp_path / "models"
    code, found = examined(sqlite_url, LONGMIND_EMBEDDER="auto", LONGMIND_MODELS_FOLDER=str(folder))
    assert (code, found["embedder"]["state"]) == (0, "warning")
    assert "LONGMIND_OFFLINE forbids to fetch it, so recall works by words only" in found["embedder"]["says"]
    code, found = examined(
        sqlite_url, LONGMIND_EMBEDDER="auto", LONGMIND_MODELS_FOLDER=str(folder), LONGMIND_OFFLINE="0"
    )
    assert (code, found["embedder"]["state"]) == (0, "warning")
    assert "It is fetched once, 26 MB, when it is first needed." in found["embedder"]["says"]
    assert found["embedder"]["todo"] == "To fetch it now: longmind models pull arctic-s"
    assert not folder.exists()
    folder.mkdir()
    (folder / ".arctic-s.failed").write_text("The index is down.")
    code, found = examined(
        sqlite_url, LONGMIND_EMBEDDER="local:arctic-s", LONGMIND_MODELS_FOLDER=str(folder), LONGMIND_OFFLINE="0"
    )
    assert found["embedder"]["says"].startswith("The index is down. That was 0 minutes ago;")


def test_a_person_reads_it_line_by_line(run: Run, sqlite_url: str) -> None:
    done = run("doctor", "--url", sqlite_url, LONGMIND_EMBEDDER="none")

    assert done.code == 0
    assert "✓ database: SQLite" in done.out
    assert "! migrations: there is no database yet\n    Opening it for the first time creates it." in done.out
    assert done.out.rstrip().splitlines()[-1].split(": ")[1].startswith("0 in trouble, ")


def test_to_look_makes_no_database(tmp_path: Path, examined: Examined) -> None:
    code, _ = examined(f"sqlite:///{tmp_path}/nothing.db")

    assert code == 0
    assert list(tmp_path.iterdir()) == []


def test_what_needs_attention_is_told_with_what_to_do(database_url: str, examined: Examined) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        soon = datetime.now(UTC) + timedelta(days=2)
        key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada", expires_at=soon)
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        engine.register_job("mail", lambda run: 1 / 0)
        ctx.jobs.enqueue("mail", max_attempts=1)
        engine.work()
        ctx.jobs.enqueue("mail", run_at=datetime.now(UTC) - timedelta(hours=1))

    code, found = examined(database_url)

    assert code == 0
    assert key.id in found["keys"]["says"]
    assert found["dead jobs"]["state"] == found["jobs"]["state"] == "warning"
    assert "longmind worker" in found["jobs"]["todo"]
    assert "longmind jobs retry" in found["dead jobs"]["todo"]


def test_trouble_ends_with_one(sqlite_url: str, tmp_path: Path, examined: Examined) -> None:
    longmind.open(sqlite_url, embedder=None).close()
    path = tmp_path / "memory.db"
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO longmind_schema VALUES (9999, 'future')")
    connection.close()
    code, found = examined(
        sqlite_url, LONGMIND_JWT_ALGORITHM="HS256", LONGMIND_JWT_SECRET="short", LONGMIND_TRACING="otlp"
    )
    assert code == 1
    assert "9999" in found["migrations"]["says"]
    assert "Upgrade" in found["migrations"]["todo"]
    for name in ("web tokens", "tracing"):
        assert found[name]["state"] == "trouble"
        assert found[name]["todo"]

    os.chmod(path, 0o644)
    assert "chmod 600" in examined(sqlite_url)[1]["rights"]["todo"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://nobody@127.0.0.1:9/none", "cannot be reached"),
        ("mysql://somewhere", "not a known kind of database URL"),
        ("sqlite:///{}/text.db", "not a SQLite database"),
    ],
)
def test_a_database_that_cannot_be_used_is_trouble(tmp_path: Path, url: str, words: str, examined: Examined) -> None:
    (tmp_path / "text.db").write_text("This is a letter, and no database. " * 100)

    code, found = examined(url.format(tmp_path))

    assert code == 1
    assert words in found["database"]["says"]
    assert found["database"]["todo"]
    assert "migrations" not in found


def test_a_setting_that_cannot_be_is_trouble(sqlite_url: str, examined: Examined) -> None:
    code, found = examined(sqlite_url, LONGMIND_POOL_SIZE="many")

    assert code == 1
    assert "LONGMIND_POOL_SIZE" in found["settings"]["says"]


@pytest.mark.parametrize(
    ("extractor", "says"),
    [
        ("llm", "Unknown extractor 'llm'."),
        ("openai:gpt-5-mini", "Unknown extractor 'openai:gpt-5-mini'."),
        ("model:openai:", "'openai:' is not a valid name of a model."),
        ("model:openai:gpt-5-mini", "OPENAI_API_KEY is not set"),
    ],
)
def test_an_extractor_that_cannot_be_opened_is_trouble(
    sqlite_url: str, examined: Examined, monkeypatch: pytest.MonkeyPatch, extractor: str, says: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    code, found = examined(sqlite_url, LONGMIND_EXTRACTOR=extractor)
    assert (code, found["extractor"]["state"]) == (1, "trouble")
    assert says in found["extractor"]["says"]
    assert found["extractor"]["todo"]
