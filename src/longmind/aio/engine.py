"""The engine for asynchronous programs.

Operations are derived from the synchronous engine, signature and docstring included. This module holds what differs:
opening and closing, iteration over changes, and callbacks that are coroutines of the caller's event loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any

from longmind import engine as synchronous
from longmind.aio.derivation import match_method, match_parameters
from longmind.aio.services import (
    AsyncAccessKeys,
    AsyncAdmin,
    AsyncAgents,
    AsyncBlocks,
    AsyncConversations,
    AsyncEngineOperations,
    AsyncEvents,
    AsyncJobs,
    AsyncMemory,
    AsyncTools,
    AsyncWorkingContexts,
)
from longmind.assembly.templates import Templates
from longmind.context import Context
from longmind.conversations.registered_tools import ToolFunction
from longmind.engine import Engine
from longmind.errors import EngineClosed
from longmind.jobs import JobRun
from longmind.models.change import Change
from longmind.providers.language_model import Tool
from longmind.runtime.thread_pool import Hop, await_foreign
from longmind.scope import Scope
from longmind.settings import Settings

_log = logging.getLogger("longmind.changes")


@match_parameters(synchronous.open)
def open_async(*args: Any, **options: Any) -> Opening:
    """Open an engine for asynchronous use: `async with longmind.open_async(url) as engine`, or `await` it.

    The parameters are those of `longmind.open`.
    """
    return Opening(functools.partial(synchronous.open, *args, **options))


class Opening:
    """An engine to be opened by `await` or `async with`."""

    def __init__(self, open_engine: Callable[[], Engine]) -> None:
        self._open_engine = open_engine
        self._engine: AsyncEngine | None = None

    async def _open(self) -> AsyncEngine:
        """Open the engine in a thread of its own; close it again if the caller was cancelled by then."""
        hop = Hop()
        opened: list[Engine] = []
        try:
            await hop(lambda: opened.append(self._open_engine()))
            return AsyncEngine(opened[0], hop)
        except BaseException:
            await hop.close()
            for engine in opened:
                # The caller was cancelled while the thread went on to open it.
                engine.close()
            raise

    if not TYPE_CHECKING:
        # Type checkers find the mistake by themselves, as long as they do not see this.
        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"The engine is not open yet, so it has no {name!r}. Write `async with longmind.open_async(…) as "
                "engine:` or `engine = await longmind.open_async(…)`."
            )

    def __await__(self) -> Generator[Any, None, AsyncEngine]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncEngine:
        self._engine = await self._open()
        return self._engine

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._engine is not None:
            await self._engine.close()


class AsyncContext:
    """A context whose operations are awaitable. Each service is made on first use."""

    scope: Scope
    conversations: AsyncConversations
    memory: AsyncMemory
    working_context: AsyncWorkingContexts
    blocks: AsyncBlocks
    tools: AsyncTools
    events: AsyncEvents
    agents: AsyncAgents
    jobs: AsyncJobs
    admin: AsyncAdmin

    def __init__(self, context: Context, hop: Hop) -> None:
        self.scope = context.scope
        self._context = context
        self._hop = hop

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in _ASYNC_SERVICES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            service = _ASYNC_SERVICES[name](getattr(self._context, name), self._hop)
            return self.__dict__.setdefault(name, service)

    def __repr__(self) -> str:
        return f"AsyncContext({self.scope!r})"


_ASYNC_SERVICES: dict[str, Callable[[Any, Hop], Any]] = {
    "conversations": AsyncConversations,
    "memory": AsyncMemory,
    "working_context": AsyncWorkingContexts,
    "blocks": AsyncBlocks,
    "tools": AsyncTools,
    "events": AsyncEvents,
    "agents": AsyncAgents,
    "jobs": AsyncJobs,
    "admin": AsyncAdmin,
}


class AsyncEngine(AsyncEngineOperations):
    """An open engine for asynchronous programs.

    Subscribers and job handlers may be coroutine functions: they run on the event loop that registers them. Other
    callbacks, such as `progress` of `rebuild_jsonl`, are called in a thread of the engine.
    """

    def __init__(self, engine: Engine, hop: Hop) -> None:
        super().__init__(engine, hop)
        self._engine = engine
        self._hop = hop
        self.keys = AsyncAccessKeys(engine.keys, hop)
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def settings(self) -> Settings:
        """The settings of the engine."""
        return self._engine.settings

    @property
    def templates(self) -> Templates:
        """The templates that lay out working contexts; register more of your own."""
        return self._engine.templates

    @match_method(Engine.context)
    def context(self, **ids: Any) -> AsyncContext:
        return AsyncContext(self._engine.context(**ids), self._hop)

    @match_method(Engine.subscribe)
    def subscribe(self, subscriber: Callable[[Change], object], **options: Any) -> Callable[[], None]:
        if callable(subscriber):
            subscriber = functools.partial(_notify, subscriber, self._find_loop())
        return self._engine.subscribe(subscriber, **options)

    @match_method(Engine.follow)
    async def follow(self, *args: Any, **options: Any) -> AsyncIterator[Change]:
        if self._closed:
            raise EngineClosed
        following = self._engine.following(*args, **options)
        while not following.ended:
            try:
                changes = await self._hop(following.read)
            except EngineClosed:
                # For a waiting follower this is the end. Any other would take a part of the changes for all of them.
                if self._closed and following.waits:
                    return
                raise
            for change in changes:
                yield change
            if following.waiting and not following.ended:
                await asyncio.sleep(following.pause_seconds)

    @match_method(Engine.register_job)
    def register_job(self, kind: str, handler: Callable[[JobRun], Any]) -> None:
        if callable(handler):
            handler = functools.partial(_handle, handler, self._find_loop())
        self._engine.register_job(kind, handler)

    @match_method(Engine.register_tool)
    def register_tool(self, tool: Tool | dict[str, Any], function: ToolFunction) -> None:
        if callable(function):
            function = functools.partial(_use_tool, function, self._hop, self._find_loop())
        self._engine.register_tool(tool, function)

    @match_method(Engine.close)
    async def close(self) -> None:
        self._closed = True
        if self._closing is None or not self._is_under_way(self._closing):
            self._closing = asyncio.create_task(self._close())
        # A caller that is cancelled while it waits does not stop the closing; the next call waits for it.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        """Close the engine in a thread, and then the threads."""
        if not self._hop.closed:
            await self._hop.run_separately(self._engine.close)
        await self._hop.close()

    def _is_under_way(self, closing: asyncio.Task[None]) -> bool:
        """Return whether a closing that was begun can still be waited for."""
        # The event loop that it was begun on may have ended first.
        return not closing.done() and closing.get_loop() is asyncio.get_running_loop()

    def _find_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, or that of the opening if a thread without a loop calls."""
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            # Called from a thread without a loop.
            return self._loop

    async def __aenter__(self) -> AsyncEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


