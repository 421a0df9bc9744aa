"""Recall while other processes write."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import pytest

import longmind
from harness.crew import Line, ReturnedValue, start_process, start_processes
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of

ROUNDS = 40
THREADS = 8


class Added(NamedTuple):
    atom_id: str
    at: int
    """When the write was acknowledged, by a clock that all processes share."""


class Gone(NamedTuple):
    """No longer to be found: archived, superseded or deleted."""

    atom_id: str
    from_: int
    at: int


@dataclass(frozen=True)
class Asked:
    from_: int
    at: int
    found: frozenset[str]


def write_and_tell(line: Line, url: str, space_id: str, number: int) -> int:
    """Add, supersede, archive and delete, and tell each as it is acknowledged."""
    chance = random.Random(number)
    alive: list[str] = []
    with longmind.open(url, embedder=WordsEmbedder()) as engine:
        memory = memory_of(engine)
        memory.recall_by_topic(space_id, "tea")
        line.wait_for_others()
        for turn in range(ROUNDS):
            new = fact(f"tea {turn} of writer {number}")
            began = time.monotonic_ns()
            if alive and turn % 4 == 1:
                old = alive.pop(chance.randrange(len(alive)))
                atom_id = memory.supersede_atom(old, new).id
                line.say(Gone(old, began, time.monotonic_ns()))
            else:
                atom_id = memory.add_atom(space_id, new).id
            line.say(Added(atom_id, time.monotonic_ns()))
            alive.append(atom_id)
            assert atom_id in {hit.atom.id for hit in memory.recall_by_topic(space_id, "tea", limit=200).hits}
            if turn % 4 >= 2:
                old = alive.pop(chance.randrange(len(alive)))
                began = time.monotonic_ns()
                (memory.archive_atom if turn % 4 == 2 else memory.delete_atom)(old)
                line.say(Gone(old, began, time.monotonic_ns()))
                assert old not in {hit.atom.id for hit in memory.recall_by_topic(space_id, "tea", limit=200).hits}
    return len(alive)


@pytest.mark.patient
def test_recall_finds_all_that_is_valid_and_nothing_else_while_two_processes_write(database_url: str) -> None:
    with longmind.open(database_url, embedder=WordsEmbedder()) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        written = threading.Event()

        def ask_again_and_again(_: int) -> list[Asked]:
            asked: list[Asked] = []
            while not written.is_set() or not asked:
                began = time.monotonic_ns()
                found = [hit.atom for hit in memory.recall_by_topic(space_id, "tea", limit=200).hits]
                asked.append(Asked(began, time.monotonic_ns(), frozenset(atom.id for atom in found)))
                assert [atom for atom in found if atom.status != "ACTIVE" or atom.superseded_by is not None] == []
            return asked

        writers = [(database_url, space_id, number) for number in (1, 2)]
        log: list[Added | Gone] = []
        with start_processes(write_and_tell, writers) as children, ThreadPoolExecutor(THREADS) as threads:
            asking = [threads.submit(ask_again_and_again, number) for number in range(THREADS)]
            try:
                for child in children:
                    log += child.hear_to_the_end()
            finally:
                written.set()
            recalls = [asked for each in asking for asked in each.result(timeout=60)]
        added = {entry.atom_id: entry for entry in log if isinstance(entry, Added)}
        gone = {entry.atom_id: entry for entry in log if isinstance(entry, Gone)}
        assert len(added) == 2 * ROUNDS
        assert len(recalls) >= THREADS
        for asked in recalls:
            stale = {atom_id for atom_id in asked.found if atom_id in gone and gone[atom_id].at < asked.from_}
            assert stale == set()
            due = {
                atom_id
                for atom_id, entry in added.items()
                if entry.at < asked.from_ and (atom_id not in gone or gone[atom_id].from_ > asked.at)
            }
            assert due <= asked.found
        last = memory.recall_by_topic(space_id, "tea", limit=200)
        assert {hit.atom.id for hit in last.hits} == added.keys() - gone.keys()


def answer_what_is_found(line: Line, url: str, space_id: str) -> None:
    with longmind.open(url, embedder=WordsEmbedder()) as engine:
        memory = memory_of(engine)
        while (query := line.hear()) is not None:
            line.say(texts_of(memory.recall_by_topic(space_id, query, limit=1)))


def test_each_write_is_there_for_the_next_call_of_another_process(database_url: str) -> None:
    with longmind.open(database_url, embedder=WordsEmbedder()) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        with start_process(answer_what_is_found, database_url, space_id) as child:
            for number in range(30):
                atom = memory.add_atom(space_id, fact(f"number{number}"))
                child.say(f"number{number}")
                assert child.hear() == [f"number{number}"]
                if number % 3 == 0:
                    memory.archive_atom(atom.id)
                    child.say(f"number{number}")
                    assert child.hear() != [f"number{number}"]
            child.say(None)
            assert isinstance(child.hear(), ReturnedValue)
