"""A long queue of jobs: to take the next one, to add one and to look at it must not take longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import longmind
from benchmarks.measure import interleave
from longmind.clock import system_clock
from longmind.store.tables import jobs
from prove.scale.latency import compare_timings, steady
from prove.scale.population import CALLERS, context_of, open_engine
from prove.scale.stores import StorePair
from prove.section import Check

KIND = "prove.scale"
SHORT = 2_000
"""The jobs of the short queue: enough for as many claims as are timed."""


def queues(pair: StorePair, long: int, seconds: float) -> Iterator[Check]:
    with ExitStack() as stack:
        big, small = (stack.enter_context(open_engine(url)) for url in (pair.big, pair.small))
        _enqueue(small, pair.measured[:1], SHORT)
        _enqueue(big, range(pair.users), long)
        whose = pair.measured[0]
        operations: dict[str, Callable[[longmind.Engine], object]] = {
            "a worker's claim": _claim,
            "adding a job": lambda engine: _add(engine, whose),
            "listing the newest jobs of all users": lambda engine: engine.find_jobs(limit=20),
            "listing the newest jobs of a user": lambda engine: context_of(engine, whose).jobs.list_jobs(limit=5),
        }
        for name, operation in operations.items():
            contenders = {"small": partial(operation, small), "big": partial(operation, big)}
            take = partial(interleave, contenders, seconds=seconds, calls_per_round=5, most_calls=SHORT // 5)
            yield compare_timings(f"{pair.engine}: {name} takes no longer with {long:,} queued jobs", steady(take))
        counted = interleave({"small": small.measures, "big": big.measures}, seconds=seconds, calls_per_round=2)
        yield compare_timings(
            f"{pair.engine}: counting the queue for the metrics, which looks at all of it", counted, None
        )


def _enqueue(engine: longmind.Engine, users: range | list[int], count: int) -> None:
    with ThreadPoolExecutor(CALLERS) as pool:
        for _ in pool.map(lambda number: _add(engine, users[number % len(users)]), range(count)):
            pass


def _add(engine: longmind.Engine, user: int) -> object:
    return context_of(engine, user).jobs.enqueue(KIND, {"about": "nothing"})


def _claim(engine: longmind.Engine) -> object:
    now = system_clock()
    found = engine._database.write(None, jobs.claim, KIND, "prove", now + 3_600_000_000, now)
    assert found, "the queue has run dry"
    return found
