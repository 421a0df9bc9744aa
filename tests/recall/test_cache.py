"""What is kept in memory is a cache of the database: bounded, current, and never a source of truth."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import longmind
from harness.alarms import is_interrupted
from longmind.memory import Memory
from longmind.recall.index.cache import IndexCache
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of

SPACES = 12
ATOMS = 300
SMALL = 0.5
"""Megabytes: room for a few of the spaces."""


@pytest.fixture
def small(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=WordsEmbedder(dimension=256), cache_megabytes=SMALL) as engine:
        yield engine


def cache_of(engine: longmind.Engine) -> IndexCache:
    return engine._parts.retriever.indexes


def fill(memory: Memory) -> list[str]:
    spaces = [memory.create_memory_space(f"space {number}").id for number in range(SPACES)]
    for number, space_id in enumerate(spaces):
        texts = [f"word{place} of space{number}" for place in range(ATOMS)]
        memory.add_atoms(space_id, [fact(text) for text in texts])
    return spaces


def check(memory: Memory, spaces: list[str], number: int) -> None:
    found = memory.recall_by_topic(spaces[number], f"word{number} of space{number}", limit=3)
    assert texts_of(found)[0] == f"word{number} of space{number}"
    assert found.total_candidates == ATOMS


def test_threads_that_are_the_first_to_use_memory_share_one_cache(small: longmind.Engine) -> None:
    together = threading.Barrier(8, timeout=60)

    def first_use() -> IndexCache:
        together.wait()
        return cache_of(small)

    with ThreadPoolExecutor(8) as threads:
        caches = [call.result() for call in [threads.submit(first_use) for _ in range(8)]]
    assert len({id(cache) for cache in caches}) == 1


def test_the_cache_stays_within_its_limit_and_recall_stays_right(small: longmind.Engine) -> None:
    memory = memory_of(small)
    spaces = fill(memory)
    check(memory, spaces, 0)
    one_space = cache_of(small).nbytes
    assert one_space > 256 * ATOMS
    most = 0
    for _ in range(2):
        for number in range(SPACES):
            check(memory, spaces, number)
            most = max(most, cache_of(small).nbytes)
    assert one_space * SPACES > 2 * SMALL * 1024 * 1024
    assert most <= SMALL * 1024 * 1024 + one_space
    # It is used, too: more than one space is kept.
    assert most > one_space


def test_spaces_that_hold_little_take_room_too(database_url: str) -> None:
    with longmind.open(database_url, embedder=None, cache_megabytes=0.1) as engine:
        memory = memory_of(engine)
        for number in range(40):
            memory.recall_by_topic(memory.create_memory_space(f"space {number}").id, "tea")
        assert 0 < len(cache_of(engine)._entries) < 20
        assert cache_of(engine).nbytes <= 0.1 * 1024 * 1024
        # So do names, which are not in any column.
        tagged, plain = (memory.create_memory_space(name).id for name in ("tagged", "plain"))
        memory.add_atoms(plain, [fact("tea") for _ in range(100)])
        memory.add_atoms(tagged, [fact("tea", tags=[f"{a} {b}" for b in range(50)]) for a in range(100)])
        sizes = []
        for space_id in (plain, tagged):
            memory.recall_by_topic(space_id, "tea")
            sizes.append(next(reversed(cache_of(engine)._entries.values())).nbytes)
        assert sizes[1] - sizes[0] > 100 * 50 * 300


def test_threads_that_push_out_each_others_spaces_get_right_answers(small: longmind.Engine) -> None:
    memory = memory_of(small)
    spaces = fill(memory)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda turn: check(memory, spaces, turn * 5 % SPACES), range(90)))


def test_a_space_larger_than_the_whole_cache_is_searched_all_the_same(database_url: str) -> None:
    with longmind.open(database_url, embedder=WordsEmbedder(), cache_megabytes=0.001) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact(f"word{place}") for place in range(500)])
        for place in (0, 250, 499):
            assert texts_of(memory.recall_by_topic(space_id, f"word{place}", limit=1)) == [f"word{place}"]


def test_a_space_that_was_pushed_out_comes_back_with_what_was_written_meanwhile(
    small: longmind.Engine, database_url: str
) -> None:
    memory = memory_of(small)
    spaces = fill(memory)
    check(memory, spaces, 0)
    with longmind.open(database_url, embedder=WordsEmbedder(dimension=256)) as other:
        memory_of(other).add_atom(spaces[0], fact("zebra"))
    for number in range(1, SPACES):
        check(memory, spaces, number)
    assert texts_of(memory.recall_by_topic(spaces[0], "zebra", limit=1)) == ["zebra"]


def test_a_deleted_space_is_searched_no_more_by_any_engine(
    engine: longmind.Engine, memory: Memory, space_id: str, database_url: str
) -> None:
    atom = memory.add_atom(space_id, fact("tea"))
    with longmind.open(database_url, embedder=WordsEmbedder()) as other:
        for each in (memory, memory_of(other)):
            assert texts_of(each.recall_by_topic(space_id, "tea")) == ["tea"]
        memory_of(other).delete_memory_space(space_id)
        for each in (memory, memory_of(other)):
            for recall in (each.recall_by_topic, each.recall_by_entity):
                with pytest.raises(longmind.NotFound):
                    recall(space_id, "tea")
            with pytest.raises(longmind.NotFound):
                each.recall_timeline(space_id)
            with pytest.raises(longmind.NotFound):
                each.why_not(atom.id, "tea")
        assert cache_of(engine).nbytes == 0
        # A new space of the same name is a new space.
        again = memory.create_memory_space("main").id
        assert again != space_id
        assert memory.recall_by_topic(again, "tea").hits == []


def test_asking_for_spaces_that_do_not_exist_leaves_nothing_behind(engine: longmind.Engine, memory: Memory) -> None:
    for number in range(50):
        with pytest.raises(longmind.NotFound):
            memory.recall_by_topic(f"ms_{number}", "tea")
    assert len(cache_of(engine)._entries) == 0


class OneByOne:
    """An index that takes in one thing after the other."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self.loaded = False
        self.nbytes = 0

    def fill(self, things: Iterable[str]) -> bool:
        self.held = []
        for thing in things:
            self.held.append(thing)
        self.loaded = True
        return True


