"""The memory of one user, for asynchronous programs: the methods of `Memory`, awaitable."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

from longmind.aio.derivation import match_method
from longmind.clock import Clock
from longmind.errors import EngineClosed
from longmind.extraction.candidate import Extractor
from longmind.front_door.arguments import FROM_SETTINGS, UserFromSettings, UserId, read_user
from longmind.front_door.memory import Memory
from longmind.front_door.memory_results import Added, Erasure, Forgetting, Found, RememberedFact
from longmind.models.profile import Profile
from longmind.providers.embedder import Embedder
from longmind.providers.language_model import LanguageModel
from longmind.providers.provider_registry import AUTO
from longmind.runtime.thread_pool import Hop
from longmind.validation.parameter_limits import Name

P = ParamSpec("P")
T = TypeVar("T")


class AsyncMemory:
    """The memory of one user, awaitable. It is opened by the first call, or by `async with`; tasks may share it."""

    def __init__(
        self,
        user: UserId | UserFromSettings = FROM_SETTINGS,
        *,
        url: str | Path | None = None,
        tenant: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        space: Name | None = None,
        model: str | LanguageModel | Extractor | None = None,
        embedder: str | Embedder | None = AUTO,
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        """Prepare the memory of a user; the parameters are those of `Memory`."""
        # A user that cannot be one is refused here, and not by the first call.
        read_user(user)
        self._user = user
        self._make = functools.partial(
            Memory,
            user,
            url=url,
            tenant=tenant,
            app=app,
            agent=agent,
            session=session,
            space=space,
            model=model,
            embedder=embedder,
            clock=clock,
            **settings,
        )
        self._hop = Hop()
        self._memory: Memory | None = None
        self._opening: asyncio.Task[Memory] | None = None
        self._closed = False

    async def open(self) -> AsyncMemory:
        """Open the memory now rather than with the first call, and return it."""
        await self._open()
        return self

    async def close(self) -> None:
        """Close the memory; calls that are under way end first. Closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._memory is not None:
            await self._hop.run_separately(self._memory.close)
        await self._hop.close()

    @match_method(Memory.add)
    async def add(self, *args: Any, **options: Any) -> Added:
        return await self._call(Memory.add, *args, **options)

    @match_method(Memory.flush)
    async def flush(self, *args: Any, **options: Any) -> int:
        return await self._call(Memory.flush, *args, **options)

    @match_method(Memory.search)
    async def search(self, *args: Any, **options: Any) -> Found:
        return await self._call(Memory.search, *args, **options)

    @match_method(Memory.context)
    async def context(self, *args: Any, **options: Any) -> str:
        return await self._call(Memory.context, *args, **options)

    @match_method(Memory.facts)
    async def facts(self, *args: Any, **options: Any) -> list[RememberedFact]:
        return await self._call(Memory.facts, *args, **options)

    @match_method(Memory.profile)
    async def profile(self, *args: Any, **options: Any) -> Profile:
        return await self._call(Memory.profile, *args, **options)

    @match_method(Memory.history)
    async def history(self, *args: Any, **options: Any) -> list[RememberedFact]:
        return await self._call(Memory.history, *args, **options)

    @match_method(Memory.get)
    async def get(self, *args: Any, **options: Any) -> RememberedFact | None:
        return await self._call(Memory.get, *args, **options)

    @match_method(Memory.update)
    async def update(self, *args: Any, **options: Any) -> RememberedFact:
        return await self._call(Memory.update, *args, **options)

    @match_method(Memory.forget)
    async def forget(self, *args: Any, **options: Any) -> Forgetting:
        return await self._call(Memory.forget, *args, **options)

    @match_method(Memory.export)
    async def export(self, *args: Any, **options: Any) -> dict[str, Any]:
        return await self._call(Memory.export, *args, **options)

    @match_method(Memory.erase)
    async def erase(self, *args: Any, **options: Any) -> Erasure:
        return await self._call(Memory.erase, *args, **options)

    @match_method(Memory.tools)
    async def tools(self, *args: Any, **options: Any) -> list[dict[str, Any]]:
        return await self._call(Memory.tools, *args, **options)

    @match_method(Memory.run_tool)
    async def run_tool(self, *args: Any, **options: Any) -> dict[str, Any]:
        return await self._call(Memory.run_tool, *args, **options)

    def __await__(self) -> Generator[Any, None, AsyncMemory]:
        return self.open().__await__()

    async def __aenter__(self) -> AsyncMemory:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> NoReturn:
        raise TypeError("AsyncMemory is asynchronous. Write `async with`, or use longmind.Memory.")

    def __exit__(self, *_: object) -> NoReturn:
        raise TypeError("AsyncMemory is asynchronous. Write `async with`, or use longmind.Memory.")

    def __repr__(self) -> str:
        if self._memory is not None:
            return f"Async{self._memory!r}"
        state = "closed" if self._closed else "not open yet"
        return f"AsyncMemory({self._user!r}, {state})"

    async def _open(self) -> Memory:
        if self._closed:
            raise EngineClosed("This memory is closed.", hint="Make a new longmind.AsyncMemory, or close it later.")
        if self._memory is None:
            if self._opening is None or self._opening.get_loop() is not asyncio.get_running_loop():
                self._opening = asyncio.ensure_future(self._hop(self._make))
            opening = self._opening
            try:
                # Others may wait for it too, so a caller that is cancelled leaves it alone.
                self._memory = await asyncio.shield(opening)
            finally:
                # One that failed is tried again by the next call.
                if opening.done() and self._opening is opening:
                    self._opening = None
        return self._memory

    async def _call(self, method: Callable[Concatenate[Memory, P], T], *args: P.args, **options: P.kwargs) -> T:
        memory = await self._open()
        return await self._hop(method, memory, *args, **options)
