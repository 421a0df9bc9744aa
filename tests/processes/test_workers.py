"""Workers that die, hang or are slow: a job is done once, whoever does it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

import longmind
from harness.crew import Line, ada, run_together, start_process, wait_until
from longmind.clock import system_clock, to_iso
from longmind.store.database import Transaction
from tests.processes.effects import leave_remark
from tests.processes.leases import end_leases

LEASE = 1.0
"""Seconds, for those who are to lose it."""
LONG_LEASE = 30.0
"""For those who are to keep it, however long a busy machine lets them wait."""

Start = Callable[[longmind.JobRun], None]


@contextmanager
def worker(url: str, think: Start, name: str, lease: float = LONG_LEASE) -> Iterator[longmind.Engine]:
    """An engine that does jobs of the kind `remark`: it thinks, and then leaves its remark."""

    def handle(attempt: longmind.JobRun) -> longmind.Effect:
        think(attempt)
        return longmind.Effect(leave_remark, (attempt, f"a remark by {name}"))

    with ada(url, job_lease_seconds=lease, worker_poll_seconds=0.02, job_retry_seconds=0.01) as (engine, _):
        engine.register_job("remark", handle)
        yield engine


def work_when_told(
    line: Line, url: str, name: str, lease: float = LEASE, stand_still: bool = False
) -> longmind.WorkReport:
    """Wait for a job, take it, say so, and finish it only when the test says so."""

    def think(attempt: longmind.JobRun) -> None:
        line.say(attempt.job.id)
        if stand_still:
            line.stand_still()
        line.hear()

    report = longmind.WorkReport()
    with worker(url, think, name, lease) as engine:
        while report == longmind.WorkReport():
            report = engine.work(limit=1)
            time.sleep(0.01)
    return report


def remarks(ctx: longmind.Context, conversation_id: str) -> list[str]:
    return [message.text for message in ctx.conversations.get_messages(conversation_id)]


def job_of(ctx: longmind.Context, job: longmind.Job) -> longmind.Job:
    found = ctx.jobs.get_job(job.id)
    assert found is not None
    return found


def test_a_job_of_a_killed_worker_is_done_once_by_another_after_the_lease_and_not_before(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("work")
    job = ctx.jobs.enqueue("remark", {"conversation": conversation.id})
    begun: list[str] = []

    with start_process(work_when_told, database_url, "the dead") as victim:
        assert victim.hear() == job.id
        victim.kill()
    lease_end = job_of(ctx, job).due_at
    with worker(database_url, lambda _: begun.append(to_iso(system_clock())), "the heir") as engine:
        engine.start_workers(2)
        wait_until(lambda: job_of(ctx, job).status == "succeeded")

    assert lease_end is not None
    assert [lease_end <= at for at in begun] == [True]
    done = job_of(ctx, job)
    assert done.attempts == 2
    assert remarks(ctx, conversation.id) == ["a remark by the heir"]
    assert done.result == ctx.conversations.get_messages(conversation.id)[0].id


def die_in_the_transaction(line: Line, url: str) -> None:
    def write_and_die(run: Transaction, attempt: longmind.JobRun) -> None:
        leave_remark(run, attempt, "a remark by the dead")
        os.kill(os.getpid(), signal.SIGKILL)

    with ada(url, job_lease_seconds=0.3) as (engine, _):
        engine.register_job("remark", lambda attempt: longmind.Effect(write_and_die, (attempt,)))
        engine.work()


def test_an_effect_whose_worker_dies_before_the_commit_is_undone_and_then_done_once(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("work")
    job = ctx.jobs.enqueue("remark", {"conversation": conversation.id})

    with start_process(die_in_the_transaction, database_url) as victim:
        assert victim.wait_until_dead() == -signal.SIGKILL
    assert remarks(ctx, conversation.id) == []

    with worker(database_url, lambda _: None, "the heir") as engine:
        engine.start_workers(1)
        wait_until(lambda: job_of(ctx, job).status == "succeeded")
    assert remarks(ctx, conversation.id) == ["a remark by the heir"]


def test_the_late_result_of_a_worker_that_was_stopped_past_its_lease_is_refused(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("work")
    job = ctx.jobs.enqueue("remark", {"conversation": conversation.id})

    # Its lease is long, since one that stands still while it gives a sign of life would keep its locks.
    with start_process(work_when_told, database_url, "the late", LONG_LEASE, True) as sleeper:
        assert sleeper.hear() == job.id
        sleeper.wait_until_it_stands_still()
        end_leases(database_url)
        with worker(database_url, lambda _: None, "the heir") as engine:
            engine.start_workers(1)
            wait_until(lambda: job_of(ctx, job).status == "succeeded")
        done = job_of(ctx, job)

        sleeper.go_on()
        sleeper.say("go on")
        assert sleeper.result() == longmind.WorkReport(lost=1)

    assert job_of(ctx, job) == done
    assert remarks(ctx, conversation.id) == ["a remark by the heir"]


def test_the_late_result_is_refused_also_while_the_other_worker_is_still_at_it(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("work")
    job = ctx.jobs.enqueue("remark", {"conversation": conversation.id})

    with start_process(work_when_told, database_url, "the late", LONG_LEASE, True) as sleeper:
        assert sleeper.hear() == job.id
        sleeper.wait_until_it_stands_still()
        end_leases(database_url)
        with start_process(work_when_told, database_url, "the heir", LONG_LEASE) as heir:
            assert heir.hear() == job.id
            sleeper.go_on()
            sleeper.say("go on")
            assert sleeper.result() == longmind.WorkReport(lost=1)
            assert job_of(ctx, job).status == "running"
            assert remarks(ctx, conversation.id) == []

            heir.say("go on")
            assert heir.result() == longmind.WorkReport(succeeded=1)

    assert job_of(ctx, job).attempts == 2
    assert remarks(ctx, conversation.id) == ["a remark by the heir"]


def test_a_long_job_that_gives_signs_of_life_is_not_taken_over(database_url: str, ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("work")
    job = ctx.jobs.enqueue("remark", {"conversation": conversation.id})

    # A sign of life comes after a third of it; until it is over, the machine may be as slow as it likes.
    lease = 9.0
    with (
        start_process(work_when_told, database_url, "the slow", lease) as slow,
        worker(database_url, lambda _: None, "the hasty") as engine,
    ):
        assert slow.hear() == job.id
        lease_end = job_of(ctx, job).due_at
        assert lease_end is not None

        def is_extended() -> bool:
            assert engine.work() == longmind.WorkReport()
            return str(job_of(ctx, job).due_at) > lease_end

        wait_until(is_extended)
        end_leases(database_url)
        # The hasty one does not ask before the next sign of life, which is as good then as one that comes in time.
        wait_until(lambda: str(job_of(ctx, job).due_at) > lease_end)
        assert engine.work() == longmind.WorkReport()
        slow.say("go on")
        assert slow.result() == longmind.WorkReport(succeeded=1)

    assert job_of(ctx, job).attempts == 1
    assert remarks(ctx, conversation.id) == ["a remark by the slow"]


def die_at_work(line: Line, url: str) -> None:
    with worker(url, lambda _: os.kill(os.getpid(), signal.SIGKILL), "the dead", lease=0.2) as engine:
        engine.start_workers(1)
        threading.Event().wait()


def test_a_job_whose_worker_dies_at_every_attempt_ends_as_dead_and_says_so(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("work")
    job = ctx.jobs.enqueue("remark", {"conversation": conversation.id}, max_attempts=3)

    for attempt in range(1, 4):
        with start_process(die_at_work, database_url) as victim:
            assert victim.wait_until_dead() == -signal.SIGKILL
        assert (job_of(ctx, job).status, job_of(ctx, job).attempts) == ("running", attempt)
    tried: list[str] = []
    with worker(database_url, lambda attempt: tried.append(attempt.job.id), "the heir") as engine:
        engine.start_workers(1)
        wait_until(lambda: job_of(ctx, job).status != "running")

    dead = job_of(ctx, job)
    assert dead.status == "dead"
    assert dead.error == "The worker died during each of 3 attempts."
    assert tried == []
    assert remarks(ctx, conversation.id) == []


def work_off(line: Line, url: str, name: str) -> longmind.WorkReport:
    with worker(url, lambda _: None, name) as engine:
        line.wait_for_others()
        return engine.work()


def test_eight_processes_that_work_at_once_do_each_job_once(database_url: str, ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("work")
    jobs = [ctx.jobs.enqueue("remark", {"conversation": conversation.id}) for _ in range(200)]

    reports: list[longmind.WorkReport] = run_together(
        work_off, [(database_url, f"worker {number}") for number in range(8)]
    )

    done = ctx.jobs.list_jobs(limit=1_000)
    assert Counter((job.status, job.attempts) for job in done) == {("succeeded", 1): len(jobs)}
    messages = ctx.conversations.get_messages(conversation.id, limit=1_000)
    assert sorted(job.result for job in done) == sorted(message.id for message in messages)
    said = Counter(message.text for message in messages)
    assert [report.succeeded for report in reports] == [said[f"a remark by worker {number}"] for number in range(8)]


def test_a_worker_takes_one_job_at_a_time_also_when_the_planner_thinks_there_is_only_one(postgres_url: str) -> None:
    with ada(postgres_url) as (engine, ctx):
        engine.register_job("count", lambda attempt: attempt.job.attempts)
        ctx.jobs.enqueue("count")
        # With this knowledge PostgreSQL prefers a plan that looks for due jobs again for each row of the table.
        with psycopg.connect(postgres_url) as connection:
            connection.execute("ANALYZE longmind.jobs")
        ctx.jobs.enqueue("count")
        ctx.jobs.enqueue("count")

        assert engine.work(limit=1) == longmind.WorkReport(succeeded=1)
        assert Counter(job.status for job in ctx.jobs.list_jobs()) == {"succeeded": 1, "queued": 2}
        assert engine.work() == longmind.WorkReport(succeeded=2)
