"""The time to open a large store and to use it first, and the memory of a process with many users."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil

from benchmarks._recall_data import facts, questions
from harness.crew import Line, start_process
from prove.scale.population import ATOMS, context_of, open_engine, turn
from prove.scale.stores import StorePair
from prove.section import Check

SLOWER_BY_MS = 50.0
"""The largest difference between the best starts of both stores; other programs can delay single starts."""
CACHE_MEGABYTES = 64.0
BESIDE_MEGABYTES = 96.0
"""Memory of a process besides the cache of spaces: connections, statements, the allocator's leftovers."""


def starts(pair: StorePair, rounds: int) -> Iterator[Check]:
    """Time starts of processes that have loaded the code and opened nothing, big and small in turns."""
    taken: dict[str, list[dict[str, float]]] = {"small": [], "big": []}
    for number in range(rounds):
        for name, url in (("small", pair.small), ("big", pair.big)):
            with start_process(start, url, pair.measured[number % len(pair.measured)]) as child:
                taken[name].append(child.result())
    best = {name: {step: round(min(each[step] for each in all), 2) for step in all[0]} for name, all in taken.items()}
    slower = sum(best["big"].values()) - sum(best["small"].values())
    yield Check(
        f"{pair.engine}: a store of {pair.users:,} users is opened and first used as soon as a small one",
        slower <= SLOWER_BY_MS,
        {f"{name} ms": steps for name, steps in best.items()},
        f"{slower:.0f} ms longer",
    )
    yield _doctor(pair)


def start(_line: Line, url: str, user: int) -> dict[str, float]:
    """Time the first operations of a process, in milliseconds."""
    times: dict[str, float] = {}
    # Making up a question takes far longer than answering it, so it is not timed.
    question = questions(f"user {user}", facts(f"user {user}", ATOMS), 1)[0]
    began = time.perf_counter()

    def note(step: str) -> None:
        nonlocal began
        times[step] = (time.perf_counter() - began) * 1000
        began = time.perf_counter()

    with open_engine(url) as engine:
        note("open")
        context = context_of(engine, user)
        space = context.memory.list_memory_spaces()[0].id
        note("first read")
        context.memory.recall_by_topic(space, question)
        note("first recall")
        conversation = context.conversations.list_conversations()[0].id
        context.conversations.append_turn(conversation, **turn("Good morning.", "Good morning to you."))
        note("first append")
    return times


def _doctor(pair: StorePair) -> Check:
    """Time the doctor, which checks the clock, the schema, the queue and the keys: the best of some runs."""
    times: dict[str, list[float]] = {"small": [], "big": []}
    for name, url in 2 * (("small", pair.small), ("big", pair.big)):
        began = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-m", "longmind.cli", "doctor", "--json"],
            env={**os.environ, "LONGMIND_URL": url, "LONGMIND_EMBEDDER": "none"},
            capture_output=True,
            text=True,
            check=False,
        )
        times[name].append(time.perf_counter() - began)
        if not ended.stdout:
            return Check(f"{pair.engine}: the doctor answers", passed=False, detail=ended.stderr)
        findings = json.loads(ended.stdout)["findings"]
    # The disk of this machine may be nearly full, which the doctor rightly reports.
    troubles = [each["name"] for each in findings if each["state"] == "trouble" and not each["name"].startswith("room")]
    best = {name: round(min(taken), 2) for name, taken in times.items()}
    return Check(
        f"{pair.engine}: the doctor finds the large store well, about as soon",
        not troubles and best["big"] <= 1.5 * best["small"] + 0.5,
        {"seconds": best},
        f"in trouble: {troubles}" if troubles else f"{best['big']} s",
    )


def memory(pair: StorePair) -> Iterator[Check]:
    """Measure the memory of a process after requests of more and more users."""
    steps = [count for count in (1, 100, 1_000, 10_000) if count <= pair.users]
    with start_process(touch, pair.big, steps) as child:
        found: list[dict[str, Any]] = child.result()
    yield check_bounds(pair.engine, steps, found)


def check_bounds(engine: str, steps: list[int], found: list[dict[str, Any]]) -> Check:
    """Check that a process grows by no more than the limits after its first user."""
    first, last = found[0], found[-1]
    grown = last["resident MB"] - first["resident MB"]
    full = last["cached MB"] <= CACHE_MEGABYTES
    return Check(
        f"{engine}: memory is bounded by cache_megabytes ({CACHE_MEGABYTES:.0f}), whoever comes",
        full and grown <= CACHE_MEGABYTES + BESIDE_MEGABYTES,
        {f"after {step:,} users": each for step, each in zip(steps, found, strict=True)},
        f"{grown:.0f} MB more after {steps[-1]:,} users, {last['cached MB']:.0f} of them in the cache",
    )


def touch(line: Line, url: str, steps: list[int]) -> list[dict[str, Any]]:
    """Recall, search events and read messages of ever more users."""
    found = []
    with open_engine(url, cache_megabytes=CACHE_MEGABYTES) as engine:
        touched = 0
        for step in steps:
            for user in range(touched, step):
                context = context_of(engine, user)
                space = context.memory.list_memory_spaces()[0].id
                context.memory.recall_by_topic(space, "what is it about")
                context.events.search("what is it about", mode="lexical", limit=5)
                context.conversations.list_conversations()
                if user % 100 == 0:
                    line.say(user)
            touched = step
            found.append(_read_memory(engine.measures))
    return found


def _read_memory(measures: Callable[[], Any]) -> dict[str, Any]:
    taken = measures()
    return {
        "resident MB": round(psutil.Process().memory_info().rss / 2**20, 1),
        "cached MB": round(taken.cached_bytes / 2**20, 1),
        "cached": taken.cached_spaces,
    }