def test_who_waits_for_an_index_does_not_get_what_a_refresh_that_failed_has_left_of_it() -> None:
    scope, cache = longmind.Scope("acme", "support", "ada"), IndexCache(1)

    def look(index: OneByOne) -> bool:
        return index.fill(["one", "two"])

    def failing(index: OneByOne) -> bool:
        def things() -> Iterator[str]:
            yield "one"
            raise OSError("the database is gone")

        return index.fill(things())

    with cache.current(scope, "space", OneByOne, look):
        waiting = cache.current(scope, "space", OneByOne, look, fresh=False)
    with pytest.raises(OSError, match="gone"), cache.current(scope, "space", OneByOne, failing):
        pass
    with waiting as index:
        assert index.held == ["one", "two"]
    with cache.current(scope, "space", OneByOne, look, fresh=False) as index:
        assert index.held == ["one", "two"]


@pytest.mark.timeout(method="thread")  # the alarm is taken
def test_an_interrupt_keeps_no_index_from_others() -> None:
    scope, cache = longmind.Scope("acme", "support", "ada"), IndexCache(1)

    def take_it() -> None:
        with cache.current(scope, "space", OneByOne, lambda index: index.fill(["one"]), fresh=False):
            pass

    def take_it_for_ever() -> None:
        while True:
            take_it()

    for _ in range(500):
        assert is_interrupted(take_it_for_ever, first=0.0005, again=10)
        other = threading.Thread(target=take_it, daemon=True)
        other.start()
        other.join(60)
        assert not other.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_recalls_what_is_there_and_what_comes(
    engine: longmind.Engine, memory: Memory, space_id: str
) -> None:
    memory.add_atom(space_id, fact("tea"))
    assert texts_of(memory.recall_by_topic(space_id, "tea")) == ["tea"]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = texts_of(memory.recall_by_topic(space_id, "tea"))
            memory.add_atom(space_id, fact("tea of the child"))
            found += sorted(texts_of(memory.recall_by_topic(space_id, "tea")))
            os.write(writing, "|".join(found).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        with os.fdopen(reading) as answer:
            assert answer.read() == "tea|tea|tea of the child"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert sorted(texts_of(memory.recall_by_topic(space_id, "tea"))) == ["tea", "tea of the child"]


def test_a_damaged_index_is_an_error_that_says_what_to_do(
    engine: longmind.Engine, ctx: longmind.Context, space_id: str, database_url: str
) -> None:
    ctx.memory.add_atom(space_id, fact("tea"))
    engine._database.write(
        ctx.scope,
        lambda run: run.send("put_term_segment", space_id=space_id, first=0, atoms=1, body=b"WRDS" + b"\x01" * 40),
    )
    with longmind.open(database_url, embedder=WordsEmbedder()) as other:
        theirs = memory_of(other)
        with pytest.raises(longmind.StoreError, match="damaged") as damaged:
            theirs.recall_by_topic(space_id, "tea")
    assert "backup" in damaged.value.hint
