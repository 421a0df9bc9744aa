"""Several memories of one process over one database share one engine, and each process goes on by itself."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import longmind
from harness.crew import Line, run_together, wait_until
from longmind.front_door.shared_engines import ENGINES
from tests.embedder import WordsEmbedder


def test_memories_of_one_database_share_an_engine_until_the_last_is_closed(database_url: str) -> None:
    ada = longmind.Memory("ada", url=database_url, embedder=None)
    bob = longmind.Memory("bob", url=database_url, embedder=None)
    engine = ada.engine
    assert bob.engine is engine
    ada.close()
    assert bob.add("I live in Graz.").learned
    bob.close()
    with pytest.raises(longmind.EngineClosed):
        engine.last_cursor()
    # Closing again neither fails nor counts twice.
    ada.close()
    bob.close()
    with longmind.Memory("ada", url=database_url, embedder=None) as again:
        assert again.engine is not engine


def test_a_path_is_a_url_and_one_file_one_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        longmind.Memory("ada", url=tmp_path / "memory.db", embedder=None) as by_path,
        longmind.Memory("ada", url=f"sqlite:///{tmp_path}/memory.db", embedder=None) as by_url,
        longmind.Memory("ada", url=Path("memory.db"), embedder=None) as relative,
    ):
        assert by_path.engine is by_url.engine is relative.engine
    assert (tmp_path / "memory.db").is_file()


def test_other_choices_have_engines_of_their_own(sqlite_url: str) -> None:
    embedder = WordsEmbedder()
    with (
        longmind.Memory("ada", url=sqlite_url, embedder=None) as words,
        longmind.Memory("ada", url=sqlite_url, embedder=embedder) as meaning,
        longmind.Memory("bob", url=sqlite_url, embedder=embedder) as same,
        longmind.Memory("ada", url=sqlite_url, embedder=None, model="none") as unread,
    ):
        assert len({id(each.engine) for each in (words, meaning, unread)}) == 3
        assert meaning.engine is same.engine
        words.add("I live in Graz.")
        assert [fact.text for fact in meaning.facts()] == ["User lives in Graz."]
        added = unread.add("I live in Linz.")
        assert (added.pending, added.learned) == (True, [])


def test_a_database_in_memory_belongs_to_one_memory() -> None:
    url = "sqlite:///:memory:"
    with (
        longmind.Memory("ada", url=url, embedder=None) as one,
        longmind.Memory("ada", url=url, embedder=None) as other,
    ):
        one.add("I live in Graz.")
        assert (len(one.facts()), len(other.facts())) == (1, 0)


def test_a_memory_that_cannot_be_opened_holds_nothing(sqlite_url: str) -> None:
    held = len(ENGINES._all)
    with pytest.raises(longmind.NotFound):
        longmind.Memory("ada", url=sqlite_url, embedder=None, space="ms_none")
    with pytest.raises(longmind.InvalidIdentity):
        longmind.Memory("ada", url=sqlite_url, embedder=None, tenant="*")
    assert len(ENGINES._all) == held


def test_threads_open_use_and_close_at_once(database_url: str) -> None:
    def live(number: int) -> int:
        with longmind.Memory(f"user-{number % 3}", url=database_url, embedder=None) as memory:
            memory.add(f"My number is {number}.", wait=number % 2 == 0)
            memory.search("number")
            return len(memory.ctx.conversations.list_conversations())

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(live, range(12)))
    for user in range(3):
        with longmind.Memory(f"user-{user}", url=database_url, embedder=None) as memory:
            assert len(memory.ctx.conversations.list_conversations()) == 4
            assert len(memory.ctx.memory.list_memory_spaces()) == 1


def test_threads_of_one_memory_add_at_once_and_nothing_is_lost(memory: longmind.Memory) -> None:
    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(lambda number: memory.add(f"My friend Bob{number} lives in Graz."), range(8)))
    assert len({each.conversation_id for each in added}) == 8
    assert len(memory.ctx.conversations.list_conversations()) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_child_goes_on_with_a_worker_of_its_own(memory: longmind.Memory) -> None:
    memory.add("I live in Graz.")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"failed"
        try:
            found = memory.add("I live in Linz.").replaced[0].fact.text
            memory.add("I like tea.", wait=False)
            wait_until(lambda: not memory.ctx.jobs.list_jobs(status="queued", kind="memory.extract"), 30)
            said = found.encode()
        finally:
            os.write(write, said)
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"User lives in Graz."
    os.waitpid(child, 0)
    assert [fact.text for fact in memory.history("home")] == ["User lives in Graz.", "User lives in Linz."]
    assert memory.add("I live in Wels.").learned


def remember(line: Line, url: str, number: int) -> tuple[str, list[str]]:
    with longmind.Memory("ada", url=url, embedder=None) as memory:
        line.wait_for_others()
        added = memory.add(f"My friend Bob{number} lives in Graz.")
        return memory.space.id, [fact.text for fact in added]


def test_processes_share_one_memory(database_url: str) -> None:
    results = run_together(remember, [(database_url, number) for number in range(3)])
    assert len({space for space, _ in results}) == 1
    with longmind.Memory("ada", url=database_url, embedder=None) as memory:
        assert {text for _, texts in results for text in texts} == {fact.text for fact in memory.facts()}
        assert len(memory.ctx.memory.list_bindings()) == 1


def test_leaving_the_block_closes_it_and_says_so(database_url: str) -> None:
    with longmind.Memory("ada", url=database_url, embedder=None) as memory:
        memory.add("I live in Graz.")
    assert repr(memory).endswith(", closed)")
    for use in (
        lambda: memory.add("Hello."),
        lambda: memory.search("Hello."),
        lambda: memory.context(),
        lambda: memory.facts(),
        lambda: memory.profile(),
        lambda: memory.history("home"),
        lambda: memory.get("atom_1"),
        lambda: memory.update("atom_1", "No."),
        lambda: memory.forget("atom_1"),
        lambda: memory.export(),
        lambda: memory.erase(),
        lambda: memory.tools(),
        lambda: memory.run_tool({}),
        lambda: memory.flush(),
        lambda: memory.ctx,
        lambda: memory.engine,
        lambda: memory.space,
        lambda: memory.__enter__(),
    ):
        with pytest.raises(longmind.EngineClosed, match="This memory is closed"):
            use()


def test_a_representation_shows_no_password(postgres_url: str) -> None:
    from longmind.front_door.shared_engines import _describe

    assert (
        _describe("postgresql://ada:secret@db.example:5432/memory?sslmode=require") == "postgresql://db.example/memory"
    )
    with longmind.Memory("ada", url=postgres_url, embedder=None) as memory:
        assert "postgres@" not in repr(memory)
