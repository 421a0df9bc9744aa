"""Turns that are run in asynchronous programs, and coroutines in programs that are not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import longmind
from harness.crew import PATIENCE
from longmind import Cancel, Tool, ToolUseBlock
from longmind.aio.engine import AsyncContext
from longmind.providers.language_model import ModelRequest
from longmind.providers.testing import ScriptedModel
from tests.vendor.answer import Answer
from tests.vendor.server import Vendor

LOOK = [Tool("look")]
CALL = ToolUseBlock(id="a", name="look", arguments={"where": "here"})


def run(database_url: str, scenario: Callable[[AsyncContext, str], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with longmind.open_async(database_url) as engine:
            ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
            return await scenario(ctx, (await ctx.conversations.create_conversation("chat")).id)

    return asyncio.run(main())


@pytest.mark.conforms("A1.17")
def test_a_coroutine_is_awaited_on_the_loop_of_the_caller_and_so_is_what_listens(database_url: str) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        loop, thread = asyncio.get_running_loop(), threading.current_thread()
        heard: list[str] = []

        async def handle(name: str, arguments: dict[str, Any]) -> str:
            assert asyncio.get_running_loop() is loop
            said = await ctx.conversations.get_messages(id)
            return f"{name} {arguments['where']}, {len(said)} messages"

        def listen(text: str) -> None:
            assert threading.current_thread() is thread
            heard.append(text)

        result = await ctx.conversations.run_turn(
            id, model=ScriptedModel([CALL, "It is dark."]), user_text="Look.", tools=LOOK, tool_handler=handle,
            on_text=listen,
        )  # fmt: skip
        assert [(each.result, each.is_error) for each in result.tool_invocations] == [("look here, 2 messages", False)]
        assert (result.status, result.text) == ("completed", "It is dark.")
        assert heard == ["It", " is", " dark."]

        async def listen_slowly(text: str) -> None:
            await asyncio.sleep(0)
            heard.append(text)

        heard.clear()
        await ctx.conversations.run_turn(
            id, model=ScriptedModel(["Still dark."]), user_text="And?", on_text=listen_slowly
        )
        assert heard == ["Still", " dark."]

    run(database_url, scenario)


def test_a_plain_handler_does_not_hold_up_the_loop(database_url: str) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        ticked = threading.Event()

        async def tick() -> None:
            ticked.set()

        def handle(name: str, arguments: dict[str, Any]) -> str:
            asyncio.run_coroutine_threadsafe(tick(), loop)
            return "the loop goes on" if ticked.wait(60) else "the loop stands still"

        loop = asyncio.get_running_loop()
        result = await ctx.conversations.run_turn(
            id, model=ScriptedModel([CALL, "Done."]), user_text="Look.", tools=LOOK, tool_handler=handle
        )
        assert result.tool_invocations[0].result == "the loop goes on"

    run(database_url, scenario)


def test_many_turns_at_once_may_all_await_the_engine_in_their_tools(database_url: str) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        turns = 40
        inside = 0
        all_inside = asyncio.Event()

        async def handle(name: str, arguments: dict[str, Any]) -> str:
            nonlocal inside
            inside += 1
            if inside == turns:
                all_inside.set()
            await all_inside.wait()
            return str(len(await ctx.conversations.get_messages(id, limit=1)))

        results = await asyncio.gather(
            *(
                ctx.conversations.run_turn(
                    id, model=ScriptedModel([CALL, "Done."]), user_text="Look.", tools=LOOK, tool_handler=handle
                )
                for _ in range(turns)
            )
        )
        assert {(result.status, result.tool_invocations[0].result) for result in results} == {("completed", "1")}

    run(database_url, scenario)


@pytest.mark.patient
def test_a_task_that_is_cancelled_ends_the_call_of_the_model(database_url: str, vendor: Vendor) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        vendor.answers = [Answer(hangs=True)]
        turn = asyncio.create_task(
            ctx.conversations.run_turn(id, model="openai-chat:gpt-4o", user_text="Hello", idempotency_key="k")
        )
        assert await asyncio.to_thread(vendor.arrived.wait, PATIENCE)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert await asyncio.to_thread(vendor.dropped.wait, PATIENCE)
        vendor.answers = [Answer("Good day.")]
        again = await ctx.conversations.run_turn(id, model="openai-chat:gpt-4o", user_text="Hello", idempotency_key="k")
        assert (again.text, again.appended_messages[1].attempt) == ("Good day.", 1)

    run(database_url, scenario)


def test_a_cancel_that_is_given_ends_the_turn_with_a_result(database_url: str, vendor: Vendor) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        vendor.answers = [Answer(hangs=True)]
        cancel = Cancel()
        turn = asyncio.create_task(
            ctx.conversations.run_turn(id, model="openai-chat:gpt-4o", user_text="Hello", cancel=cancel)
        )
        assert await asyncio.to_thread(vendor.arrived.wait, PATIENCE)
        cancel.cancel()
        result = await turn
        assert result.status == "error"
        assert "cancelled" in (result.error or "")

    run(database_url, scenario)


@pytest.mark.parametrize("by_task", [True, False])
def test_a_coroutine_that_is_at_work_when_the_turn_is_cancelled_is_cancelled_too(
    database_url: str, by_task: bool
) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        begun, ended, cancel = asyncio.Event(), asyncio.Event(), Cancel()

        async def work_for_ever(name: str, arguments: dict[str, Any]) -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return "never"

        turn = asyncio.create_task(
            ctx.conversations.run_turn(
                id,
                model=ScriptedModel([CALL, "Never."]),
                user_text="Look.",
                tools=LOOK,
                tool_handler=work_for_ever,
                cancel=cancel,
            )
        )
        await begun.wait()
        if by_task:
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
        else:
            cancel.cancel()
            result = await turn
            assert (result.status, result.error) == ("error", "The turn was cancelled.")
            assert result.tool_invocations[0].is_error
            assert result.appended_messages[-1].role == "tool"
        await ended.wait()

    run(database_url, scenario)


@pytest.mark.parametrize("by_task", [True, False])
def test_a_listener_that_is_waiting_when_the_turn_is_cancelled_is_cancelled_too(
    database_url: str, by_task: bool
) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        begun, ended, cancel = asyncio.Event(), asyncio.Event(), Cancel()

        async def send_to_nobody(text: str) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        turn = asyncio.create_task(
            ctx.conversations.run_turn(
                id, model=ScriptedModel(["Hi."]), user_text="Hello", on_text=send_to_nobody, cancel=cancel
            )
        )
        await begun.wait()
        if by_task:
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
        else:
            cancel.cancel()
            result = await turn
            assert (result.status, result.error) == ("error", "The turn was cancelled.")
        await asyncio.wait_for(ended.wait(), 60)

    run(database_url, scenario)


def test_one_task_that_is_cancelled_leaves_others_with_the_same_cancel_alone(database_url: str) -> None:
    async def scenario(ctx: AsyncContext, id: str) -> None:
        cancel = Cancel()
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def wait(name: str, arguments: dict[str, Any]) -> str:
            begun.set()
            await go_on.wait()
            return "done"

        def turn() -> asyncio.Task[longmind.TurnResult]:
            model = ScriptedModel([CALL, "Done."])
            return asyncio.create_task(
                ctx.conversations.run_turn(
                    id, model=model, user_text="Look.", tools=LOOK, tool_handler=wait, cancel=cancel
                )
            )

        first, second = turn(), turn()
        await begun.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go_on.set()
        assert (await second).status == "completed"
        assert not cancel.cancelled

    run(database_url, scenario)


def test_a_program_without_a_loop_may_give_coroutines_too(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    loops: set[asyncio.AbstractEventLoop] = set()
    heard: list[str] = []

    async def handle(name: str, arguments: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        loops.add(asyncio.get_running_loop())
        if len(loops) and arguments.get("fail"):
            raise SystemExit("no more")
        return "dark"

    async def listen(text: str) -> None:
        heard.append(text)

    def answer(request: ModelRequest) -> Any:
        calls = [CALL, CALL, CALL.model_copy(update={"arguments": {"fail": True}})]
        done = len(request.messages) // 2
        return calls[done] if done < len(calls) else "Dark."

    result = ctx.conversations.run_turn(
        conversation.id,
        model=ScriptedModel(answer),
        user_text="Look.",
        tools=LOOK,
        tool_handler=handle,
        on_text=listen,
    )
    assert [each.result for each in result.tool_invocations] == ["dark", "dark", "RuntimeError: SystemExit: no more"]
    assert heard == ["Dark."]
    # One loop for all, so that connections of the caller's can be used again.
    assert len(loops) == 1


def test_a_program_whose_loop_is_running_may_call_without_awaiting(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    async def handle(name: str, arguments: dict[str, Any]) -> str:
        return "dark"

    async def main() -> longmind.TurnResult:
        return ctx.conversations.run_turn(
            conversation.id, model=ScriptedModel([CALL, "Dark."]), user_text="Look.", tools=LOOK, tool_handler=handle
        )

    assert asyncio.run(main()).tool_invocations[0].result == "dark"
