"""The asynchronous twin: the same methods, awaitable."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import longmind

METHODS = sorted(
    name
    for name, value in inspect.getmembers(longmind.Memory, inspect.isfunction)
    if not name.startswith("_") and name != "close"
)


def run(url: str, scenario: Callable[[longmind.AsyncMemory], Awaitable[None]]) -> None:
    async def main() -> None:
        async with longmind.AsyncMemory("ada", url=url, embedder=None) as memory:
            await scenario(memory)

    asyncio.run(main())


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_same_parameters_and_docstring_awaitable(name: str) -> None:
    original, twin = getattr(longmind.Memory, name), getattr(longmind.AsyncMemory, name)
    assert inspect.signature(twin).parameters == inspect.signature(original).parameters
    assert inspect.getdoc(twin) == inspect.getdoc(original) != ""


def test_both_are_made_with_the_same_parameters() -> None:
    assert inspect.signature(longmind.AsyncMemory).parameters == inspect.signature(longmind.Memory).parameters


def test_it_remembers_finds_and_forgets(database_url: str) -> None:
    async def scenario(memory: longmind.AsyncMemory) -> None:
        added = await memory.add("I live in Vienna. I'm allergic to peanuts.")
        assert [fact.text for fact in added] == ["User lives in Vienna.", "User is allergic to peanuts."]
        assert (await memory.search("peanuts"))[0].text == "User is allergic to peanuts."
        assert "peanuts" in await memory.context("peanuts")
        assert len(await memory.facts()) == 2
        assert [fact.text for fact in await memory.history("home")] == ["User lives in Vienna."]
        assert "Vienna" in str(await memory.profile())
        fact = added.learned[0]
        assert await memory.get(fact.id) == fact
        assert (await memory.update(fact.id, "User lives in Graz.")).replaces == fact.id
        plan = await memory.forget(query="peanuts")
        assert (await memory.forget(plan)).done
        assert len(await memory.tools("anthropic")) == 4
        call = {"type": "tool_use", "id": "1", "name": "memory_brief", "input": {}}
        assert "Graz" in (await memory.run_tool(call))["content"]
        await memory.add("I like tea.", wait=False)
        await memory.flush()
        assert (await memory.export())["atoms"]
        assert (await memory.erase()).receipt
        assert await memory.facts() == []

    run(database_url, scenario)


def test_many_tasks_share_it_and_it_opens_with_the_first_call(database_url: str) -> None:
    async def main() -> None:
        memory = longmind.AsyncMemory("ada", url=database_url, embedder=None)
        assert repr(memory) == "AsyncMemory('ada', not open yet)"
        await asyncio.gather(*(memory.add(f"My friend Bob{number} lives in Graz.") for number in range(6)))
        assert repr(memory).startswith("AsyncMemory('ada', ")
        task = asyncio.create_task(memory.facts())
        assert await task
        await memory.close()
        await memory.close()
        with pytest.raises(longmind.EngineClosed):
            await memory.facts()

    asyncio.run(main())


def test_awaiting_it_opens_it(sqlite_url: str) -> None:
    async def main() -> None:
        memory = await longmind.AsyncMemory("ada", url=sqlite_url, embedder=None)
        assert await memory.facts() == []
        await memory.close()

    asyncio.run(main())


def test_both_kinds_share_one_engine(sqlite_url: str) -> None:
    async def scenario(memory: longmind.AsyncMemory) -> None:
        await memory.add("I live in Graz.")
        with longmind.Memory("ada", url=sqlite_url, embedder=None) as same:
            assert [fact.text for fact in same.facts()] == ["User lives in Graz."]

    run(sqlite_url, scenario)


def test_an_opening_that_fails_is_tried_again(sqlite_url: str) -> None:
    async def main() -> None:
        memory = longmind.AsyncMemory("ada", url=sqlite_url, embedder=None, space="ms_none")
        for _ in range(2):
            with pytest.raises(longmind.NotFound):
                await memory.facts()
        await memory.close()

    asyncio.run(main())


def test_mistakes_are_named(sqlite_url: str) -> None:
    nobody: Any = None
    with pytest.raises(longmind.InvalidIdentity, match="user is None"):
        longmind.AsyncMemory(nobody, url=sqlite_url)
    with pytest.raises(TypeError, match="Write `async with`"):
        longmind.AsyncMemory("ada", url=sqlite_url).__enter__()
    with longmind.Memory("ada", url=sqlite_url, embedder=None) as memory, pytest.raises(TypeError, match="AsyncMemory"):
        memory.__aenter__()


def test_a_call_that_is_not_awaited_is_warned_about(sqlite_url: str) -> None:
    async def main() -> None:
        memory = longmind.AsyncMemory("ada", url=sqlite_url, embedder=None)
        pending = memory.add("I live in Graz.")
        with pytest.raises(TypeError):
            list(pending)  # type: ignore[call-overload]  # as a program may do by mistake
        with pytest.warns(RuntimeWarning, match=r"AsyncMemory\.add' was never awaited"):
            del pending
        await memory.close()

    asyncio.run(main())
