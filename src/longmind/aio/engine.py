"""The same engine for asynchronous programs: derived from the synchronous one, operation by operation."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from concurrent.futures import Future
from datetime import timedelta
from types import TracebackType
from typing import Any

from longmind import engine as synchronous
from longmind.aio.services import (
    AsyncAccessKeys,
    AsyncAdmin,
    AsyncBlocks,
    AsyncConversations,
    AsyncEvents,
    AsyncJobs,
    AsyncMemory,
    AsyncTools,
    AsyncWorkingContexts,
)
from longmind.assembly.templates import Templates
from longmind.assembly.tokens import TokenCounter
from longmind.clock import Clock, system_clock
from longmind.context import Context
from longmind.engine import Engine
from longmind.errors import EngineClosed
from longmind.events.mirror.rebuild import Progress, RebuildResult, ignore_progress
from longmind.extraction.candidate import Extractor
from longmind.jobs import JobRun
from longmind.models.change import Change, ChangeKind
from longmind.models.engine_measures import Measures
from longmind.models.job import Job, JobStatus, WorkReport
from longmind.providers.embedder import Embedder
from longmind.providers.registry import AUTO
from longmind.runtime.thread_pool import Hop, await_foreign
from longmind.scope import Capability, Scope
from longmind.settings import Settings
from longmind.summaries.summariser import Summariser

_log = logging.getLogger("longmind.changes")


def open_async(
    url: str | None = None,
    *,
    embedder: str | Embedder | None = AUTO,
    extractor: str | Extractor | None = None,
    summariser: str | Summariser | None = None,
    token_counter: str | TokenCounter | None = None,
    clock: Clock = system_clock,
    **settings: Any,
) -> Opening:
    """Open an engine for asynchronous use: `async with longmind.open_async(url) as engine`, or `await` it."""
    chosen: dict[str, Any] = {
        "embedder": embedder,
        "extractor": extractor,
        "summariser": summariser,
        "token_counter": token_counter,
    }
    return Opening(functools.partial(synchronous.open, url, clock=clock, **chosen, **settings))


class Opening:
    """An engine that is about to be opened, by `await` or `async with`."""

    def __init__(self, open_engine: Callable[[], Engine]) -> None:
        self._open_engine = open_engine
        self._engine: AsyncEngine | None = None

    async def _open(self) -> AsyncEngine:
        hop = Hop()
        opened: list[Engine] = []
        try:
            await hop(lambda: opened.append(self._open_engine()))
            return AsyncEngine(opened[0], hop)
        except BaseException:
            await hop.close()
            for engine in opened:
                # The caller was cancelled, and the thread went on to open it.
                engine.close()
            raise

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
    """A context whose operations are awaitable."""

    def __init__(self, context: Context, hop: Hop) -> None:
        self.scope: Scope = context.scope
        self.conversations = AsyncConversations(context.conversations, hop)
        self.memory = AsyncMemory(context.memory, hop)
        self.working_context = AsyncWorkingContexts(context.working_context, hop)
        self.blocks = AsyncBlocks(context.blocks, hop)
        self.tools = AsyncTools(context.tools, hop)
        self.events = AsyncEvents(context.events, hop)
        self.jobs = AsyncJobs(context.jobs, hop)
        self.admin = AsyncAdmin(context.admin, hop)

    def __repr__(self) -> str:
        return f"AsyncContext({self.scope!r})"


class AsyncEngine:
    """An open engine for asynchronous programs. Subscribers and handlers may be coroutine functions."""

    def __init__(self, engine: Engine, hop: Hop) -> None:
        self._engine = engine
        self._hop = hop
        self.keys = AsyncAccessKeys(engine.keys, hop)
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def settings(self) -> Settings:
        return self._engine.settings

    @property
    def templates(self) -> Templates:
        return self._engine.templates

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
        if callable(subscriber):
            subscriber = functools.partial(_tell, subscriber, self._loop_here())
        return self._engine.subscribe(subscriber, kinds=kinds)

    async def follow(self, after: int | None = None, *, wait: bool | float = False) -> AsyncIterator[Change]:
        """Read the changes of all processes and all scopes in their order, from a cursor on."""
        if self._closed:
            raise EngineClosed
        following = self._engine.following(after, wait=wait)
        while not following.ended:
            try:
                changes = await self._hop(following.read)
            except EngineClosed:
                if self._closed and following.waits:
                    return
                raise
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

    async def reindex(self, on_progress: Callable[[int, int, int], object] | None = None) -> int:
        """Make the vectors of all spaces that were made by another embedder anew, now; gives how many were made."""
        return await self._hop(self._engine.reindex, on_progress)

    async def purge_superseded(self) -> int:
        """Remove entries of the memory tools that were superseded too long ago; for a scheduled job."""
        return await self._hop(self._engine.purge_superseded)

    async def rebuild_jsonl(
        self,
        *,
        tenant_id: str | None = None,
        app_id: str | None = None,
        user_id: str | None = None,
        progress: Progress = ignore_progress,
    ) -> RebuildResult:
        """Write the JSONL files of events anew from the ledger; `progress` is told in another thread."""
        return await self._hop(
            self._engine.rebuild_jsonl, tenant_id=tenant_id, app_id=app_id, user_id=user_id, progress=progress
        )

    async def forget_jsonl(self, scope: Scope) -> None:
        """Remove the JSONL files of a user whose events have been erased."""
        await self._hop(self._engine.forget_jsonl, scope)

    def register_job(self, kind: str, handler: Callable[[JobRun], Any]) -> None:
        """Say what is to be done with jobs of a kind; a coroutine runs on the loop that registers it."""
        if callable(handler):
            handler = functools.partial(_handle, handler, self._loop_here())
        self._engine.register_job(kind, handler)

    async def find_jobs(
        self, *, status: JobStatus | None = None, kind: str | None = None, job_id: str | None = None, limit: int = 100
    ) -> list[tuple[Scope, Job]]:
        """The jobs of all users, newest first, each with whose it is; for the host to see what has failed."""
        return await self._hop(self._engine.find_jobs, status=status, kind=kind, job_id=job_id, limit=limit)

    async def retry_job(self, job_id: str) -> Job:
        """Queue a failed or dead job of any user again, with all its attempts."""
        return await self._hop(self._engine.retry_job, job_id)

    async def measures(self) -> Measures:
        """How long the queue of all users is, how far extraction is behind, and what this process keeps in memory."""
        return await self._hop(self._engine.measures)

    async def check_database(self) -> None:
        """Raise an error when the database cannot be reached, or lacks a migration that this engine needs."""
        await self._hop(self._engine.check_database)

    async def work(self, limit: int | None = None) -> WorkReport:
        """Do the jobs that are due, now, and tell what became of them."""
        return await self._hop.run_separately(self._engine.work, limit)

    def start_workers(self, count: int = 1) -> None:
        """Start threads that work jobs off in the background."""
        self._engine.start_workers(count)

    async def stop_workers(self, timeout: float | None = None) -> bool:
        """Let the workers finish the jobs at hand and stop."""
        return await self._hop.run_separately(self._engine.stop_workers, timeout)

    async def close(self) -> None:
        """Stop the workers and close the database; closing again does nothing, or waits for the end of the closing."""
        self._closed = True
        if self._closing is None or not self._is_under_way(self._closing):
            self._closing = asyncio.create_task(self._close())
        # Who is tired of waiting for it does not stop it.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if not self._hop.closed:
            await self._hop.run_separately(self._engine.close)
        await self._hop.close()

    def _is_under_way(self, closing: asyncio.Task[None]) -> bool:
        # The loop it was begun on may have ended before it did.
        return not closing.done() and closing.get_loop() is asyncio.get_running_loop()

    def _loop_here(self) -> asyncio.AbstractEventLoop:
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


def _tell(subscriber: Callable[[Change], object], loop: asyncio.AbstractEventLoop, change: Change) -> None:
    # Whether it is a coroutine is seen by what it returns: a partial, a lambda or an object may make one too.
    told = subscriber(change)
    if inspect.isawaitable(told):
        asyncio.run_coroutine_threadsafe(await_foreign(told), loop).add_done_callback(
            functools.partial(_log_failure, change.kind)
        )


def _log_failure(kind: str, told: Future[Any]) -> None:
    error = None if told.cancelled() else told.exception()
    if error is not None:
        _log.error("a subscriber failed on %s", kind, exc_info=error)


def _handle(handler: Callable[[JobRun], Any], loop: asyncio.AbstractEventLoop, run: JobRun) -> Any:
    outcome = handler(run)
    if inspect.isawaitable(outcome):
        return asyncio.run_coroutine_threadsafe(await_foreign(outcome), loop).result()
    return outcome
