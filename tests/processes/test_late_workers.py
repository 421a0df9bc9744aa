"""A worker that is stopped in the middle of a job and comes back late: what the engine's own jobs write is there once.

What handlers of one's own write is in test_workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import longmind
from harness.crew import Line, start_process, wait_until
from longmind.extraction.candidate import Candidate, Extracted, SourceMessage
from tests.processes.leases import end_leases

LEASE = 60.0
"""Seconds. A third passes before the first sign of life, whose locks a worker that then stands still would keep."""


class Thinker:
    """Extracts and summarises, and signs what it makes."""

    name = "thinker@1"

    def __init__(self, who: str, think: Callable[[], object]) -> None:
        self._who = who
        self._think = think

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        self._think()
        said = tuple(message.id for message in messages)
        return Extracted([Candidate(f"User was told of by {self._who}.", "notes", "FACT", "user", said, importance=5)])

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        self._think()
        return f"Told by {self._who}."


@contextmanager
def worker(url: str, who: str, think: Callable[[], object]) -> Iterator[longmind.Engine]:
    thinker = Thinker(who, think)
    limits: dict[str, Any] = {"job_lease_seconds": LEASE, "worker_poll_seconds": 0.02, "job_retry_seconds": 0.01}
    with longmind.open(url, embedder=None, extractor=thinker, summariser=thinker, **limits) as engine:
        yield engine


def work_and_stand_still(line: Line, url: str) -> longmind.WorkReport:
    def think() -> None:
        line.say("begun")
        line.stand_still()

    report = longmind.WorkReport()
    with worker(url, "the late", think) as engine:
        while report == longmind.WorkReport():
            report = engine.work(limit=1)
            time.sleep(0.01)
    return report


def queue_distillation(ctx: longmind.Context) -> None:
    ctx.events.record("note", "The disk was full.")
    ctx.jobs.enqueue("events.distill_long_term", {"use_llm": True})


def queue_sleep(ctx: longmind.Context) -> None:
    ctx.blocks.set_sleep_time(True)
    conversation = ctx.conversations.create_conversation("night")
    ctx.conversations.append_user_message(conversation.id, "Good night.")
    ctx.conversations.close_conversation(conversation.id)


def summaries(ctx: longmind.Context) -> list[str]:
    return [str(event.text) for event in ctx.events.search(kinds=["long_term_summary"])]


def block_lines(ctx: longmind.Context) -> list[str]:
    return [f"{block.version}: {line}" for block in ctx.blocks.list() for line in block.entries]


JOBS = {
    "distillation": (queue_distillation, summaries, ["Told by the heir."]),
    "sleep-time memory": (queue_sleep, block_lines, ["1: User was told of by the heir."]),
}


@pytest.mark.parametrize("kind", JOBS)
def test_what_the_heir_has_written_is_all_there_is(kind: str, database_url: str, ctx: longmind.Context) -> None:
    queue, effects, expected = JOBS[kind]
    queue(ctx)
    with start_process(work_and_stand_still, database_url) as sleeper:
        assert sleeper.hear() == "begun"
        sleeper.wait_until_it_stands_still()
        end_leases(database_url)
        with worker(database_url, "the heir", lambda: None) as engine:
            engine.start_workers(1)
            wait_until(lambda: not ctx.jobs.list_jobs(status="running"))
        assert effects(ctx) == expected
        sleeper.go_on()
        assert sleeper.result() == longmind.WorkReport(lost=1)
    assert effects(ctx) == expected
    assert [job.status for job in ctx.jobs.list_jobs()] == ["succeeded"]
