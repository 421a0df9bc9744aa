"""A job that is done in the thread of the caller, whatever else is due."""

from __future__ import annotations

import threading

import pytest

import longmind
from longmind import JobRun, WorkReport
from tests.clock import SettableClock
from tests.memory.facts import at_once


def test_one_job_is_done_and_the_others_wait(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("note", lambda run: run.job.payload["number"])
    first, second = (ctx.jobs.enqueue("note", {"number": number}) for number in (1, 2))
    done = ctx.jobs.run_job(second.id)
    assert (done.status, done.result, done.attempts) == ("succeeded", 2, 1)
    assert ctx.jobs.run_job(second.id) == done
    waiting = ctx.jobs.get_job(first.id)
    assert waiting is not None
    assert waiting.status == "queued"
    assert engine.work() == WorkReport(succeeded=1)


def test_a_job_that_is_not_due_yet_is_done_now(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    engine.register_job("note", lambda run: "done")
    later = ctx.jobs.enqueue("note", run_at="2030-01-01")
    assert ctx.jobs.run_job(later.id).status == "succeeded"


def test_an_attempt_that_fails_is_one_of_all_attempts(engine: longmind.Engine, ctx: longmind.Context) -> None:
    def fail(run: JobRun) -> None:
        raise ValueError("no")

    engine.register_job("fail", fail)
    job = ctx.jobs.enqueue("fail", max_attempts=2)
    failed = ctx.jobs.run_job(job.id)
    assert (failed.status, failed.error, failed.attempts) == ("failed", "ValueError: no", 1)
    dead = ctx.jobs.run_job(job.id)
    assert (dead.status, dead.attempts) == ("dead", 2)
    assert ctx.jobs.run_job(job.id) == dead


def test_threads_that_ask_for_one_job_get_one_result(engine: longmind.Engine, ctx: longmind.Context) -> None:
    runs: list[int] = []
    gate = threading.Event()

    def slow(run: JobRun) -> str:
        runs.append(run.job.attempts)
        gate.wait(0.2)
        return "done"

    engine.register_job("slow", slow)
    job = ctx.jobs.enqueue("slow")
    assert {each.result for each in at_once(4, lambda _: ctx.jobs.run_job(job.id))} == {"done"}
    assert runs == [1]


def test_a_job_whose_worker_died_is_taken_over(
    engine: longmind.Engine, ctx: longmind.Context, end_leases: object
) -> None:
    assert callable(end_leases)

    def die(run: JobRun) -> None:
        raise KeyboardInterrupt

    engine.register_job("note", die)
    job = ctx.jobs.enqueue("note")
    with pytest.raises(KeyboardInterrupt):
        engine.work()
    engine.register_job("note", lambda run: "done")
    end_leases()
    assert (ctx.jobs.run_job(job.id).result, ctx.jobs.run_job(job.id).attempts) == ("done", 2)


def test_what_cannot_be_done_here_is_refused(engine: longmind.Engine, ctx: longmind.Context) -> None:
    job = ctx.jobs.enqueue("elsewhere")
    with pytest.raises(longmind.Conflict) as refused:
        ctx.jobs.run_job(job.id)
    assert "elsewhere" in refused.value.message
    with pytest.raises(longmind.NotFound):
        ctx.jobs.run_job("job_none")
    stranger = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    with pytest.raises(longmind.NotFound):
        stranger.jobs.run_job(job.id)
