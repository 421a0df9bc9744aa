"""Workers in the background: they take what is queued, and stop cleanly."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import pytest

import longmind
from longmind import JobRun
from longmind.clock import system_clock

PATIENCE = 60
WHO: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    """Lives by the real clock, and its workers look around so seldom that only being woken explains their haste."""
    with longmind.open(database_url, worker_poll_seconds=600) as engine:
        yield engine


class Gate:
    """A handler that stands at a gate until it is let through."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self.passed: list[str] = []

    def __call__(self, run: JobRun) -> str:
        self.reached.set()
        assert self.open.wait(PATIENCE)
        self.passed.append(run.job.id)
        return "passed"


def workers_alive(before: Collection[threading.Thread] = ()) -> list[threading.Thread]:
    """The workers that there are now, without those that were there before, who may end by themselves."""
    names = ("longmind-worker", "longmind-heartbeat")
    return [thread for thread in threading.enumerate() if thread.name in names and thread not in before]


def statuses(ctx: longmind.Context) -> Counter[str]:
    return Counter(job.status for job in ctx.jobs.list_jobs(limit=1_000))


def test_workers_do_what_was_queued_before_and_after_they_started(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    done: dict[str, threading.Event] = {name: threading.Event() for name in ("before", "after", "later still")}
    engine.register_job("note", lambda run: done[run.job.payload["name"]].set())
    ctx.jobs.enqueue("note", {"name": "before"})
    engine.start_workers()
    assert done["before"].wait(PATIENCE)
    for name in ("after", "later still"):
        ctx.jobs.enqueue("note", {"name": name})
        assert done[name].wait(PATIENCE)
    assert engine.stop_workers()
    assert statuses(ctx) == {"succeeded": 3}


def test_a_worker_is_woken_by_the_registration_of_a_kind(engine: longmind.Engine, ctx: longmind.Context) -> None:
    done = threading.Event()
    ctx.jobs.enqueue("exotic")
    engine.start_workers()
    engine.register_job("exotic", lambda run: done.set())
    assert done.wait(PATIENCE)


def test_many_workers_do_each_job_once(engine: longmind.Engine, ctx: longmind.Context) -> None:
    done: Counter[str] = Counter()
    counting = threading.Lock()
    all_done = threading.Event()

    def count(run: JobRun) -> None:
        with counting:
            done[run.job.id] += 1
            if len(done) == 40:
                all_done.set()

    engine.register_job("count", count)
    for _ in range(20):
        ctx.jobs.enqueue("count")
    engine.start_workers(4)
    for _ in range(20):
        ctx.jobs.enqueue("count")
    assert all_done.wait(PATIENCE)
    assert engine.stop_workers()
    assert set(done.values()) == {1}
    assert statuses(ctx) == {"succeeded": 40}


def test_a_worker_goes_on_after_a_job_has_failed(engine: longmind.Engine, ctx: longmind.Context) -> None:
    tried, done = threading.Event(), threading.Event()

    def fail(run: JobRun) -> None:
        tried.set()
        raise ZeroDivisionError

    engine.register_job("bad", fail)
    engine.register_job("good", lambda run: done.set())
    engine.start_workers()
    ctx.jobs.enqueue("bad", max_attempts=1)
    assert tried.wait(PATIENCE)
    ctx.jobs.enqueue("good")
    assert done.wait(PATIENCE)
    assert engine.stop_workers()
    assert statuses(ctx) == {"dead": 1, "succeeded": 1}


@pytest.mark.patient
@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()])
def test_a_worker_goes_on_after_a_handler_wanted_to_end_the_program(
    engine: longmind.Engine, ctx: longmind.Context, error: BaseException
) -> None:
    raised, done = threading.Event(), threading.Event()

    def end(run: JobRun) -> None:
        raised.set()
        raise error

    engine.register_job("bad", end)
    engine.register_job("good", lambda run: done.set())
    engine.start_workers()
    ctx.jobs.enqueue("bad", max_attempts=1)
    assert raised.wait(PATIENCE)
    ctx.jobs.enqueue("good")
    assert done.wait(PATIENCE)


