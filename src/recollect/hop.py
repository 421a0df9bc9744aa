"""From an event loop to the synchronous core and back: one thread hop per operation."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from recollect.errors import EngineClosed
from recollect.forking import leave_to_parent, survive_forks

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32


class Hop:
    """Runs blocking calls in threads of its own, so that they wait for nobody else's in the loop's default pool."""

    def __init__(self) -> None:
        self._closed = False
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="recollect-async")
        survive_forks(self)

    def renew_after_fork(self) -> None:
        leave_to_parent(self._threads)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="recollect-async")

    async def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise EngineClosed
        call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def close(self) -> None:
        """Let what is under way come to its end; the loop goes on meanwhile, since it may be needed for that."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)


def twin_of(service: type) -> type:
    """Make the class whose public methods are those of a service, awaitable."""

    def __init__(self: Any, original: Any, hop: Hop) -> None:
        self._original = original
        self._hop = hop

    members: dict[str, Any] = {"__init__": __init__, "__doc__": service.__doc__, "__module__": "recollect.twins"}
    for name, method in inspect.getmembers(service, inspect.isfunction):
        if not name.startswith("_"):
            members[name] = _awaitable(name, method)
    return type(f"Async{service.__name__}", (), members)


def _awaitable(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._hop(getattr(self._original, name), *args, **kwargs)

    call.__qualname__ = f"Async{method.__qualname__}"
    return call
