"""The asynchronous twin: the same operations, awaitable."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import typing
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

import longmind
from longmind.aio.engine import AsyncContext, AsyncEngine, Opening
from longmind.operations import OPERATIONS
from tools import twins

T = TypeVar("T")


def run(database_url: str, scenario: Callable[[AsyncEngine, AsyncContext], Awaitable[T]]) -> T:
    async def main() -> T:
        async with longmind.open_async(database_url) as engine:
            return await scenario(engine, engine.context(tenant_id="acme", app_id="support", user_id="ada"))

    return asyncio.run(main())


def test_every_operation_is_awaitable_with_the_same_signature() -> None:
    services = typing.get_type_hints(longmind.Context)
    for operation in OPERATIONS:
        twin = getattr(getattr(longmind.aio.services, f"Async{services[operation.service].__name__}"), operation.name)
        assert inspect.iscoroutinefunction(twin), operation.path
        assert inspect.signature(twin, eval_str=True) == inspect.signature(operation.method, eval_str=True)
        assert inspect.getdoc(twin) == inspect.getdoc(operation.method)


def test_the_engine_and_the_context_have_the_same_public_names() -> None:
    def names(of: type) -> set[str]:
        return {name for name in dir(of) if not name.startswith("_")} - {"renew_after_fork", "following"}

    # Two are attributes on the synchronous engine; `following` is what both followers are made of.
    assert names(AsyncEngine) == names(longmind.Engine) | {"settings", "templates"}


@pytest.mark.parametrize("name", sorted({name for name in dir(longmind.Engine) if not name.startswith("_")}))
def test_a_method_of_the_engine_has_the_same_signature_and_docstring_awaitable(name: str) -> None:
    if name in ("renew_after_fork", "following"):
        return
    original, twin = getattr(longmind.Engine, name), getattr(AsyncEngine, name)
    assert inspect.signature(twin).parameters == inspect.signature(original).parameters
    assert inspect.getdoc(twin) == inspect.getdoc(original) != ""


def test_an_engine_is_opened_with_the_same_parameters() -> None:
    assert inspect.signature(longmind.open_async).parameters == inspect.signature(longmind.open).parameters


def test_the_stub_for_type_checkers_is_current() -> None:
    assert twins.main(["--check"]) == 0


def test_a_conversation_is_kept_and_replayed(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        conversation = await ctx.conversations.create_conversation("daily-checkin")
        await ctx.conversations.append_turn(
            conversation.id, user_content="I prefer Tuesdays.", assistant={"content": "Noted."}
        )
        closed = await ctx.conversations.close_conversation(conversation.id)
        assert closed.status == "closed"
        said = await ctx.conversations.get_messages(conversation.id)
        assert [message.text for message in said] == ["I prefer Tuesdays.", "Noted."]

    run(database_url, scenario)


def test_memory_is_kept_and_found(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        space = await ctx.memory.create_memory_space("personal")
        place = await ctx.memory.create_entity(space.id, "PLACE", "Graz")
        old = await ctx.memory.add_atom(
            space.id,
            {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}, "entity_ids": [place.id]},
        )
        await ctx.memory.supersede_atom(
            old.id, {"text": "Ada lives in Wien.", "category": {"name": "home", "kind": "FACT"}}
        )
        recall = await ctx.memory.recall_by_topic(space.id, "Where does Ada live?")
        assert [hit.atom.text for hit in recall.hits] == ["Ada lives in Wien."]
        timeline = await ctx.memory.recall_timeline(space.id)
        assert [hit.atom.text for hit in timeline.hits] == ["Ada lives in Graz.", "Ada lives in Wien."]
        with pytest.raises(longmind.Conflict):
            await ctx.memory.supersede_atom(old.id, {"text": "No.", "category": {"name": "home", "kind": "FACT"}})

    run(database_url, scenario)


def test_many_tasks_remember_at_once_and_nothing_is_lost(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        space = await ctx.memory.create_memory_space("busy")
        category = {"name": "notes", "kind": "FACT"}
        added = await asyncio.gather(
            *(ctx.memory.add_atom(space.id, {"text": f"Note {i}.", "category": category}) for i in range(50))
        )
        listed = await ctx.memory.list_atoms(space.id)
        assert {atom.id for atom in listed} == {atom.id for atom in added}
        assert len(listed) == 50

    run(database_url, scenario)


def test_errors_arrive_as_they_are(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        with pytest.raises(longmind.NotFound):
            await ctx.conversations.get_messages("conv_none")
        with pytest.raises(longmind.InvalidInput):
            await ctx.conversations.create_conversation("*")

    run(database_url, scenario)


def test_many_tasks_append_at_once_without_a_gap(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> list[longmind.Message]:
        conversation = await ctx.conversations.create_conversation("busy")
        await asyncio.gather(
            *(
                ctx.conversations.append_turn(conversation.id, user_content=f"{i}", assistant={"content": f"re {i}"})
                for i in range(100)
            )
        )
        return await ctx.conversations.get_messages(conversation.id, limit=1000)

    messages = run(database_url, scenario)
    assert [message.sequence for message in messages] == list(range(1, 201))
    for asked, answered in zip(messages[::2], messages[1::2], strict=True):
        assert answered.text == f"re {asked.text}"
        assert answered.turn_id == asked.turn_id


def test_the_loop_goes_on_while_an_operation_waits(tmp_path: Any) -> None:
    """A writer in another connection holds the file; the loop must not be held with it."""
    url = f"sqlite:///{tmp_path}/memory.db"

    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> int:
        import apsw

        blocker = apsw.Connection(f"{tmp_path}/memory.db")
        blocker.execute("BEGIN IMMEDIATE")
        append = asyncio.create_task(ctx.conversations.create_conversation("waits"))
        ticks = 0
        while ticks < 20:
            await asyncio.sleep(0.005)
            ticks += 1
        assert not append.done()
        blocker.execute("ROLLBACK")
        await append
        return ticks

    assert run(url, scenario) == 20


def test_changes_can_be_followed_and_subscribed_to_by_coroutines(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        seen: list[str] = []
        all_seen = asyncio.Event()

        async def listen(change: longmind.Change) -> None:
            seen.append(change.kind)
            if len(seen) == 3:
                all_seen.set()

        engine.subscribe(listen)
        conversation = await ctx.conversations.create_conversation("followed")
        await ctx.conversations.append_user_message(conversation.id, "hello")
        await ctx.conversations.close_conversation(conversation.id)
        await asyncio.wait_for(all_seen.wait(), 60)
        assert seen == ["conversation.created", "message.appended", "conversation.closed"]
        followed = [change async for change in engine.follow()]
        assert [change.kind for change in followed] == seen
        assert [change async for change in engine.follow(followed[-1].cursor)] == []

    run(database_url, scenario)


def test_a_follower_waits_for_what_comes(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> str:
        # Known before anything comes: who asks later might ask too late.
        cursor = await engine.last_cursor()

        async def first() -> str:
            async for change in engine.follow(cursor, wait=True):
                return change.kind
            return "nothing came"

        follower = asyncio.create_task(first())
        await asyncio.sleep(0.1)
        await ctx.conversations.create_conversation("later")
        return await asyncio.wait_for(follower, 60)

    assert run(database_url, scenario) == "conversation.created"


def test_a_handler_may_be_a_coroutine_on_the_callers_loop(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        loop = asyncio.get_running_loop()

        async def handle(job: longmind.JobRun) -> dict[str, bool]:
            await asyncio.sleep(0)
            return {"on_the_loop": asyncio.get_running_loop() is loop}

        engine.register_job("greet", handle)
        job = await ctx.jobs.enqueue("greet")
        assert (await engine.work()).succeeded == 1
        done = await ctx.jobs.get_job(job.id)
        assert done is not None
        assert done.result == {"on_the_loop": True}

    run(database_url, scenario)


def threads_of_the_twin() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("longmind-async")]


def test_whatever_gives_an_awaitable_serves_as_handler_and_subscriber(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[str] = asyncio.Queue()

        async def handle(name: str, job: longmind.JobRun) -> str:
            assert asyncio.get_running_loop() is loop
            return name

        async def listen(name: str, change: longmind.Change) -> None:
            assert asyncio.get_running_loop() is loop
            told.put_nowait(name)

        class Either:
            async def __call__(self, given: Any) -> str:
                await (listen if isinstance(given, longmind.Change) else handle)("object", given)
                return "object"

        handlers: dict[str, Callable[[longmind.JobRun], Any]] = {
            "object": Either(),
            "lambda": lambda job: handle("lambda", job),
            "partial": partial(handle, "partial"),
        }
        for name, handler in handlers.items():
            engine.register_job(name, handler)
            await ctx.jobs.enqueue(name)
        assert (await engine.work()).succeeded == 3
        assert {(job.kind, job.result) for job in await ctx.jobs.list_jobs()} == {(name, name) for name in handlers}
        for subscriber in (Either(), lambda change: listen("lambda", change), partial(listen, "partial")):
            engine.subscribe(subscriber)
        await ctx.conversations.create_conversation("n")
        assert {await asyncio.wait_for(told.get(), 60) for _ in range(3)} == set(handlers)
        not_callable: Any = 5
        with pytest.raises(longmind.InvalidInput):
            engine.subscribe(not_callable)
        with pytest.raises(longmind.InvalidInput):
            engine.register_job("n", not_callable)

    run(database_url, scenario)


def test_a_coroutine_that_fails_on_a_change_is_logged(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> None:
        async def fail(change: longmind.Change) -> None:
            raise ValueError("I am broken")

        engine.subscribe(fail)
        await ctx.conversations.create_conversation("n")
        async with asyncio.timeout(60):
            while not caplog.records:
                await asyncio.sleep(0.01)

    run(database_url, scenario)
    assert [(record.name, record.levelname) for record in caplog.records] == [("longmind.changes", "ERROR")]
    assert "I am broken" in caplog.text


def test_a_coroutine_that_wants_to_end_the_program_is_a_failed_attempt(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> str | None:
        async def end(job: longmind.JobRun) -> None:
            raise SystemExit(3)

        engine.register_job("end", end)
        job = await ctx.jobs.enqueue("end", max_attempts=1)
        assert (await engine.work()).dead == 1
        dead = await ctx.jobs.get_job(job.id)
        assert dead is not None
        return dead.error

    assert "SystemExit: 3" in (run(database_url, scenario) or "")


def test_as_much_work_at_once_as_there_are_threads_leaves_some_for_the_handlers(database_url: str) -> None:
    async def scenario(engine: AsyncEngine, ctx: AsyncContext) -> int:
        conversation = await ctx.conversations.create_conversation("n")
        at_work = 0
        all_at_work = asyncio.Event()

        async def look(job: longmind.JobRun) -> str:
            nonlocal at_work
            at_work += 1
            if at_work == 32:
                all_at_work.set()
            await all_at_work.wait()
            found = await ctx.conversations.get_conversation(conversation.id)
            assert found is not None
            return found.id

        engine.register_job("look", look)
        for _ in range(32):
            await ctx.jobs.enqueue("look")
        async with asyncio.timeout(60):
            return sum(report.succeeded for report in await asyncio.gather(*(engine.work() for _ in range(32))))

    assert run(database_url, scenario) == 32
    assert threads_of_the_twin() == []


def test_an_engine_that_was_not_awaited_says_so() -> None:
    with pytest.raises(AttributeError, match=r"engine = await longmind\.open_async"):
        longmind.open_async("sqlite:///:memory:").context  # type: ignore[attr-defined]  # noqa: B018


def test_a_closing_that_nobody_waited_for_is_completed_by_the_next(database_url: str) -> None:
    async def main() -> None:
        engine = await longmind.open_async(database_url)
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        reached, gate = asyncio.Event(), asyncio.Event()

        async def stand(job: longmind.JobRun) -> None:
            reached.set()
            await gate.wait()

        engine.register_job("stand", stand)
        await ctx.jobs.enqueue("stand")
        engine.start_workers()
        await asyncio.wait_for(reached.wait(), 60)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await engine.close()
        again = asyncio.create_task(engine.close())
        await asyncio.sleep(0.05)
        assert not again.done()
        gate.set()
        await asyncio.wait_for(again, 60)
        await engine.close()
        assert threads_of_the_twin() == []

    asyncio.run(main())
    with longmind.open(database_url) as engine:
        jobs = engine.context(tenant_id="acme", app_id="support", user_id="ada").jobs
        assert [job.status for job in jobs.list_jobs()] == ["succeeded"]


def test_a_closing_that_its_loop_cut_short_is_completed_on_another(database_url: str) -> None:
    gate, reached = threading.Event(), threading.Event()

    def stand(job: longmind.JobRun) -> None:
        reached.set()
        gate.wait(60)

    async def begin() -> AsyncEngine:
        engine = await longmind.open_async(database_url)
        engine.register_job("stand", stand)
        await engine.context(tenant_id="acme", app_id="support", user_id="ada").jobs.enqueue("stand")
        engine.start_workers()
        await asyncio.to_thread(reached.wait, 60)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await engine.close()
        return engine

    engine = asyncio.run(begin())
    gate.set()
    asyncio.run(engine.close())
    assert threads_of_the_twin() == []


def test_a_closed_engine_cannot_be_followed_and_a_waiting_follower_ends_with_it(database_url: str) -> None:
    async def main() -> None:
        engine = await longmind.open_async(database_url)
        seen: list[str] = []
        came = asyncio.Event()

        async def follow() -> None:
            async for change in engine.follow(wait=True):
                seen.append(change.kind)
                came.set()

        follower = asyncio.create_task(follow())
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        await ctx.conversations.create_conversation("n")
        await asyncio.wait_for(came.wait(), 60)
        await engine.close()
        await asyncio.wait_for(follower, 60)
        assert seen == ["conversation.created"]
        for wait in (False, True):
            with pytest.raises(longmind.EngineClosed):
                await anext(engine.follow(wait=wait))
        with pytest.raises(longmind.EngineClosed):
            await engine.work()

    asyncio.run(main())


def test_an_engine_can_be_awaited_instead_of_entered(database_url: str) -> None:
    async def main() -> None:
        engine = await longmind.open_async(database_url)
        await engine.close()
        await engine.close()

    before = threading.active_count()
    asyncio.run(main())
    assert threading.active_count() <= before


def test_a_failed_open_raises_and_leaves_no_thread() -> None:
    async def main() -> None:
        with pytest.raises(longmind.InvalidUrl):
            await longmind.open_async("mysql://nowhere")

    before = threading.active_count()
    asyncio.run(main())
    assert threading.active_count() <= before


def test_an_opening_that_is_cancelled_leaves_nothing_open(tmp_path: Path) -> None:
    begun, gate = threading.Event(), threading.Event()

    def open_slowly() -> longmind.Engine:
        begun.set()
        gate.wait(60)
        engine = longmind.open(f"sqlite:///{tmp_path}/memory.db")
        opened.append(engine)
        return engine

    opened: list[longmind.Engine] = []

    async def main() -> None:
        async def wait_for_it() -> None:
            await Opening(open_slowly)

        opening = asyncio.create_task(wait_for_it())
        await asyncio.to_thread(begun.wait, 30)
        opening.cancel()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(main())
    with pytest.raises(longmind.EngineClosed):
        opened[0].last_cursor()
    assert threads_of_the_twin() == []


def test_the_twin_works_in_a_forked_child_and_its_parent_goes_on(database_url: str) -> None:
    async def parent(engine: AsyncEngine, ctx: AsyncContext) -> list[str]:
        conversation = await ctx.conversations.create_conversation("forked")
        await ctx.conversations.append_user_message(conversation.id, "before")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                # The child has a loop of its own; the parent's belongs to the parent.
                asyncio.events._set_running_loop(None)
                asyncio.run(_append(ctx, conversation.id, "from the child"))
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        assert status == 0
        await ctx.conversations.append_user_message(conversation.id, "after")
        return [message.text for message in await ctx.conversations.get_messages(conversation.id)]

    assert run(database_url, parent) == ["before", "from the child", "after"]


async def _append(ctx: AsyncContext, conversation_id: str, text: str) -> None:
    await ctx.conversations.append_user_message(conversation_id, text)