@pytest.mark.patient
def test_a_worker_goes_on_after_trouble_of_any_kind(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    stumbled = threading.Event()

    def clock() -> int:
        if threading.current_thread().name == "longmind-worker" and not stumbled.is_set():
            stumbled.set()
            raise OSError("there is no time")
        return system_clock()

    done = threading.Event()
    with longmind.open(database_url, clock=clock) as engine:
        engine.register_job("note", lambda run: done.set())
        engine.start_workers()
        assert stumbled.wait(PATIENCE)
        engine.context(**WHO).jobs.enqueue("note")
        assert done.wait(PATIENCE)
    assert "there is no time" in caplog.text


def test_stopping_lets_the_job_at_hand_finish_and_begins_no_other(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    gate = Gate()
    engine.register_job("gate", gate)
    first = ctx.jobs.enqueue("gate")
    ctx.jobs.enqueue("gate")
    engine.start_workers()
    assert gate.reached.wait(PATIENCE)
    assert statuses(ctx) == {"running": 1, "queued": 1}
    answers: list[bool] = []
    sign = engine._stop
    stopping = threading.Thread(target=lambda: answers.append(engine.stop_workers()))
    stopping.start()
    assert sign.wait(PATIENCE)
    # It waits for the job, so it is still at it.
    stopping.join(0.1)
    assert stopping.is_alive()
    gate.open.set()
    stopping.join(PATIENCE)
    assert answers == [True]
    assert gate.passed == [first.id]
    assert statuses(ctx) == {"succeeded": 1, "queued": 1}


def test_stopping_says_when_a_worker_was_still_busy(engine: longmind.Engine, ctx: longmind.Context) -> None:
    gate = Gate()
    engine.register_job("gate", gate)
    job = ctx.jobs.enqueue("gate")
    before = workers_alive()
    engine.start_workers()
    assert gate.reached.wait(PATIENCE)
    busy = workers_alive(before)
    assert engine.stop_workers(timeout=0.01) is False
    gate.open.set()
    for thread in busy:
        thread.join(PATIENCE)
    found = ctx.jobs.get_job(job.id)
    assert found is not None
    assert found.status == "succeeded"


def test_a_busy_worker_is_not_forgotten_by_whom_it_kept_waiting(database_url: str) -> None:
    gate = Gate()
    engine = longmind.open(database_url)
    engine.register_job("gate", gate)
    job = engine.context(**WHO).jobs.enqueue("gate")
    engine.start_workers()
    assert gate.reached.wait(PATIENCE)
    assert engine.stop_workers(timeout=0.01) is False
    assert engine.stop_workers(timeout=0.01) is False
    closing = threading.Thread(target=engine.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    gate.open.set()
    closing.join(PATIENCE)
    with longmind.open(database_url) as again:
        found = again.context(**WHO).jobs.get_job(job.id)
        assert found is not None
        assert found.status == "succeeded"


def test_a_handler_may_stop_the_workers_it_is_run_by(engine: longmind.Engine, ctx: longmind.Context) -> None:
    together = threading.Barrier(2)

    def stop(run: JobRun) -> bool:
        together.wait(PATIENCE)
        return engine.stop_workers()

    engine.register_job("stop", stop)
    jobs = [ctx.jobs.enqueue("stop") for _ in range(2)]
    before = workers_alive()
    engine.start_workers(2)
    for thread in workers_alive(before):
        thread.join(PATIENCE)
    assert workers_alive(before) == []
    assert [job.result for job in ctx.jobs.list_jobs(status="succeeded")] == [False] * len(jobs)
    # Those that are started afterwards heed their own sign.
    done = threading.Event()
    engine.register_job("note", lambda run: done.set())
    engine.start_workers()
    ctx.jobs.enqueue("note")
    assert done.wait(PATIENCE)
    assert engine.stop_workers()


def test_a_handler_may_close_the_engine_it_is_run_by(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    closed: list[bool] = []
    engine = longmind.open(database_url)

    def close(run: JobRun) -> None:
        engine.close()
        closed.append(True)

    engine.register_job("close", close)
    engine.context(**WHO).jobs.enqueue("close")
    before = workers_alive()
    engine.start_workers()
    for thread in workers_alive(before):
        thread.join(PATIENCE)
    assert workers_alive(before) == []
    assert closed == [True]
    with pytest.raises(longmind.EngineClosed):
        engine.last_cursor()
    assert [each for each in caplog.records if each.name == "longmind.jobs" and each.levelname != "DEBUG"] == []


def test_a_timeout_that_is_none_is_refused_and_stops_nobody(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.start_workers()
    wrong: list[Any] = ["1", True, -1, float("nan"), float("inf")]
    for timeout in wrong:
        with pytest.raises(longmind.InvalidInput, match="timeout") as refusal:
            engine.stop_workers(timeout)
        assert refusal.value.hint
    done = threading.Event()
    engine.register_job("note", lambda run: done.set())
    ctx.jobs.enqueue("note")
    assert done.wait(PATIENCE)


def test_workers_stop_at_once_however_seldom_they_look(engine: longmind.Engine, ctx: longmind.Context) -> None:
    for _ in range(50):
        engine.start_workers(2)
        ctx.jobs.enqueue("unknown")
        assert engine.stop_workers(PATIENCE)


def test_closing_lets_the_job_at_hand_finish(database_url: str) -> None:
    before = workers_alive()
    gate = Gate()
    engine = longmind.open(database_url)
    engine.register_job("gate", gate)
    ctx = engine.context(**WHO)
    for _ in range(2):
        ctx.jobs.enqueue("gate")
    engine.start_workers(1)
    assert gate.reached.wait(PATIENCE)
    sign = engine._stop
    closing = threading.Thread(target=engine.close)
    closing.start()
    assert sign.wait(PATIENCE)
    closing.join(0.1)
    assert closing.is_alive()
    gate.open.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert len(gate.passed) == 1
    assert workers_alive(before) == []
    with longmind.open(database_url) as again:
        assert statuses(again.context(**WHO)) == {"succeeded": 1, "queued": 1}


def test_workers_can_be_started_again_after_they_were_stopped(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.start_workers(2)
    assert engine.stop_workers()
    assert engine.stop_workers()  # none are left, which is fine
    done = threading.Event()
    engine.register_job("note", lambda run: done.set())
    engine.start_workers()
    ctx.jobs.enqueue("note")
    assert done.wait(PATIENCE)


def test_a_number_of_workers_that_is_none_is_refused(engine: longmind.Engine) -> None:
    before = workers_alive()
    wrong: list[Any] = [0, -1, 65, True, 1.5, "2", None]
    for count in wrong:
        with pytest.raises(longmind.InvalidInput, match="count"):
            engine.start_workers(count)
    assert workers_alive(before) == []
