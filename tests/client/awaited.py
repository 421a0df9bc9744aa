"""Asynchronous memories behind synchronous methods, so that one suite tests both kinds."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Awaited:
    """The methods of an asynchronous object, each awaited on an event loop in another thread."""

    def __init__(self, original: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._original = original
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._original, name)

        def call(*args: Any, **options: Any) -> Any:
            async def run() -> Any:
                outcome = method(*args, **options)
                return await outcome if inspect.isawaitable(outcome) else outcome

            return asyncio.run_coroutine_threadsafe(run(), self._loop).result(60)

        return call


@contextmanager
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread while this lasts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="event-loop")
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
