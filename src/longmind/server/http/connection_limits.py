"""HTTP as uvicorn speaks it, with limits of time and size for the head of a request, and refusals that are problems."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from longmind.errors import InvalidInput, LongmindError
from longmind.server.problems import HeadTooLarge, problem_of
from longmind.settings import Settings

_Protocol: Any = AutoHTTPProtocol
"""The faster of those that are installed. Neither limits how long a head may take, and only the slower its size."""
_MOST_HEAD_BYTES = 64 * 1024


def connections_of(settings: Settings) -> type[asyncio.Protocol]:
    """What handles connections, and closes those on which no whole head of a request comes in time."""
    head_seconds = settings.request_seconds
    # A body that was refused is still on its way: who would be cut off at once might never read why.
    most_refused_bytes = int(4 * settings.request_megabytes * 1024 * 1024)

    class Connection(_Protocol):  # type: ignore[misc]  # which class it is, is known when it runs
        def connection_made(self, transport: asyncio.Transport) -> None:
            self._head_timer: asyncio.TimerHandle | None = None
            self._head_bytes = 0
            self._refused = False
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            if not self._refused:
                super().data_received(data)
            if self._refused:
                self._pass_over(data)
                return
            if self.cycle is not None and not self.cycle.response_complete:
                # The head has come; what is left of the request has limits of its own.
                self._stop_waiting()
                return
            self._wait_for_head()
            self._head_bytes += len(data)
            most = most_refused_bytes if self.cycle is not None and self.cycle.more_body else _MOST_HEAD_BYTES
            if self._head_bytes > most and not self.transport.is_closing():
                self._refuse(HeadTooLarge(f"The head of a request may have {_MOST_HEAD_BYTES:,} bytes."))

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._refuse(InvalidInput("This is not HTTP.", hint="See how the request and its headers are written."))

        def _refuse(self, error: LongmindError) -> None:
            """Tell what is wrong as every other error is told, unless an answer is on its way; and hang up."""
            idle = self.cycle is None or self.cycle.response_complete
            if idle or not self.cycle.response_started:
                status, headers, body = problem_of(error)
                told = {**headers, "content-length": str(len(body)), "connection": "close"}
                lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{n}: {v}" for n, v in told.items())]
                self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
            if idle and self.transport.can_write_eof():
                # The rest of a head that was refused may be on its way as well.
                self._refused = True
                self._stop_waiting()
                self._wait_for_head()
                self.transport.write_eof()
            else:
                self.transport.close()

        def _pass_over(self, data: bytes) -> None:
            self._head_bytes += len(data)
            if self._head_bytes > most_refused_bytes:
                self.transport.close()

        def _wait_for_head(self) -> None:
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(head_seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            self._head_bytes = 0
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return Connection
