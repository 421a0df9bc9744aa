"""A whole database copied into another, of either engine: online, after a kill, and compared in the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import longmind
from harness.crew import Line, start_process
from longmind.change_feed import ChangeFeed
from longmind.cli import main
from longmind.settings import load_settings
from longmind.store.database_url import open_database
from longmind.store.whole_tables.copy import CopiedTable, copy_database
from tests.admin.conftest import bytes_of, live, of
from tests.embedder import WordsEmbedder


@pytest.fixture
def target_url(request: pytest.FixtureRequest, database_url: str) -> str:
    """An empty database of the other engine."""
    url: str = request.getfixturevalue("postgres_url" if database_url.startswith("sqlite") else "sqlite_url")
    return url


def copied(
    source: str, target: str, progress: Callable[[str, int, int], None] = lambda *_: None
) -> dict[str, CopiedTable]:
    here, there = (open_database(load_settings({"url": url}), ChangeFeed()) for url in (source, target))
    try:
        return copy_database(here, there, source, progress)
    finally:
        here.close()
        there.close()


def filled(url: str, users: int = 2) -> list[str]:
    with longmind.open(url, embedder=WordsEmbedder()) as engine:
        contexts = [of(engine, f"user-{number}") for number in range(users)]
        for context in contexts:
            live(context)
        engine.work()
        contexts[0].admin.delete_user_data(confirm=True)
        return [bytes_of(context) for context in contexts]


def contents(url: str, users: int = 2) -> list[str]:
    with longmind.open(url, embedder=WordsEmbedder()) as engine:
        return [bytes_of(of(engine, f"user-{number}")) for number in range(users)]


@pytest.mark.patient
def test_a_copy_in_the_other_engine_is_the_same_and_can_be_used(database_url: str, target_url: str) -> None:
    before = filled(database_url)
    report = copied(database_url, target_url)
    assert report["events"].rows == report["events"].written > 10
    # Which columns a table has, and in which order, differs between the engines; what is in them does not.
    assert [json.loads(each)["atoms"] for each in contents(target_url)] == [
        json.loads(each)["atoms"] for each in before
    ]
    with longmind.open(target_url, embedder=WordsEmbedder()) as engine:
        user = of(engine, "user-1")
        (space,) = [each for each in user.memory.list_memory_spaces() if each.name == "daily"]
        assert user.memory.recall_by_topic(space.id, "cat").hits[0].atom.text == "user-1 has a cat."
        # The ledger goes on after its last place.
        last = engine.last_cursor()
        user.conversations.create_conversation("chat")
        assert engine.last_cursor() > last


def test_a_copy_there_and_back_is_byte_for_byte_what_it_was(sqlite_url: str, postgres_url: str, tmp_path: Path) -> None:
    before = filled(sqlite_url)
    there = copied(sqlite_url, postgres_url)
    back = copied(postgres_url, f"sqlite:///{tmp_path}/back.db")
    assert {name: each.sha256 for name, each in back.items()} == {name: each.sha256 for name, each in there.items()}
    assert contents(f"sqlite:///{tmp_path}/back.db") == before


@pytest.mark.patient
def test_a_database_that_is_not_empty_is_not_copied_into(
    database_url: str, target_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(database_url)
    with pytest.raises(SystemExit, match="0"):
        main(["copy", "--from", database_url, "--to", target_url, "--json"])
    assert json.loads(capsys.readouterr().out)["conversations"]["rows"] == 1
    for source, words in ((database_url, "not empty"), (target_url, "same database")):
        with pytest.raises(SystemExit, match="1"):
            main(["copy", "--from", source, "--to", target_url])
        assert words in capsys.readouterr().err


def copy_slowly(line: Line, source: str, target: str) -> None:
    def progress(table: str, done: int, total: int) -> None:
        if table == "atoms":
            line.say(done)
            line.hear()

    copied(source, target, progress)


@pytest.mark.patient
def test_a_copy_that_was_killed_goes_on_and_the_source_may_be_used_meanwhile(
    database_url: str, target_url: str
) -> None:
    with longmind.open(database_url, embedder="none") as engine:
        user = of(engine, "user-1")
        live(user)
        space = user.memory.create_memory_space("numbers")
        number: dict[str, Any] = {"category": {"name": "numbers", "kind": "FACT"}}
        user.memory.add_atoms(space.id, [{"text": f"Number {each}.", **number} for each in range(600)])
        with start_process(copy_slowly, database_url, target_url) as copying:
            assert copying.hear() == 500
            # In the middle of a table, and somebody goes on writing.
            user.memory.add_atom(space.id, {"text": "While it was copied.", **number})
            live(of(engine, "user-0"))
            copying.kill()
        before = [bytes_of(of(engine, f"user-{number}")) for number in range(2)]
        report = copied(database_url, target_url)
        # What was there already was passed over.
        assert 0 < report["atoms"].written < 600
    assert [json.loads(each)["atoms"] for each in contents(target_url)] == [
        json.loads(each)["atoms"] for each in before
    ]
    assert [json.loads(each)["blocks"] for each in contents(target_url)] == [
        json.loads(each)["blocks"] for each in before
    ]