def _notify(subscriber: Callable[[Change], object], loop: asyncio.AbstractEventLoop, change: Change) -> None:
    """Call a subscriber in the thread of the commit; run what it returns on the loop if it is awaitable."""
    # Only the returned value shows whether it is a coroutine: a partial, a lambda or an object may make one too.
    outcome = subscriber(change)
    if inspect.isawaitable(outcome):
        asyncio.run_coroutine_threadsafe(await_foreign(outcome), loop).add_done_callback(
            functools.partial(_log_failure, change.kind)
        )


def _log_failure(kind: str, call: Future[Any]) -> None:
    error = None if call.cancelled() else call.exception()
    if error is not None:
        _log.error("a subscriber failed on %s", kind, exc_info=error)


def _use_tool(
    function: ToolFunction, hop: Hop, loop: asyncio.AbstractEventLoop, context: Context, arguments: dict[str, Any]
) -> Any:
    """Call a tool in the thread of the turn, with awaitable services; wait for the loop if it returns an awaitable.

    The loop is that of the registration, since the function may use connections and locks that belong to it.
    """
    outcome = function(AsyncContext(context, hop), arguments)
    if inspect.isawaitable(outcome):
        return asyncio.run_coroutine_threadsafe(await_foreign(outcome), loop).result()
    return outcome


def _handle(handler: Callable[[JobRun], Any], loop: asyncio.AbstractEventLoop, run: JobRun) -> Any:
    """Call a job handler in the worker's thread; wait for the loop if it returns an awaitable."""
    outcome = handler(run)
    if inspect.isawaitable(outcome):
        return asyncio.run_coroutine_threadsafe(await_foreign(outcome), loop).result()
    return outcome
