"""uvicorn's HTTP connection with limits of time and size for request headers, and refusals as problem documents.

uvicorn limits neither the time in which headers must arrive (slow-loris attacks) nor, with one of its two parsers,
their size. A connection is in one of three states: waiting for headers (a timer runs), in a request (limits of the body
apply, see request_body.py), or refused (input is discarded until the client has read the problem and hangs up).
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from longmind.errors import InvalidInput, LongmindError
from longmind.server.http.connection_ids import make_connection_state
from longmind.server.problems import HeadTooLarge, to_problem
from longmind.settings import Settings

_Protocol: Any = AutoHTTPProtocol
"""The faster parser that is installed."""
_MOST_HEAD_BYTES = 64 * 1024


def make_connection_class(settings: Settings) -> type[asyncio.Protocol]:
    """Return the protocol class for uvicorn. It closes connections whose headers do not arrive in time."""
    head_seconds = settings.request_seconds
    # A refused body is still arriving. If the connection closed at once, the client might never read why.
    most_refused_bytes = int(4 * settings.request_megabytes * 1024 * 1024)

    class Connection(_Protocol):  # type: ignore[misc]  # the class is known at run time only
        def connection_made(self, transport: asyncio.Transport) -> None:
            self._head_timer: asyncio.TimerHandle | None = None
            self._head_bytes = 0
            self._refused = False
            # uvicorn hands a copy of this to every request of the connection.
            self.app_state: dict[str, Any] = {**self.app_state, **make_connection_state()}
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            if not self._refused:
                super().data_received(data)
            if self._refused:
                self._discard(data)
                return
            if self.cycle is not None and not self.cycle.response_complete:
                # The headers have arrived; the body has limits of its own.
                self._stop_waiting()
                return
            self._wait_for_head()
            self._head_bytes += len(data)
            most = most_refused_bytes if self.cycle is not None and self.cycle.more_body else _MOST_HEAD_BYTES
            if self._head_bytes > most and not self.transport.is_closing():
                self._refuse(HeadTooLarge(f"The headers of a request may have {_MOST_HEAD_BYTES:,} bytes."))

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._refuse(InvalidInput("The request is not valid HTTP.", hint="Check the request line and the headers."))

        def _refuse(self, error: LongmindError) -> None:
            """Send a problem document, unless a response has started, and close the connection."""
            # "idle" means that no response is pending; a started response cannot be replaced by a problem.
            idle = self.cycle is None or self.cycle.response_complete
            if idle or not self.cycle.response_started:
                status, headers, body = to_problem(error)
                named = {**headers, "content-length": str(len(body)), "connection": "close"}
                lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{n}: {v}" for n, v in named.items())]
                self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
            if idle and self.transport.can_write_eof():
                # The rest of the refused headers may still arrive.
                self._refused = True
                self._stop_waiting()
                self._wait_for_head()
                self.transport.write_eof()
            else:
                self.transport.close()

        def _discard(self, data: bytes) -> None:
            self._head_bytes += len(data)
            if self._head_bytes > most_refused_bytes:
                self.transport.close()

        def _wait_for_head(self) -> None:
            """Start the timer that closes the connection, unless it runs already."""
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(head_seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            """Stop the timer and count the next headers from zero."""
            self._head_bytes = 0
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return Connection
