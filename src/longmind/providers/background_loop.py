"""One event loop in a background thread, in which all calls over a network wait."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from longmind.errors import EngineClosed, InvalidInput
from longmind.runtime.fork_safety import leave_to_parent, survive_forks

if TYPE_CHECKING:
    # Loaded with the first call: most engines never make one.
    import asyncio
    from concurrent.futures import Future

T = TypeVar("T")

_LAST_SECONDS = 5.0
"""Seconds that cancelled calls have to end."""


class BackgroundLoop:
    """Runs coroutines for callers that cannot: plain threads, workers, and threads whose own loop is running.

    Its thread starts with the first call. Connections belong to the loop that made them, so all providers of an engine
    share this one. Any thread may submit, except the loop's own: it would wait for itself.
    """

    def __init__(self) -> None:
        self.closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        leave_to_parent(self._loop, self._thread)
        self._loop = self._thread = None
        self._starting = threading.Lock()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a call; return a future to wait for or cancel. Raises EngineClosed after `close`."""
        import asyncio

        try:
            # Under the lock, so that `close` finds the call and cancels it: a stopped loop accepts calls as well, and
            # never answers them.
            with self._starting:
                return asyncio.run_coroutine_threadsafe(coroutine, self._start_loop())
        except BaseException:
            coroutine.close()
            raise

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, started at the first call. The caller holds the lock."""
        import asyncio

        if self.closed:
            raise EngineClosed
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="longmind-providers", daemon=True)
            self._thread.start()
        if threading.current_thread() is self._thread:
            raise InvalidInput(
                "A model cannot call another model through the engine during its own call: both would wait for each"
                " other.",
                hint="Await the other model directly.",
            )
        return self._loop

    def close(self) -> None:
        """Cancel all calls under way and end the thread; closing again does nothing."""
        with self._starting:
            self.closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        import asyncio

        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    """Cancel all other tasks of the loop and wait for them, for a limited time."""
    import asyncio

    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        # A task that ignores its cancellation is not waited for any longer.
        await asyncio.wait(others, timeout=_LAST_SECONDS)
    await asyncio.get_running_loop().shutdown_asyncgens()
