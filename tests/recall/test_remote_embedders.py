"""Embedders behind an API, by the name of their vendor."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import longmind
from longmind.memory import Memory
from longmind.providers.pydantic_ai.embedder import RemoteEmbedder
from tests.recall.facts import fact, memory_of, texts_of
from tests.vendor.server import Vendor

NAME = "openai:text-embedding-3-small"


@pytest.fixture
def engine(database_url: str, vendor: Vendor) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=NAME) as engine:
        yield engine


@pytest.mark.patient
def test_atoms_are_embedded_in_batches_and_found(memory: Memory, space_id: str, vendor: Vendor) -> None:
    memory.add_atoms(space_id, [fact(f"the tea is number{number}") for number in range(600)])
    sizes = [len(batch) for batch in vendor.batches if batch != ["dimension"]]
    assert sum(sizes) == 600
    assert max(sizes) <= 256
    found = memory.recall_by_topic(space_id, "number77", explain=True)
    assert texts_of(found)[0] == "the tea is number77"
    assert vendor.batches[-1] == ["number77"]
    best = found.hits[0].explanation
    assert best is not None
    assert best.dense is not None


@pytest.mark.patient
@pytest.mark.parametrize("trouble", ["500", "429", "too short", "too few", "not a vector", "no json"])
def test_trouble_with_the_vendor_is_an_error_of_ours_and_nothing_is_written(
    engine: longmind.Engine, memory: Memory, space_id: str, vendor: Vendor, trouble: str
) -> None:
    memory.add_atom(space_id, fact("tea"))
    cursor = engine.last_cursor()
    vendor.trouble = {-1: trouble}
    with pytest.raises(longmind.EmbedderFailed) as failed:
        memory.add_atoms(space_id, [fact("one"), fact("two")])
    assert failed.value.status == 502
    assert failed.value.hint
    if trouble != "too few":
        with pytest.raises(longmind.EmbedderFailed):
            memory.recall_by_topic(space_id, "tea")
    vendor.trouble = {}
    assert engine.last_cursor() == cursor
    assert texts_of(memory.recall_by_topic(space_id, "one two")) == ["tea"]


@pytest.mark.patient
def test_trouble_in_a_later_batch_leaves_nothing_of_the_first(memory: Memory, space_id: str, vendor: Vendor) -> None:
    memory.add_atom(space_id, fact("tea"))
    vendor.batches.clear()
    vendor.trouble = dict.fromkeys(range(2, 10), "500")
    with pytest.raises(longmind.EmbedderFailed):
        memory.add_atoms(space_id, [fact(f"number{number}") for number in range(600)])
    assert len(vendor.batches[0]) == 256
    assert len(list(memory.list_atoms(space_id))) == 1


@pytest.mark.patient
def test_trouble_with_the_very_first_request_is_the_same_error(memory: Memory, space_id: str, vendor: Vendor) -> None:
    """The dimension is asked for once, after the first texts: that can fail as well."""
    vendor.trouble = dict.fromkeys(range(2, 10), "500")
    with pytest.raises(longmind.EmbedderFailed):
        memory.add_atom(space_id, fact("tea"))
    vendor.trouble = {}
    memory.add_atom(space_id, fact("tea"))
    assert texts_of(memory.recall_by_topic(space_id, "tea")) == ["tea"]


def test_threads_may_share_it(memory: Memory, space_id: str) -> None:
    memory.add_atoms(space_id, [fact(f"number{number}") for number in range(20)])

    def ask(number: int) -> str:
        return texts_of(memory.recall_by_topic(space_id, f"number{number % 20}"))[0]

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(ask, range(60))) == [f"number{number % 20}" for number in range(60)]


def test_it_works_where_an_event_loop_is_running(memory: Memory, space_id: str) -> None:
    """As in a notebook, or in a coroutine that makes a call without awaiting."""

    async def use() -> list[str]:
        memory.add_atom(space_id, fact("tea"))
        return texts_of(memory.recall_by_topic(space_id, "tea"))

    assert asyncio.run(use()) == ["tea"]


def test_the_asynchronous_engine_uses_it_too(database_url: str, vendor: Vendor) -> None:
    async def use() -> list[str]:
        async with await longmind.open_async(database_url, embedder=NAME) as engine:
            memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
            space = await memory.create_memory_space("main")
            await asyncio.gather(*(memory.add_atom(space.id, fact(f"tea {number}")) for number in range(5)))
            return texts_of(await memory.recall_by_topic(space.id, "tea"))

    assert len(asyncio.run(use())) == 5


def test_closing_the_engine_ends_the_thread_that_waits_for_the_vendor(sqlite_url: str, vendor: Vendor) -> None:
    before = set(threading.enumerate())
    with longmind.open(sqlite_url, embedder=NAME) as engine:
        memory = memory_of(engine)
        memory.add_atom(memory.create_memory_space().id, fact("tea"))
        assert [each for each in set(threading.enumerate()) - before if each.name == "longmind-providers"]
    assert [each for each in set(threading.enumerate()) - before if each.name == "longmind-providers"] == []


def test_without_a_key_it_is_not_opened(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(longmind.InvalidInput, match="OPENAI_API_KEY is not set") as refused:
        longmind.open(sqlite_url, embedder=NAME)
    assert refused.value.hint == "Set OPENAI_API_KEY in the environment of this program."


def test_an_unknown_vendor_is_an_error_that_names_it(sqlite_url: str) -> None:
    with pytest.raises(longmind.InvalidInput, match="nosuchvendor") as refused:
        longmind.open(sqlite_url, embedder="nosuchvendor:model")
    assert "for example openai:text-embedding-3-small" in refused.value.hint


def test_a_vendor_that_does_not_answer_is_given_up(sqlite_url: str, vendor: Vendor) -> None:
    # Asked without haste, since its client loads much for the first call.
    dimension = RemoteEmbedder(NAME).dimension
    with longmind.open(sqlite_url, embedder=RemoteEmbedder(NAME, dimension, timeout_seconds=0.3)) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        vendor.trouble = {-1: "hangs"}
        with pytest.raises(longmind.EmbedderFailed, match="TimeoutError"):
            memory.add_atom(space_id, fact("tea"))
        assert list(memory.list_atoms(space_id)) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_uses_it_too(sqlite_url: str, vendor: Vendor) -> None:
    embedder = RemoteEmbedder(NAME)
    here = embedder.embed_query("tea")
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = list(embedder.embed_query("tea")) == list(here)
        finally:
            os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_without_the_package_the_error_says_what_to_install(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(longmind.ExtensionMissing, match="pydantic-ai") as missing:
        longmind.open(sqlite_url, embedder=NAME)
    assert "pip install" in missing.value.hint
