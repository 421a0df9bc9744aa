"""Threads that run the synchronous core for callers in an event loop, and the classes derived for such callers.

Each operation costs one hop: the call goes to a thread, and its result comes back to the loop that awaits it. Context
variables of the caller are visible in the thread.
"""

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
    """Runs blocking calls in its own threads, so that they compete with no one in the loop's default pool.

    Calling it submits one call; it raises EngineClosed after `close`.
    """

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
        """Run a call that waits for other calls of this pool in a thread of its own, to avoid a deadlock."""
        # Drops calls whose callers were cancelled and that have ended since.
        self._apart = {threads: call for threads, call in self._apart.items() if not call.done()}
        threads = _threads(1)
        call = self._submit(threads, function, *args, **kwargs)
        self._apart[threads] = call
        try:
            return await asyncio.wrap_future(call)
        finally:
            # The thread ends with the call, which may still be running if the caller was cancelled.
            threads.shutdown(wait=call.done())

    def _submit(
        self, threads: ThreadPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        if self.closed:
            raise EngineClosed
        return threads.submit(contextvars.copy_context().run, functools.partial(function, *args, **kwargs))

    async def close(self) -> None:
        """Wait for running calls without blocking the loop, which they may need, and accept no more."""
        self.closed = True
        for threads in (*self._apart, self._threads):
            await asyncio.to_thread(threads.shutdown)


def _threads(most: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(most, thread_name_prefix="longmind-async")


async def await_foreign(awaitable: Awaitable[T]) -> T:
    """Await code of the caller; raise RuntimeError in place of a SystemExit.

    SystemExit would end the loop, and the thread that waits for the result would wait for ever.
    """
    try:
        return await awaitable
    except SystemExit as error:
        raise RuntimeError(f"SystemExit: {error}") from error
