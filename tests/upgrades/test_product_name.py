"""The former name of the product in databases of version 0.2: its renaming, and processes of 0.2 that still run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import psycopg
import pytest

import longmind
from longmind.settings import load_settings
from prove.upgrades.checks import open_now
from prove.upgrades.recorder import VERSIONS, check_out, dump, is_here, package_in
from prove.upgrades.recordings import RecordedDatabase, list_applied, path_of
from prove.upgrades.sample_data import APP, TENANT

FORMER = "v0.2.0"


@pytest.fixture(params=["sqlite", "postgresql"])
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(request: pytest.FixtureRequest, engine_name: str) -> str:
    return str(request.getfixturevalue("sqlite_url" if engine_name == "sqlite" else "postgres_url"))


def test_nothing_in_an_upgraded_database_carries_the_former_name(engine_name: str, url: str) -> None:
    RecordedDatabase(FORMER, engine_name).put_into(url)
    open_now(url).close()
    if engine_name == "sqlite":
        connection = apsw.Connection(path_of(url), flags=apsw.SQLITE_OPEN_READONLY)
        objects = str(connection.execute("SELECT * FROM sqlite_schema").fetchall())
        connection.close()
    else:
        # Rows are left out: an audit line quotes the names that tables had when it was written, and is signed.
        objects = re.sub(r"^INSERT .*$", "", dump(url, "longmind").decode(), flags=re.MULTILINE)
    assert "longmind" in objects
    assert "recollect" not in objects.lower()


def test_a_postgres_database_whose_schema_was_dropped_begins_empty(postgres_url: str) -> None:
    RecordedDatabase(FORMER, "postgresql").put_into(postgres_url)
    open_now(postgres_url).close()
    upgraded = list_applied(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP SCHEMA longmind CASCADE")
    with open_now(postgres_url) as engine:
        ctx = engine.context(tenant_id=TENANT, app_id=APP, user_id="ada")
        assert list(ctx.conversations.list_conversations()) == []
    assert list_applied(postgres_url) == upgraded


STILL_RUNNING = """
import importlib, sys
version = importlib.import_module(sys.argv[2])

def attempt(what):
    try:
        print(what() or "done", flush=True)
    except version.LongmindError if hasattr(version, "LongmindError") else version.RecollectError as error:
        print(type(error).__name__, flush=True)

with version.open(sys.argv[1], embedder=None) as engine:
    talks = engine.context(tenant_id=sys.argv[3], app_id=sys.argv[4], user_id="ada").conversations
    talk = talks.create_conversation("rolling")
    for text in ("before", "after"):
        attempt(lambda: talks.append_user_message(talk.id, text) and None)
        if text == "before":
            sys.stdin.readline()
attempt(lambda: version.open(sys.argv[1], embedder=None).close())
"""


@contextmanager
def process_of_former_version(url: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    if not is_here(VERSIONS[FORMER]):
        pytest.skip("the history is not here")
    code = check_out(VERSIONS[FORMER], folder)
    with subprocess.Popen(
        [sys.executable, "-c", STILL_RUNNING, url, package_in(code), TENANT, APP],
        env={**os.environ, "PYTHONPATH": str(code)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_process_of_the_former_version_that_still_runs_does_no_harm(
    engine_name: str, url: str, tmp_path: Path
) -> None:
    RecordedDatabase(FORMER, engine_name).put_into(url)
    with process_of_former_version(url, tmp_path / "former") as former:
        assert former.stdout is not None
        assert former.stdin is not None
        assert former.stdout.readline() == "done\n"
        with open_now(url) as engine:
            ctx = engine.context(tenant_id=TENANT, app_id=APP, user_id="ada")
            talk = next(each for each in ctx.conversations.list_conversations() if each.namespace == "rolling")
            ctx.conversations.append_user_message(talk.id, "between")
            former.stdin.write("go on\n")
            former.stdin.flush()
            appended, opened = former.stdout.readline().strip(), former.stdout.readline().strip()
            texts = [message.text for message in ctx.conversations.get_messages(talk.id)]
            engine.check_database()
    if engine_name == "sqlite":
        # The tables have kept their names and their shape, so that what is open goes on.
        assert (appended, opened) == ("done", "NotADatabase")
        assert texts == ["before", "between", "after"]
    else:
        assert (appended, opened) == ("StoreError", "SchemaTooNew")
        assert texts == ["before", "between"]


def test_the_default_file_of_the_former_version_is_used_until_there_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    former = tmp_path / ".recollect" / "recollect.db"
    former.parent.mkdir()
    RecordedDatabase(FORMER, "sqlite").put_into(f"sqlite:///{former}")
    (former.parent / "models").mkdir()
    settings = load_settings({}, {})
    assert settings.url == f"sqlite:///{former}"
    assert settings.models_folder == str(former.parent / "models")
    with open_now(settings.url) as engine:
        assert list(engine.context(tenant_id=TENANT, app_id=APP, user_id="ada").conversations.list_conversations())
    present = tmp_path / ".longmind" / "longmind.db"
    longmind.open(f"sqlite:///{present}", embedder=None).close()
    assert load_settings({}, {}).url == f"sqlite:///{present}"


def test_a_process_of_the_former_version_makes_no_memory_next_to_the_renamed_one(postgres_url: str) -> None:
    RecordedDatabase(FORMER, "postgresql").put_into(postgres_url)
    open_now(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT max(version) FROM recollect.recollect_schema").fetchone()
    assert found is not None
    assert found[0] > max(list_applied(postgres_url))


def test_an_export_with_the_former_format_name_is_taken(sqlite_url: str) -> None:
    export = RecordedDatabase(FORMER, "sqlite").manifest["users"]["ada"]["export"]
    assert export["format"] == "recollect.user"
    with longmind.open(sqlite_url, embedder=None) as engine:
        admin = engine.context(tenant_id=TENANT, app_id=APP, user_id="root", capabilities={"admin"}).admin
        admin.import_user_data(export, "ada")
        exported = admin.export_user_data("ada")
    assert exported["format"] == "longmind.user"
    assert exported["conversations"] == export["conversations"]
