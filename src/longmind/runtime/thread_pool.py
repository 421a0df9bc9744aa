"""From an event loop to the synchronous core and back: one thread hop per operation."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from longmind.errors import EngineClosed
from longmind.runtime.fork_safety import leave_to_parent, survive_forks

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32


class Hop:
    """Runs blocking calls in threads of its own, so that they wait for nobody else's in the loop's default pool."""

    def __init__(self) -> None:
        self.closed = False
        self._threads = _threads(_THREADS)
        self._apart: dict[ThreadPoolExecutor, Future[Any]] = {}
        survive_forks(self)

    def renew_after_fork(self) -> None:
        leave_to_parent(self._threads, self._apart)
        self._threads = _threads(_THREADS)
        self._apart = {}

    async def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._submit(self._threads, function, *args, **kwargs))

    async def run_separately(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that waits for other calls, such as those of a handler, in a thread that is none of theirs."""
        # Those whose callers were cancelled, and that have ended since.
        self._apart = {threads: call for threads, call in self._apart.items() if not call.done()}
        threads = _threads(1)
        call = self._submit(threads, function, *args, **kwargs)
        self._apart[threads] = call
        try:
            return await asyncio.wrap_future(call)
        finally:
            # The thread ends with the call. That may still be under way if the caller was cancelled.
            threads.shutdown(wait=call.done())

    def _submit(
        self, threads: ThreadPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        if self.closed:
            raise EngineClosed
        return threads.submit(contextvars.copy_context().run, functools.partial(function, *args, **kwargs))

    async def close(self) -> None:
        """Let what is under way come to its end; the loop goes on meanwhile, since it may be needed for that."""
        self.closed = True
        for threads in (*self._apart, self._threads):
            await asyncio.to_thread(threads.shutdown)


def _threads(most: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(most, thread_name_prefix="longmind-async")


async def await_foreign(awaitable: Awaitable[T]) -> T:
    """What an awaitable of somebody else's gives."""
    try:
        return await awaitable
    except SystemExit as error:
        # It would end the loop, and the thread that waits for the answer would wait for ever.
        raise RuntimeError(f"SystemExit: {error}") from error
