"""Backups of either engine: one file, made while others write, and the way back, all or nothing."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import apsw
import pytest

import longmind
from tests.admin.test_copying import contents, filled
from tests.cli.command_calls import Call, caller
from tests.embedder import WordsEmbedder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], database_url: str, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("LONGMIND_URL", database_url)
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    return caller(capsys)


@pytest.fixture
def other_url(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> str:
    """An empty database of the same engine."""
    if database_url.startswith("sqlite"):
        return f"sqlite:///{tmp_path}/other.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


def add_fact(url: str, text: str) -> None:
    with longmind.open(url, embedder=None) as engine:
        memory = engine.context(tenant_id="local", app_id="ipc", user_id="default").memory
        memory.add_atom(memory.open_default_space().id, {"text": text, "category": {"name": "note", "kind": "FACT"}})


def read_facts(url: str) -> list[str]:
    with longmind.open(url, embedder=None) as engine:
        memory = engine.context(tenant_id="local", app_id="ipc", user_id="default").memory
        found = [atom.text for space in memory.list_memory_spaces() for atom in memory.list_atoms(space.id, limit=100)]
    return sorted(found)


def test_what_was_saved_is_restored_byte_for_byte(
    call: Call, database_url: str, other_url: str, tmp_path: Path
) -> None:
    before = filled(database_url)
    file = tmp_path / "saved.db"
    saved = call("backup", str(file), "--json").json
    assert saved["rows"]["conversations"] >= 1
    assert saved["bytes"] == file.stat().st_size
    assert file.stat().st_mode & 0o077 == 0
    assert [each.name for each in tmp_path.iterdir() if "saved" in each.name or "unfinished" in each.name] == [
        "saved.db"
    ]
    restored = call("restore", str(file), "--url", other_url, "--json").json
    assert restored["rows"] == saved["rows"]
    assert contents(other_url) == before == contents(database_url)
    with longmind.open(other_url, embedder=WordsEmbedder()) as engine:
        # The ledger goes on after its last place.
        last = engine.last_cursor()
        engine.context(tenant_id="t", app_id="a", user_id="u").conversations.create_conversation("chat")
        assert engine.last_cursor() > last


def test_a_backup_has_one_instant_while_others_write(
    call: Call, database_url: str, other_url: str, tmp_path: Path
) -> None:
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        with longmind.open(database_url, embedder=None) as engine:
            memory = engine.context(tenant_id="local", app_id="ipc", user_id="default").memory
            space = memory.open_default_space()
            while not stop.is_set():
                # Both or neither.
                batch = [f"Fact {len(written)}{half}." for half in "ab"]
                memory.add_atoms(space.id, [{"text": it, "category": {"name": "x", "kind": "FACT"}} for it in batch])
                written.append(1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(written) < 5:
            assert writer.is_alive()
        for number in range(3):
            assert call("backup", str(tmp_path / f"{number}.db")).code == 0
    finally:
        stop.set()
        writer.join()
    assert call("restore", str(tmp_path / "2.db"), "--url", other_url).code == 0
    found = read_facts(other_url)
    assert 10 <= len(found) <= 100
    assert len(found) % 2 == 0 or len(found) == 100


def test_a_database_with_memory_is_replaced_only_if_told_to(call: Call, database_url: str, tmp_path: Path) -> None:
    file = str(tmp_path / "saved.db")
    add_fact(database_url, "Ada has a cat.")
    assert "Saved 1 fact, " in call("backup", file).out
    add_fact(database_url, "Ada has a dog.")
    refused = call("restore", file)
    assert (refused.code, "The database is not empty" in refused.err, "--replace" in refused.err) == (1, True, True)
    assert read_facts(database_url) == ["Ada has a cat.", "Ada has a dog."]
    unconfirmed = call("restore", file, "--replace")
    assert (unconfirmed.code, "--yes" in unconfirmed.err) == (1, True)
    told = call("restore", file, "--replace", "--yes", "--verbose")
    assert told.out.splitlines()[-1].startswith("Restored 1 fact, ")
    assert "atoms" in told.out
    assert read_facts(database_url) == ["Ada has a cat."]


def test_a_restore_that_fails_changes_nothing(
    call: Call, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "saved.db")
    add_fact(database_url, "Ada has a cat.")
    call("backup", file)
    add_fact(database_url, "Ada has a dog.")

    def differ(*_: object) -> object:
        raise longmind.errors.StoreError("The disk lies.")

    monkeypatch.setattr("longmind.store.whole_tables.backup.digest_table", differ)
    failed = call("restore", file, "--replace", "--yes")
    assert (failed.code, "The disk lies." in failed.err) == (1, True)
    monkeypatch.undo()
    assert read_facts(database_url) == ["Ada has a cat.", "Ada has a dog."]


def test_a_file_that_is_no_backup_is_refused_before_anything_is_changed(
    call: Call, database_url: str, tmp_path: Path
) -> None:
    add_fact(database_url, "Ada has a cat.")
    saved = tmp_path / "saved.db"
    call("backup", str(saved))
    assert "exists already" in call("backup", str(saved)).err
    assert "There is no folder" in call("backup", str(tmp_path / "nowhere" / "saved.db")).err
    cut, text, foreign, newer = (tmp_path / name for name in ("cut.db", "text.db", "foreign.db", "newer.db"))
    cut.write_bytes(saved.read_bytes()[: saved.stat().st_size // 2])
    text.write_text("This is a letter. " * 100)
    apsw.Connection(str(foreign)).execute("CREATE TABLE other (x)")
    newer.write_bytes(saved.read_bytes())
    apsw.Connection(str(newer)).execute("INSERT INTO longmind_schema VALUES (9999, 'newer')")
    for file, said in (
        (cut, "damaged"),
        (text, "is not a SQLite database"),
        (foreign, "is no backup"),
        (newer, "has schema version 9999"),
    ):
        refused = call("restore", str(file), "--replace", "--yes")
        assert (refused.code, said in refused.err) == (1, True), refused.err
    assert read_facts(database_url) == ["Ada has a cat."]


def test_a_database_is_not_restored_into_itself(capsys: pytest.CaptureFixture[str], sqlite_url: str) -> None:
    add_fact(sqlite_url, "Ada has a cat.")
    refused = caller(capsys)(
        "restore", sqlite_url.removeprefix("sqlite:///"), "--url", sqlite_url, "--replace", "--yes"
    )
    assert (refused.code, "is the database itself" in refused.err) == (1, True)
    assert read_facts(sqlite_url) == ["Ada has a cat."]


def test_a_copy_an_import_and_an_erasure_say_what_people_understand(
    call: Call, database_url: str, tmp_path: Path
) -> None:
    add_fact(database_url, "Ada has a cat.")
    plain = call("copy", "--from", database_url, "--to", f"sqlite:///{tmp_path}/copy.db").out
    assert plain.startswith("Both databases hold the same 1 fact, ")
    assert "term_segments" not in plain
    verbose = call("copy", "--from", database_url, "--to", f"sqlite:///{tmp_path}/again.db", "--verbose").out
    assert "term_segments" in verbose
    assert "SHA 256 of both" in verbose
    exported = tmp_path / "default.json"
    assert call("export", "--user", "default", "--output", str(exported)).code == 0
    assert json.loads(exported.read_text())["atoms"]
    erased = call("erase", "--user", "default", "--yes").out
    assert erased.startswith("Erased 1 fact, ")
    assert call("import", str(exported), "--user", "default").out.startswith("Imported 1 fact, ")
    assert call("erase", "--user", "nobody", "--yes").out.startswith("This user had no data.")
