"""A job that fails is tried again, later and later, and at last put aside with its error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

import longmind
from longmind import JobRun, WorkReport
from longmind.clock import to_iso, to_micros
from longmind.store.database import Transaction
from tests.clock import SettableClock
from tests.jobs.test_queue import looked_up


def fail(run: JobRun) -> None:
    raise ValueError("the model did not answer")


def test_a_failed_attempt_keeps_its_error_and_is_tried_again_later(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    attempts: list[int] = []

    def fail_at_first(run: JobRun) -> str:
        attempts.append(run.job.attempts)
        if len(attempts) == 1:
            fail(run)
        return "done"

    engine.register_job("shaky", fail_at_first)
    job = ctx.jobs.enqueue("shaky")
    assert engine.work() == WorkReport(failed=1)
    failed = looked_up(ctx, job)
    assert (failed.status, failed.attempts) == ("failed", 1)
    assert failed.error == "ValueError: the model did not answer"
    assert (failed.result, failed.finished_at) == (None, None)
    assert engine.work() == WorkReport()
    assert failed.due_at is not None
    clock.now = to_micros(failed.due_at) - 1
    assert engine.work() == WorkReport()
    clock.advance(0.000001)
    assert engine.work() == WorkReport(succeeded=1)
    done = looked_up(ctx, job)
    assert (done.status, done.attempts, done.result, done.error) == ("succeeded", 2, "done", None)
    assert attempts == [1, 2]


def test_the_wait_doubles_with_each_failure_up_to_the_cap(database_url: str, clock: SettableClock) -> None:
    settings: dict[str, Any] = {"job_attempts": 7, "job_retry_seconds": 2.0, "job_retry_cap_seconds": 20.0}
    with longmind.open(database_url, clock=clock, **settings) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        engine.register_job("bad", fail)
        jobs = [ctx.jobs.enqueue("bad") for _ in range(5)]
        for longest in (2, 4, 8, 16, 20, 20):
            failed_at = datetime.fromisoformat(to_iso(clock.now))
            assert engine.work() == WorkReport(failed=5)
            waits = []
            for job in jobs:
                due_at = looked_up(ctx, job).due_at
                assert due_at is not None
                waits.append((datetime.fromisoformat(due_at) - failed_at).total_seconds())
            # Between half of it and all of it, so that many failures do not come back at once.
            assert all(longest / 2 <= wait <= longest for wait in waits), (longest, waits)
            assert len(set(waits)) > 1
            clock.advance(longest)
        assert engine.work() == WorkReport(dead=5)


def test_after_the_last_attempt_a_job_is_dead_and_keeps_its_error(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    engine.register_job("bad", fail)
    job = ctx.jobs.enqueue("bad", max_attempts=3)
    reports = []
    for _ in range(3):
        reports.append(engine.work())
        clock.advance(3600)
    assert reports == [WorkReport(failed=1), WorkReport(failed=1), WorkReport(dead=1)]
    dead = looked_up(ctx, job)
    assert (dead.status, dead.attempts, dead.error) == ("dead", 3, "ValueError: the model did not answer")
    assert (dead.due_at, dead.finished_at) == (None, "2026-03-01T11:30:00.000000Z")
    assert ctx.jobs.list_jobs(status="dead") == [dead]
    clock.advance(10 * 86_400)
    assert engine.work() == WorkReport()


def test_a_dead_job_can_be_queued_again_by_hand_with_all_its_attempts(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    engine.register_job("bad", fail)
    job = ctx.jobs.enqueue("bad", {"kept": True}, max_attempts=1)
    engine.work()
    clock.advance(60)
    again = ctx.jobs.retry_job(job.id)
    assert (again.id, again.status, again.attempts, again.error) == (job.id, "queued", 0, None)
    assert (again.due_at, again.finished_at) == ("2026-03-01T09:31:00.000000Z", None)
    engine.register_job("bad", lambda run: run.job.payload)
    assert engine.work() == WorkReport(succeeded=1)
    assert looked_up(ctx, job).result == {"kept": True}


def test_a_failed_job_can_be_tried_again_by_hand_without_the_wait(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    engine.register_job("bad", fail)
    job = ctx.jobs.enqueue("bad")
    assert engine.work() == WorkReport(failed=1)
    ctx.jobs.retry_job(job.id)
    assert engine.work() == WorkReport(failed=1)
    assert looked_up(ctx, job).attempts == 1


def test_only_what_has_failed_can_be_retried(engine: longmind.Engine, ctx: longmind.Context) -> None:
    refused: list[str] = []

    def retry_oneself(run: JobRun) -> None:
        with pytest.raises(longmind.Conflict) as refusal:
            run.context.jobs.retry_job(run.job.id)
        refused.append(refusal.value.message)

    engine.register_job("good", retry_oneself)
    job = ctx.jobs.enqueue("good")
    with pytest.raises(longmind.Conflict, match="queued") as refusal:
        ctx.jobs.retry_job(job.id)
    assert refusal.value.status == 409
    assert engine.work() == WorkReport(succeeded=1)
    assert refused == [f"Job {job.id!r} is running."]
    with pytest.raises(longmind.Conflict, match="succeeded"):
        ctx.jobs.retry_job(job.id)
    with pytest.raises(longmind.NotFound):
        ctx.jobs.retry_job("job_none")


def test_a_result_that_is_not_json_fails_the_attempt(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    wrong: list[Any] = [object(), {1, 2}, b"bytes", float("nan"), {1: 2}, {"a": "\x00"}, "\ud800"]
    engine.register_job("odd", lambda run: wrong[run.job.payload["number"]])
    jobs = [ctx.jobs.enqueue("odd", {"number": number}, max_attempts=1) for number in range(len(wrong))]
    assert engine.work() == WorkReport(dead=len(wrong))
    for job in jobs:
        dead = looked_up(ctx, job)
        assert dead.result is None
        assert dead.error is not None
        assert dead.error.startswith("InvalidInput: ")
        assert "result" in dead.error


def test_a_result_over_the_limit_of_payloads_fails_the_attempt(engine: longmind.Engine, ctx: longmind.Context) -> None:
    most = 1024 * 1024 - 2  # with its two quotes
    engine.register_job("long", lambda run: "x" * run.job.payload["length"])
    job = ctx.jobs.enqueue("long", {"length": most})
    assert engine.work() == WorkReport(succeeded=1)
    assert looked_up(ctx, job).result == "x" * most
    job = ctx.jobs.enqueue("long", {"length": most + 1}, max_attempts=1)
    assert engine.work() == WorkReport(dead=1)
    assert "1,048,576 bytes" in (looked_up(ctx, job).error or "")


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit: "),
        (Speechless(), "Speechless"),
        # Whose lease it speaks of is not known: the job's own is in order.
        (longmind.LeaseLost("mine", hint=""), "LeaseLost: mine"),
    ],
)
def test_whatever_a_handler_raises_is_a_failed_attempt(
    engine: longmind.Engine, ctx: longmind.Context, error: BaseException, kept: str
) -> None:
    def fail_with(run: JobRun) -> None:
        raise error

    engine.register_job("bad", fail_with)
    job = ctx.jobs.enqueue("bad", max_attempts=1)
    assert engine.work() == WorkReport(dead=1)
    assert looked_up(ctx, job).error == kept


def test_a_lost_lease_that_an_effect_speaks_of_is_a_failed_attempt(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    def lose(run: Transaction) -> None:
        raise longmind.LeaseLost("mine", hint="")

    engine.register_job("bad", lambda run: longmind.Effect(lose))
    job = ctx.jobs.enqueue("bad", max_attempts=1)
    assert engine.work() == WorkReport(dead=1)
    assert looked_up(ctx, job).error == "LeaseLost: mine"


def test_an_interrupt_ends_the_work_and_leaves_the_job_to_its_lease(
    engine: longmind.Engine, ctx: longmind.Context, end_leases: Callable[[], None]
) -> None:
    def interrupt_once(run: JobRun) -> str:
        if run.job.attempts == 1:
            raise KeyboardInterrupt
        return "done"

    engine.register_job("long", interrupt_once)
    job = ctx.jobs.enqueue("long")
    with pytest.raises(KeyboardInterrupt):
        engine.work()
    assert looked_up(ctx, job).status == "running"
    end_leases()
    assert engine.work() == WorkReport(succeeded=1)


def test_an_error_is_kept_whatever_it_says(engine: longmind.Engine, ctx: longmind.Context) -> None:
    def fail_with(run: JobRun) -> None:
        raise ValueError(texts[run.job.payload["number"]])

    texts = ["a\x00b", "half \ud83d", "🙂 é\r\n", "", "x" * 100_000]
    engine.register_job("bad", fail_with)
    jobs = [ctx.jobs.enqueue("bad", {"number": number}, max_attempts=1) for number in range(len(texts))]
    assert engine.work() == WorkReport(dead=len(texts))
    errors = [looked_up(ctx, job).error for job in jobs]
    assert errors[:4] == [
        "ValueError: a\\x00b",
        "ValueError: half \\ud83d",
        "ValueError: 🙂 é\r\n",
        "ValueError: ",
    ]
    assert errors[4] is not None
    assert errors[4].startswith("ValueError: xxx")
    assert len(errors[4]) == 4_000


def test_the_words_of_an_error_are_kept_with_the_job_and_not_logged(
    engine: longmind.Engine, ctx: longmind.Context, caplog: pytest.LogCaptureFixture
) -> None:
    def quote(run: JobRun) -> None:
        raise ValueError("the user said: my s3cret")

    engine.register_job("bad", quote)
    job = ctx.jobs.enqueue("bad", {"said": "my s3cret"})
    with caplog.at_level(logging.DEBUG):
        engine.work()
    assert "s3cret" in (looked_up(ctx, job).error or "")
    assert "ValueError" in caplog.text
    assert "s3cret" not in caplog.text


def test_one_failing_job_does_not_keep_the_others_from_being_done(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    engine.register_job("mixed", lambda run: 1 / run.job.payload["by"])
    for by in (1, 0, 2, 0, 4):
        ctx.jobs.enqueue("mixed", {"by": by})
    assert engine.work() == WorkReport(succeeded=3, failed=2)


def test_a_closed_engine_does_no_work(database_url: str) -> None:
    engine = longmind.open(database_url)
    engine.register_job("good", lambda run: None)
    engine.context(tenant_id="acme", app_id="support", user_id="ada").jobs.enqueue("good")
    engine.close()
    with pytest.raises(longmind.EngineClosed):
        engine.work()
    with pytest.raises(longmind.EngineClosed):
        engine.start_workers()


def test_a_closed_engine_says_so_even_when_it_knows_no_kind(database_url: str) -> None:
    engine = longmind.open(database_url)
    engine.close()
    with pytest.raises(longmind.EngineClosed):
        engine.work()
    with pytest.raises(longmind.EngineClosed):
        engine.register_job("good", lambda run: None)
