"""What a job writes is committed together with its end: both, or neither."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import longmind
from longmind import Effect, JobRun, WorkReport
from longmind.store.database import Transaction
from longmind.store.tables import conversations
from longmind.store.tables.conversations import NewConversation
from longmind.store.tables.erasures import raise_epoch
from tests.clock import SettableClock
from tests.jobs.test_queue import looked_up


def begin(run: Transaction, scope: longmind.Scope, namespace: str) -> str:
    """A unit of work, as an effect would have one: it begins a conversation."""
    return conversations.create(run, scope, NewConversation(namespace, None, None, "{}"), 0).id


def namespaces(ctx: longmind.Context) -> list[str]:
    return [each.namespace for each in ctx.conversations.list_conversations()]


def test_an_effect_is_committed_with_the_end_of_its_job(engine: longmind.Engine, ctx: longmind.Context) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    engine.register_job("begin", lambda run: Effect(begin, (run.scope, "by-a-job")))
    job = ctx.jobs.enqueue("begin")
    assert engine.work() == WorkReport(succeeded=1)
    (made,) = ctx.conversations.list_conversations()
    assert (made.namespace, looked_up(ctx, job).result) == ("by-a-job", made.id)
    assert [(change.kind, change.conversation_id) for change in told] == [("conversation.created", made.id)]


def test_an_effect_that_fails_half_way_leaves_nothing_behind(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    tries: list[str] = []

    def begin_and_fail(run: Transaction, scope: longmind.Scope) -> str:
        tries.append(begin(run, scope, "half-way"))
        if len(tries) == 1:
            raise ValueError("half-way")
        return tries[-1]

    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    engine.register_job("begin", lambda run: Effect(begin_and_fail, (run.scope,)))
    job = ctx.jobs.enqueue("begin")
    assert engine.work() == WorkReport(failed=1)
    assert (looked_up(ctx, job).status, looked_up(ctx, job).error) == ("failed", "ValueError: half-way")
    assert (namespaces(ctx), told, list(engine.follow())) == ([], [], [])
    clock.advance(10)
    assert engine.work() == WorkReport(succeeded=1)
    assert [change.conversation_id for change in told] == [tries[1]]
    assert namespaces(ctx) == ["half-way"]


def test_an_effect_whose_result_is_not_json_leaves_nothing_behind(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    def begin_and_answer(run: Transaction, scope: longmind.Scope) -> Any:
        begin(run, scope, "odd")
        return object()

    engine.register_job("begin", lambda run: Effect(begin_and_answer, (run.scope,)))
    job = ctx.jobs.enqueue("begin", max_attempts=1)
    assert engine.work() == WorkReport(dead=1)
    assert namespaces(ctx) == []
    assert "result" in (looked_up(ctx, job).error or "")


def test_what_a_handler_writes_by_itself_stays_when_it_fails_later(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    def write_and_fail(run: JobRun) -> None:
        run.context.conversations.create_conversation("by-the-handler")
        raise ValueError("later")

    engine.register_job("write", write_and_fail)
    ctx.jobs.enqueue("write")
    assert engine.work() == WorkReport(failed=1)
    assert namespaces(ctx) == ["by-the-handler"]


@pytest.mark.parametrize("when", ["before it is taken", "while it is worked on"])
def test_a_job_from_before_an_erasure_writes_nothing_after_it(
    engine: longmind.Engine, ctx: longmind.Context, when: str
) -> None:
    def erase() -> None:
        engine._database.write(ctx.scope, raise_epoch)

    def handle(run: JobRun) -> Effect:
        if when == "while it is worked on":
            erase()
        return Effect(begin, (run.scope, "resurrected"))

    engine.register_job("begin", handle)
    job = ctx.jobs.enqueue("begin")
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    if when == "before it is taken":
        erase()
        bob.jobs.enqueue("begin")
        assert engine.work() == WorkReport(succeeded=1)
        # The erasure was Ada's alone.
        assert namespaces(bob) == ["resurrected"]
    else:
        assert engine.work() == WorkReport(lost=1)
    assert namespaces(ctx) == []
    assert looked_up(ctx, job).result is None
    engine.register_job("begin", lambda run: Effect(begin, (run.scope, "new")))
    ctx.jobs.enqueue("begin")
    assert engine.work().succeeded == 1
    assert namespaces(ctx) == ["new"]


def test_the_late_result_of_a_job_that_another_worker_has_done_is_refused(
    engine: longmind.Engine,
    ctx: longmind.Context,
    clock: SettableClock,
    database_url: str,
    end_leases: Callable[[], None],
) -> None:
    with longmind.open(database_url, clock=clock) as other:
        other.register_job("begin", lambda run: Effect(begin, (run.scope, "in-time")))

        def oversleep(run: JobRun) -> Effect:
            end_leases()
            assert other.work() == WorkReport(succeeded=1)
            assert not run.still_ours()
            return Effect(begin, (run.scope, "late"))

        engine.register_job("begin", oversleep)
        job = ctx.jobs.enqueue("begin")
        assert engine.work() == WorkReport(lost=1)
    assert namespaces(ctx) == ["in-time"]
    assert (looked_up(ctx, job).status, looked_up(ctx, job).attempts) == ("succeeded", 2)
