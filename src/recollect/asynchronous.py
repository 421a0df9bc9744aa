"""The same engine for asynchronous programs: derived from the synchronous one, operation by operation."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from datetime import timedelta
from types import TracebackType
from typing import Any

from recollect import engine as synchronous
from recollect.clock import Clock, system_clock
from recollect.context import Context
from recollect.engine import Recollect
from recollect.errors import EngineClosed
from recollect.hop import Hop
from recollect.jobs import JobRun
from recollect.models.change import Change, ChangeKind
from recollect.models.job import WorkReport
from recollect.scope import Capability, Scope
from recollect.settings import Settings
from recollect.twins import AsyncConversations, AsyncJobs


def open_async(url: str | None = None, *, clock: Clock = system_clock, **settings: Any) -> Opening:
    """Open an engine for asynchronous use: `async with recollect.open_async(url) as engine`, or `await` it."""
    return Opening(functools.partial(synchronous.open, url, clock=clock, **settings))


class Opening:
    """An engine that is about to be opened, by `await` or `async with`."""

    def __init__(self, open_engine: Callable[[], Recollect]) -> None:
        self._open_engine = open_engine
        self._engine: AsyncRecollect | None = None

    async def _open(self) -> AsyncRecollect:
        hop = Hop()
        try:
            return AsyncRecollect(await hop(self._open_engine), hop)
        except BaseException:
            await hop.close()
            raise

    def __await__(self) -> Generator[Any, None, AsyncRecollect]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncRecollect:
        self._engine = await self._open()
        return self._engine

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._engine is not None:
            await self._engine.close()


class AsyncContext:
    """A context whose operations are awaitable."""

    def __init__(self, context: Context, hop: Hop) -> None:
        self.scope: Scope = context.scope
        self.conversations = AsyncConversations(context.conversations, hop)
        self.jobs = AsyncJobs(context.jobs, hop)

    def __repr__(self) -> str:
        return f"AsyncContext({self.scope!r})"


class AsyncRecollect:
    """An open engine for asynchronous programs. Subscribers and handlers may be coroutine functions."""

    def __init__(self, engine: Recollect, hop: Hop) -> None:
        self._engine = engine
        self._hop = hop
        self._closed = False

    @property
    def settings(self) -> Settings:
        return self._engine.settings

    def context(
        self,
        *,
        tenant_id: str,
        app_id: str,
        user_id: str,
        agent_id: str | None = None,
        group: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        client_id: str | None = None,
        graph_id: str | None = None,
        node_id: str | None = None,
        capabilities: Iterable[Capability] = (),
    ) -> AsyncContext:
        """Bind the engine to one user, as the synchronous one does."""
        context = self._engine.context(
            tenant_id=tenant_id,
            app_id=app_id,
            user_id=user_id,
            agent_id=agent_id,
            group=group,
            session_id=session_id,
            run_id=run_id,
            client_id=client_id,
            graph_id=graph_id,
            node_id=node_id,
            capabilities=capabilities,
        )
        return AsyncContext(context, self._hop)

    def subscribe(
        self, subscriber: Callable[[Change], object], *, kinds: Iterable[ChangeKind] | None = None
    ) -> Callable[[], None]:
        """Have a function, or a coroutine on the running loop, called with every change this process commits."""
        return self._engine.subscribe(_on_the_loop(subscriber), kinds=kinds)

    async def follow(self, after: int | None = None, *, wait: bool | float = False) -> AsyncIterator[Change]:
        """Read the changes of all processes and all scopes in their order, from a cursor on."""
        following = self._engine.following(after, wait=wait)
        while not (following.ended or self._closed):
            try:
                changes = await self._hop(following.read)
            except EngineClosed:
                return
            for change in changes:
                yield change
            if following.waiting and not following.ended:
                await asyncio.sleep(following.pause_seconds)

    async def last_cursor(self) -> int:
        """The cursor of the newest change: follow from here to see only what comes."""
        return await self._hop(self._engine.last_cursor)

    async def close_stale(self, idle: timedelta | float, *, namespace: str | None = None) -> int:
        """Close the open conversations of all users that nothing was appended to for this long."""
        return await self._hop(self._engine.close_stale, idle, namespace=namespace)

    def register_job(self, kind: str, handler: Callable[[JobRun], Any]) -> None:
        """Say what is to be done with jobs of a kind; a coroutine function runs on the loop that registers it."""
        self._engine.register_job(kind, _awaited_on_the_loop(handler))

    async def work(self, limit: int | None = None) -> WorkReport:
        """Do the jobs that are due, now, and tell what became of them."""
        return await self._hop(self._engine.work, limit)

    def start_workers(self, count: int = 1) -> None:
        """Start threads that work jobs off in the background."""
        self._engine.start_workers(count)

    async def stop_workers(self, timeout: float | None = None) -> bool:
        """Let the workers finish the jobs at hand and stop."""
        return await self._hop(self._engine.stop_workers, timeout)

    async def close(self) -> None:
        """Stop the workers and close the database; closing again does nothing."""
        if not self._closed:
            self._closed = True
            await self._hop(self._engine.close)
            await self._hop.close()

    async def __aenter__(self) -> AsyncRecollect:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


def _on_the_loop(subscriber: Callable[[Change], object]) -> Callable[[Change], object]:
    if not inspect.iscoroutinefunction(subscriber):
        return subscriber
    loop = asyncio.get_running_loop()
    return lambda change: asyncio.run_coroutine_threadsafe(subscriber(change), loop)


def _awaited_on_the_loop(handler: Callable[[JobRun], Any]) -> Callable[[JobRun], Any]:
    if not inspect.iscoroutinefunction(handler):
        return handler
    loop = asyncio.get_running_loop()
    return lambda run: asyncio.run_coroutine_threadsafe(handler(run), loop).result()
