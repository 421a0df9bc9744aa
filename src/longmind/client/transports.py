"""Sending requests with httpx2, in a thread or on an event loop. Connections are kept and reused.

Both transports do the same steps; they differ in what waits. An answer that is written to a file is never held in
memory as a whole; a repeated request empties the file first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

try:
    import httpx2
except ModuleNotFoundError:
    raise ImportError("longmind.Client needs the package httpx2. Run: pip install 'longmind[client]'") from None

from longmind.client.retry_policy import RequestFailure
from longmind.client.server_connection import Connection, PreparedRequest
from longmind.errors import EngineClosed, InvalidInput

_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
"""Failures before the first byte of the request has left."""


class Transport:
    """Sends requests and waits for the answers. Threads may share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Redirects are refused: they would send the key to another server.
        self._http = httpx2.Client(timeout=connection.timeout, follow_redirects=False)

    def send(self, request: PreparedRequest, file: IO[bytes] | None = None) -> Any:
        """Return the JSON of the answer; repeat the request where that is safe.

        file: receives the answer piece by piece instead, whatever its size.
        """
        attempts = self._connection.begin(request)
        while True:
            try:
                with _translate(self._connection):
                    return self._send_once(request, file)
            except RequestFailure as failure:
                time.sleep(attempts.pause_after(failure))

    def _send_once(self, request: PreparedRequest, file: IO[bytes] | None) -> Any:
        with self._http.stream(**_to_arguments(self._connection, request)) as answer:
            if file is None or answer.status_code >= 300:
                return self._connection.read_answer(answer.status_code, answer.headers, answer.read())
            _empty(file)
            for piece in answer.iter_bytes():
                file.write(piece)
            return None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncTransport:
    """Sends requests on the running event loop.

    Its connections belong to that loop, so a client serves one loop only.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._http = httpx2.AsyncClient(timeout=connection.timeout, follow_redirects=False)

    async def send(self, request: PreparedRequest, file: IO[bytes] | None = None) -> Any:
        """Return the JSON of the answer; repeat the request where that is safe.

        file: receives the answer piece by piece instead, whatever its size.
        """
        attempts = self._connection.begin(request)
        while True:
            try:
                with _translate(self._connection):
                    return await self._send_once(request, file)
            except RequestFailure as failure:
                await asyncio.sleep(attempts.pause_after(failure))

    async def _send_once(self, request: PreparedRequest, file: IO[bytes] | None) -> Any:
        async with self._http.stream(**_to_arguments(self._connection, request)) as answer:
            if file is None or answer.status_code >= 300:
                return self._connection.read_answer(answer.status_code, answer.headers, await answer.aread())
            _empty(file)
            async for piece in answer.aiter_bytes():
                await asyncio.to_thread(file.write, piece)
            return None

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _to_arguments(connection: Connection, request: PreparedRequest) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": connection.url + request.path,
        "params": dict(request.query) or None,
        "content": request.content,
        # As bytes: names of users may hold any character, and the server reads UTF-8.
        "headers": [(name.encode(), value.encode()) for name, value in connection.headers_of(request).items()],
    }


def _empty(file: IO[bytes]) -> None:
    """Remove what an earlier attempt has left."""
    file.seek(0)
    file.truncate()


@contextmanager
def _translate(connection: Connection) -> Iterator[None]:
    """Turn the errors of httpx2 into failures that the retry policy understands."""
    try:
        yield
    except httpx2.TransportError as error:
        timed_out = isinstance(error, httpx2.TimeoutException)
        raise connection.describe_loss(error, reached=not isinstance(error, _NOT_SENT), timed_out=timed_out) from error
    except httpx2.InvalidURL as error:
        raise InvalidInput(f"The URL {connection.url!r} cannot be understood: {error}.") from None
    except RuntimeError as error:
        # An error of the program's own is passed on as it is.
        if "closed" not in str(error):
            raise
        raise EngineClosed("The client is closed.", hint="Make a new client, or close it later.") from None
