"""The asynchronous twin: the same operations, awaitable."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

import recollect
from recollect.asynchronous import AsyncContext, AsyncRecollect
from recollect.operations import OPERATIONS
from tools import twins

T = TypeVar("T")


def run(database_url: str, scenario: Callable[[AsyncRecollect, AsyncContext], Awaitable[T]]) -> T:
    async def main() -> T:
        async with recollect.open_async(database_url) as engine:
            return await scenario(engine, engine.context(tenant_id="acme", app_id="support", user_id="ada"))

    return asyncio.run(main())


def test_every_operation_is_awaitable_with_the_same_signature() -> None:
    for operation in OPERATIONS:
        twin = getattr(
            getattr(recollect.twins, f"Async{operation.method.__qualname__.partition('.')[0]}"), operation.name
        )
        assert inspect.iscoroutinefunction(twin), operation.path
        assert inspect.signature(twin, eval_str=True) == inspect.signature(operation.method, eval_str=True)
        assert inspect.getdoc(twin) == inspect.getdoc(operation.method)


def test_the_engine_and_the_context_have_the_same_public_names() -> None:
    def names(of: type) -> set[str]:
        return {name for name in vars(of) if not name.startswith("_")} - {"renew_after_fork", "following"}

    # `settings` is an attribute on the synchronous engine; `following` is what both followers are made of.
    assert names(AsyncRecollect) == names(recollect.Recollect) | {"settings"}
    for name in sorted(names(recollect.Recollect)):
        original = inspect.signature(getattr(recollect.Recollect, name))
        assert list(inspect.signature(getattr(AsyncRecollect, name)).parameters) == list(original.parameters), name


def test_the_stub_for_type_checkers_is_current() -> None:
    assert twins.main(["--check"]) == 0


def test_a_conversation_is_kept_and_replayed(database_url: str) -> None:
    async def scenario(engine: AsyncRecollect, ctx: AsyncContext) -> None:
        conversation = await ctx.conversations.create_conversation("daily-checkin")
        await ctx.conversations.append_turn(
            conversation.id, user_content="I prefer Tuesdays.", assistant={"content": "Noted."}
        )
        closed = await ctx.conversations.close_conversation(conversation.id)
        assert closed.status == "closed"
        said = await ctx.conversations.get_messages(conversation.id)
        assert [message.text for message in said] == ["I prefer Tuesdays.", "Noted."]

    run(database_url, scenario)


def test_errors_arrive_as_they_are(database_url: str) -> None:
    async def scenario(engine: AsyncRecollect, ctx: AsyncContext) -> None:
        with pytest.raises(recollect.NotFound):
            await ctx.conversations.get_messages("conv_none")
        with pytest.raises(recollect.InvalidInput):
            await ctx.conversations.create_conversation("*")

    run(database_url, scenario)


def test_many_tasks_append_at_once_without_a_gap(database_url: str) -> None:
    async def scenario(engine: AsyncRecollect, ctx: AsyncContext) -> list[recollect.Message]:
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

    async def scenario(engine: AsyncRecollect, ctx: AsyncContext) -> int:
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
    async def scenario(engine: AsyncRecollect, ctx: AsyncContext) -> None:
        seen: list[str] = []
        all_seen = asyncio.Event()

        async def listen(change: recollect.Change) -> None:
            seen.append(change.kind)
            if len(seen) == 3:
                all_seen.set()

        engine.subscribe(listen)
        conversation = await ctx.conversations.create_conversation("followed")
        await ctx.conversations.append_user_message(conversation.id, "hello")
        await ctx.conversations.close_conversation(conversation.id)
        await asyncio.wait_for(all_seen.wait(), 10)
        assert seen == ["conversation.created", "message.appended", "conversation.closed"]
        followed = [change async for change in engine.follow()]
        assert [change.kind for change in followed] == seen
        assert [change async for change in engine.follow(followed[-1].cursor)] == []

    run(database_url, scenario)


def test_a_follower_waits_for_what_comes(database_url: str) -> None:
    async def scenario(engine: AsyncRecollect, ctx: AsyncContext) -> str:
        async def first() -> str:
            async for change in engine.follow(await engine.last_cursor(), wait=True):
                return change.kind
            return "nothing came"

        follower = asyncio.create_task(first())
        await asyncio.sleep(0.1)
        await ctx.conversations.create_conversation("later")
        return await asyncio.wait_for(follower, 10)

    assert run(database_url, scenario) == "conversation.created"


def test_a_handler_may_be_a_coroutine_on_the_callers_loop(database_url: str) -> None:
    async def scenario(engine: AsyncRecollect, ctx: AsyncContext) -> None:
        loop = asyncio.get_running_loop()

        async def handle(job: recollect.JobRun) -> dict[str, bool]:
            await asyncio.sleep(0)
            return {"on_the_loop": asyncio.get_running_loop() is loop}

        engine.register_job("greet", handle)
        job = await ctx.jobs.enqueue("greet")
        assert (await engine.work()).succeeded == 1
        done = await ctx.jobs.get_job(job.id)
        assert done is not None
        assert done.result == {"on_the_loop": True}

    run(database_url, scenario)


def test_an_engine_can_be_awaited_instead_of_entered(database_url: str) -> None:
    async def main() -> None:
        engine = await recollect.open_async(database_url)
        await engine.close()
        await engine.close()

    before = threading.active_count()
    asyncio.run(main())
    assert threading.active_count() <= before


def test_a_failed_open_raises_and_leaves_no_thread() -> None:
    async def main() -> None:
        with pytest.raises(recollect.InvalidUrl):
            await recollect.open_async("mysql://nowhere")

    before = threading.active_count()
    asyncio.run(main())
    assert threading.active_count() <= before


def test_the_twin_works_in_a_forked_child_and_its_parent_goes_on(database_url: str) -> None:
    async def parent(engine: AsyncRecollect, ctx: AsyncContext) -> list[str]:
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
