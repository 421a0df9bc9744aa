"""Jobs are queued, found, and done when they are due."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from longmind import JobRun, WorkReport
from tests.clock import SettableClock


def looked_up(ctx: longmind.Context, job: longmind.Job) -> longmind.Job:
    found = ctx.jobs.get_job(job.id)
    assert found is not None
    return found


def test_a_queued_job_says_what_it_is_and_when_it_is_due(ctx: longmind.Context) -> None:
    job = ctx.jobs.enqueue("summarise", {"conversation": "conv_1"})
    assert re.fullmatch(r"job_[0-9a-f]{32}", job.id)
    assert (job.kind, job.status, job.payload) == ("summarise", "queued", {"conversation": "conv_1"})
    assert (job.attempts, job.max_attempts, job.unique_key) == (0, 5, None)
    assert job.due_at == job.created_at == job.updated_at == "2026-03-01T09:30:00.000000Z"
    assert (job.result, job.error, job.finished_at) == (None, None, None)
    assert looked_up(ctx, job) == job


def test_a_job_is_done_once_and_keeps_its_result(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    runs: list[JobRun] = []

    def handle(run: JobRun) -> Any:
        runs.append(run)
        return {"said": ["héllo", 1, None]}

    engine.register_job("greet", handle)
    job = ctx.jobs.enqueue("greet", {"who": "Ada"})
    clock.advance(5)
    assert engine.work() == WorkReport(succeeded=1)
    done = looked_up(ctx, job)
    assert (done.status, done.result, done.error) == ("succeeded", {"said": ["héllo", 1, None]}, None)
    assert (done.attempts, done.due_at, done.finished_at) == (1, None, "2026-03-01T09:30:05.000000Z")
    clock.advance(86_400)
    assert engine.work() == WorkReport()
    assert [(run.job.id, run.job.status, run.job.payload) for run in runs] == [(job.id, "running", {"who": "Ada"})]


def test_a_handler_works_in_the_context_of_the_user_whose_job_it_is(engine: longmind.Engine) -> None:
    contexts = [engine.context(tenant_id="acme", app_id="support", user_id=user) for user in ("ada", "bob")]
    engine.register_job("begin", lambda run: run.context.conversations.create_conversation(run.scope.user_id).id)
    for context in contexts:
        context.jobs.enqueue("begin")
    assert engine.work().succeeded == 2
    for context in contexts:
        assert [each.namespace for each in context.conversations.list_conversations()] == [context.scope.user_id]


def test_a_handler_may_ask_whether_the_job_is_still_its_own(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("ask", lambda run: run.still_ours())
    job = ctx.jobs.enqueue("ask")
    engine.work()
    assert looked_up(ctx, job).result is True


def test_a_unique_key_gives_the_job_of_the_first_time(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("count", lambda run: run.job.payload["number"])
    first = ctx.jobs.enqueue("count", {"number": 1}, unique_key="once")
    assert ctx.jobs.enqueue("count", {"number": 2}, unique_key="once") == first
    assert engine.work() == WorkReport(succeeded=1)
    assert ctx.jobs.enqueue("count", {"number": 3}, unique_key="once") == looked_up(ctx, first)
    assert engine.work() == WorkReport()
    assert looked_up(ctx, first).result == 1


def test_a_unique_key_belongs_to_one_kind_of_one_user(engine: longmind.Engine, ctx: longmind.Context) -> None:
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    jobs = [
        ctx.jobs.enqueue("a", unique_key="k"),
        ctx.jobs.enqueue("b", unique_key="k"),
        ctx.jobs.enqueue("a", unique_key="K"),
        ctx.jobs.enqueue("a"),
        ctx.jobs.enqueue("a"),
        bob.jobs.enqueue("a", unique_key="k"),
    ]
    assert len({job.id for job in jobs}) == 6


def test_of_many_who_queue_one_unique_key_at_once_all_get_the_same_job(ctx: longmind.Context) -> None:
    together = threading.Barrier(8)

    def enqueue() -> str:
        together.wait()
        return ctx.jobs.enqueue("a", unique_key="k").id

    with ThreadPoolExecutor(8) as pool:
        ids = {future.result() for future in [pool.submit(enqueue) for _ in range(8)]}
    assert [job.id for job in ctx.jobs.list_jobs()] == list(ids)


def test_a_job_for_later_waits_for_its_time(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    engine.register_job("remind", lambda run: "reminded")
    job = ctx.jobs.enqueue("remind", run_at="2026-03-01T11:00:00+01:00")
    assert job.due_at == "2026-03-01T10:00:00.000000Z"
    clock.advance(1800 - 0.000001)
    assert engine.work() == WorkReport()
    assert looked_up(ctx, job).status == "queued"
    clock.advance(0.000001)
    assert engine.work() == WorkReport(succeeded=1)


def test_a_job_whose_time_has_passed_is_due_at_once(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("remind", lambda run: None)
    ctx.jobs.enqueue("remind", run_at="1999-01-01")
    assert engine.work() == WorkReport(succeeded=1)


def test_a_job_of_an_unknown_kind_waits_until_the_kind_is_registered(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    job = ctx.jobs.enqueue("exotic")
    engine.register_job("ordinary", lambda run: None)
    clock.advance(86_400)
    assert engine.work() == WorkReport()
    assert (looked_up(ctx, job).status, looked_up(ctx, job).attempts) == ("queued", 0)
    engine.register_job("exotic", lambda run: "at last")
    assert engine.work() == WorkReport(succeeded=1)
    assert looked_up(ctx, job).result == "at last"


def test_a_kind_that_is_registered_again_is_handled_anew(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("greet", lambda run: "old")
    engine.register_job("greet", lambda run: "new")
    job = ctx.jobs.enqueue("greet")
    assert engine.work() == WorkReport(succeeded=1)
    assert looked_up(ctx, job).result == "new"


def test_the_report_counts_attempts_by_what_became_of_them(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("good", lambda run: None)
    engine.register_job("bad", lambda run: 1 / 0)
    for _ in range(3):
        ctx.jobs.enqueue("good")
    for attempts in (2, 2, 1):
        ctx.jobs.enqueue("bad", max_attempts=attempts)
    assert engine.work() == WorkReport(succeeded=3, failed=2, dead=1)


def test_work_can_be_limited_to_a_number_of_attempts(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("good", lambda run: None)
    for _ in range(5):
        ctx.jobs.enqueue("good")
    assert engine.work(limit=2) == WorkReport(succeeded=2)
    assert len(ctx.jobs.list_jobs(status="queued")) == 3
    for wrong in (0, -1, "2", 1.5, True):
        with pytest.raises(longmind.InvalidInput):
            engine.work(limit=wrong)  # type: ignore[arg-type]
    assert engine.work(limit=10) == WorkReport(succeeded=3)


def test_what_a_job_queues_is_done_in_the_same_call(engine: longmind.Engine, ctx: longmind.Context) -> None:
    def count_down(run: JobRun) -> None:
        left = run.job.payload["left"]
        if left:
            run.context.jobs.enqueue("count-down", {"left": left - 1})

    engine.register_job("count-down", count_down)
    ctx.jobs.enqueue("count-down", {"left": 3})
    assert engine.work() == WorkReport(succeeded=4)


def test_jobs_of_one_kind_are_done_in_the_order_they_became_due(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    done: list[str] = []
    engine.register_job("note", lambda run: done.append(run.job.payload["name"]))
    ctx.jobs.enqueue("note", {"name": "late"}, run_at="2026-03-01T09:30:03Z")
    ctx.jobs.enqueue("note", {"name": "first"}, run_at="2026-03-01T09:30:01Z")
    clock.advance(2)
    ctx.jobs.enqueue("note", {"name": "second"})
    clock.advance(2)
    engine.work()
    assert done == ["first", "second", "late"]


def test_a_flood_of_one_kind_does_not_hold_up_another(engine: longmind.Engine, ctx: longmind.Context) -> None:
    done: list[str] = []
    for kind in ("flood", "trickle", "drop"):
        engine.register_job(kind, lambda run: done.append(run.job.kind))
    for _ in range(20):
        ctx.jobs.enqueue("flood")
    for kind in ("trickle", "trickle", "drop"):
        ctx.jobs.enqueue(kind)
    assert engine.work(limit=6).succeeded == 6
    assert (done.count("trickle"), done.count("drop")) == (2, 1)


def test_jobs_outlive_the_engine_that_queued_them(database_url: str) -> None:
    who: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}
    with longmind.open(database_url) as engine:
        job = engine.context(**who).jobs.enqueue("greet", {"who": "Ada"})
    with longmind.open(database_url) as engine:
        engine.register_job("greet", lambda run: f"Hello {run.job.payload['who']}")
        assert engine.work() == WorkReport(succeeded=1)
        assert looked_up(engine.context(**who), job).result == "Hello Ada"


def test_jobs_of_another_user_are_invisible(engine: longmind.Engine, ctx: longmind.Context) -> None:
    engine.register_job("bad", lambda run: 1 / 0)
    job = ctx.jobs.enqueue("bad", unique_key="k", max_attempts=1)
    engine.work()
    strangers = [
        engine.context(tenant_id="other", app_id="support", user_id="ada"),
        engine.context(tenant_id="acme", app_id="other", user_id="ada"),
        engine.context(tenant_id="acme", app_id="support", user_id="bob"),
    ]
    for stranger in strangers:
        assert stranger.jobs.get_job(job.id) is None
        assert stranger.jobs.list_jobs() == []
        with pytest.raises(longmind.NotFound) as foreign:
            stranger.jobs.retry_job(job.id)
        with pytest.raises(longmind.NotFound) as missing:
            stranger.jobs.retry_job("job_none")
        assert str(foreign.value).replace(job.id, "job_none") == str(missing.value)
    assert looked_up(ctx, job).status == "dead"


def test_jobs_are_listed_newest_first_and_page_by_page(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    engine.register_job("good", lambda run: None)
    jobs = []
    for number in range(7):
        jobs.append(ctx.jobs.enqueue("good" if number % 2 else "exotic"))
        clock.advance(1)
    engine.work()
    newest_first = [job.id for job in reversed(jobs)]
    assert [job.id for job in ctx.jobs.list_jobs()] == newest_first
    assert [job.id for job in ctx.jobs.list_jobs(kind="good")] == newest_first[1::2]
    assert [job.id for job in ctx.jobs.list_jobs(status="queued")] == newest_first[::2]
    assert ctx.jobs.list_jobs(status="dead") == []
    for limit in (1, 2, 3, 6, 7, 8):
        found: list[str] = []
        cursor = None
        while True:
            page = ctx.jobs.list_jobs(limit=limit, cursor=cursor)
            found += [job.id for job in page]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert found == newest_first, limit


def test_the_pages_of_jobs_queued_in_one_instant_hold_each_once(ctx: longmind.Context) -> None:
    queued = {ctx.jobs.enqueue("a").id for _ in range(9)}
    first = ctx.jobs.list_jobs(limit=5)
    rest = ctx.jobs.list_jobs(limit=5, cursor=first.next_cursor)
    assert sorted(job.id for job in [*first, *rest]) == sorted(queued)
    assert rest.next_cursor is None


def test_a_job_becomes_json_with_camel_case_names(ctx: longmind.Context) -> None:
    dumped = ctx.jobs.enqueue("a", {"snake_key": 1}).model_dump(mode="json")
    assert set(dumped) == {
        "id", "kind", "status", "payload", "result", "error", "attempts", "maxAttempts", "uniqueKey", "dueAt",
        "createdAt", "updatedAt", "finishedAt",
    }  # fmt: skip
    assert dumped["payload"] == {"snake_key": 1}


def test_what_cannot_be_queued_is_refused(ctx: longmind.Context) -> None:
    wrong_kinds: list[Any] = ["", "Greet", "9lives", "a b", "a" * 101, None, 5, "é", "a\x00"]
    for kind in wrong_kinds:
        with pytest.raises(longmind.InvalidInput, match="kind"):
            ctx.jobs.enqueue(kind)
    wrong_payloads: list[Any] = [[1], "text", 5, {"a": {1}}, {"a": float("nan")}, {1: 2}, {"a": "\x00"}]
    for payload in wrong_payloads:
        with pytest.raises(longmind.InvalidInput, match="payload"):
            ctx.jobs.enqueue("a", payload)
    with pytest.raises(longmind.LimitExceeded, match="payload"):
        ctx.jobs.enqueue("a", {"a": "x" * 1024 * 1024})
    wrong_times: list[Any] = ["soon", 5, "9999-12-31T23:59:59-12:00"]
    for time in wrong_times:
        with pytest.raises(longmind.InvalidInput, match="run_at"):
            ctx.jobs.enqueue("a", run_at=time)
    wrong_counts: list[Any] = [0, -1, True, 1.5, "3"]
    for count in wrong_counts:
        with pytest.raises(longmind.InvalidInput, match="max_attempts"):
            ctx.jobs.enqueue("a", max_attempts=count)
    with pytest.raises(longmind.LimitExceeded, match="max_attempts"):
        ctx.jobs.enqueue("a", max_attempts=101)
    wrong_keys: list[Any] = ["", "  ", 5, "a\x00"]
    for key in wrong_keys:
        with pytest.raises(longmind.InvalidInput, match="unique_key"):
            ctx.jobs.enqueue("a", unique_key=key)
    assert ctx.jobs.list_jobs() == []


def test_what_cannot_be_listed_or_registered_is_refused(engine: longmind.Engine, ctx: longmind.Context) -> None:
    wrong_filters: list[dict[str, Any]] = [{"status": "done"}, {"kind": "A B"}, {"limit": 0}, {"cursor": 5}]
    for filters in wrong_filters:
        with pytest.raises(longmind.InvalidInput, match=next(iter(filters))):
            ctx.jobs.list_jobs(**filters)
    not_callable: Any = "print"
    with pytest.raises(longmind.InvalidInput, match="callable"):
        engine.register_job("a", not_callable)
    with pytest.raises(longmind.InvalidInput, match="kind"):
        engine.register_job("A B", lambda run: None)


def test_a_flood_of_one_kind_does_not_hold_up_another_between_calls(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    done: list[str] = []
    for kind in ("flood", "trickle"):
        engine.register_job(kind, lambda run: done.append(run.job.kind))
    for _ in range(10):
        ctx.jobs.enqueue("flood")
    ctx.jobs.enqueue("trickle")
    for _ in range(3):
        engine.work(limit=1)
    assert "trickle" in done
