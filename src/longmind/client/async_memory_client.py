"""The memory of one user on a server, for asynchronous programs: the methods of `Client`, awaitable.

    async with longmind.AsyncClient("ada", url="https://memory.example", key="rk_…") as memory:
        await memory.add("I live in Vienna.")

It uses no threads but for files, so that thousands of requests may wait at once.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from longmind.aio.derivation import match_method
from longmind.client.archive_file import ARCHIVE_REQUEST, open_archive
from longmind.client.memory_client import describe_client
from longmind.client.memory_requests import prepare_request, read_answer
from longmind.client.server_connection import open_connection
from longmind.client.transports import AsyncTransport
from longmind.errors import NotFound
from longmind.front_door.arguments import UserId, read_space, read_user
from longmind.front_door.memory import Memory
from longmind.front_door.memory_results import Added, Erasure, Forgetting, Found, RememberedFact
from longmind.models.profile import Profile
from longmind.settings import load_server
from longmind.validation.parameter_limits import Name


class AsyncClient:
    """The memory of one user on a server, awaitable. Tasks of one event loop may share it."""

    def __init__(
        self,
        user: UserId | None = None,
        *,
        url: str | None = None,
        key: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        space: Name | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 60.0,
    ) -> None:
        """Prepare the memory of a user on a server; the parameters are those of `Client`."""
        server = load_server(url, key)
        named = {"user": None if user is None else read_user(user), "agent": agent, "session": session}
        self._connection = open_connection(server.server, server.key, named, timeout, retries, longest_wait)
        self._space = read_space(space)
        self._user = named["user"]
        self._transport = AsyncTransport(self._connection)

    @match_method(Memory.add)
    async def add(self, *args: Any, **options: Any) -> Added:
        return await self._call("add", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.flush)
    async def flush(self, *args: Any, **options: Any) -> int:
        return await self._call("flush", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.search)
    async def search(self, *args: Any, **options: Any) -> Found:
        return await self._call("search", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.context)
    async def context(self, *args: Any, **options: Any) -> str:
        return await self._call("context", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.facts)
    async def facts(self, *args: Any, **options: Any) -> list[RememberedFact]:
        return await self._call("facts", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.profile)
    async def profile(self, *args: Any, **options: Any) -> Profile:
        return await self._call("profile", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.history)
    async def history(self, *args: Any, **options: Any) -> list[RememberedFact]:
        return await self._call("history", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.get)
    async def get(self, *args: Any, **options: Any) -> RememberedFact | None:
        try:
            return await self._call("get", *args, **options)  # type: ignore[no-any-return]
        except NotFound:
            return None

    @match_method(Memory.update)
    async def update(self, *args: Any, **options: Any) -> RememberedFact:
        return await self._call("update", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.forget)
    async def forget(self, *args: Any, **options: Any) -> Forgetting:
        return await self._call("forget", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.export)
    async def export(self, path: str | Path | None = None) -> dict[str, Any]:
        if path is None:
            return await self._call("export")  # type: ignore[no-any-return]
        lines: dict[str, int] = {}
        # Opening and syncing a file may take a while.
        archive = open_archive(path, lines)
        file = await asyncio.to_thread(archive.__enter__)
        try:
            await self._transport.send(ARCHIVE_REQUEST, file)
        except BaseException as error:
            await asyncio.to_thread(archive.__exit__, type(error), error, error.__traceback__)
            raise
        await asyncio.to_thread(archive.__exit__, None, None, None)
        return dict(lines)

    @match_method(Memory.erase)
    async def erase(self, *args: Any, **options: Any) -> Erasure:
        return await self._call("erase", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.tools)
    async def tools(self, *args: Any, **options: Any) -> list[dict[str, Any]]:
        return await self._call("tools", *args, **options)  # type: ignore[no-any-return]

    @match_method(Memory.run_tool)
    async def run_tool(self, *args: Any, **options: Any) -> dict[str, Any]:
        return await self._call("run_tool", *args, **options)  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Close the connections to the server. Closing again does nothing."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> NoReturn:
        raise TypeError("AsyncClient is asynchronous. Write `async with`, or use longmind.Client.")

    def __exit__(self, *_: object) -> NoReturn:
        raise TypeError("AsyncClient is asynchronous. Write `async with`, or use longmind.Client.")

    def __repr__(self) -> str:
        return describe_client(self, self._user, self._connection.url)

    async def _call(self, name: str, *args: Any, **options: Any) -> Any:
        answer = await self._transport.send(prepare_request(name, self._space, args, options))
        return read_answer(name, answer)
