"""Turns over HTTP: as server-sent events while the model writes, or whole. A client that disconnects ends the turn.

The turn runs in a thread of its own and hands its events to the event loop through a queue; the loop sends them. Only
the loop writes to the connection. The turn is cancelled on disconnect, on shutdown and after `turn_seconds`; the thread
is always awaited, so that its last write to the database is done before the request ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from pydantic_core import to_json

from longmind.providers.language_model import Cancel
from longmind.server.auth.identity import Identity
from longmind.server.endpoint import (
    HttpResponse,
    OperationHandler,
    ReceivedRequest,
    read_request,
    send_response,
    to_error_response,
)
from longmind.server.observability.middleware import IDENTITY, Message, Receive, Send

EVENT_STREAM = "text/event-stream"
_STREAM_HEADERS = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
_FIRST_SECONDS = 1.0
"""Time to wait for the first event before the stream starts: an early refusal keeps its own status."""
_KEEPALIVE_SECONDS = 15.0
"""Time without an event after which a comment is sent, so that no proxy drops the connection."""


class RunTurnHandler(OperationHandler):
    """The handler of run_turn. Each turn has its own thread, since it waits for a model much longer than others."""

    async def run(self, scope: Message, receive: Receive, send: Send) -> None:
        shared = self.shared
        request = await read_request(scope, receive, shared)
        streams = EVENT_STREAM in (request.headers.get("accept") or "")
        cancel, queue = Cancel(), asyncio.Queue[tuple[str, Any]]()
        loop = asyncio.get_running_loop()

        def emit(kind: str, payload: Any) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, (kind, payload))

        def run() -> None:
            on_text = (lambda text: emit("text", to_json({"text": text}))) if streams else None
            emit("end", self._respond(request, on_text, cancel))

        turn = asyncio.create_task(shared.hop.run_separately(run))
        disconnect = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            events = _read_events(queue, disconnect, shared.turn_seconds, cancel)
            await (_stream(events, scope, send) if streams else _send_whole(events, send))
        finally:
            # A client that disconnected, or was cut off by the shutdown, does not want the rest of the answer.
            cancel.cancel()
            disconnect.cancel()
            with suppress(Exception):
                await asyncio.shield(turn)

    def _respond(self, request: ReceivedRequest, on_text: Any, cancel: Cancel) -> HttpResponse:
        """Run the turn and return its response; this blocks until the model has finished."""
        try:
            identity, arguments = self.read_arguments(request)
            return self.call(identity, {**arguments, "on_text": on_text, "cancel": cancel})
        except Exception as error:
            return to_error_response(error, request.headers)


async def _wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected. The body must have been read, since `receive` also delivers it."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read_events(
    queue: asyncio.Queue[tuple[str, Any]], disconnect: asyncio.Task[None], seconds: float, cancel: Cancel
) -> AsyncIterator[tuple[str, Any]]:
    """Yield the events of a turn up to its end, and `silence` in long pauses; stop early when the client is gone."""
    ends_at = asyncio.get_running_loop().time() + seconds
    silence = _FIRST_SECONDS
    while not disconnect.done():
        left = ends_at - asyncio.get_running_loop().time()
        if left <= 0:
            # The turn ends with the text it has, and its result says so.
            cancel.cancel()
        event = asyncio.ensure_future(queue.get())
        wait = min(silence, left) if left > 0 else silence
        await asyncio.wait({event, disconnect}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        silence = _KEEPALIVE_SECONDS
        if event.done():
            kind, payload = event.result()
            yield kind, payload
            if kind == "end":
                return
        else:
            event.cancel()
            yield "silence", None


async def _send_whole(events: AsyncIterator[tuple[str, Any]], send: Send) -> None:
    """Wait for the end of the turn and send its response; a client without `text/event-stream` gets no pieces."""
    async for kind, payload in events:
        if kind == "end":
            await send_response(send, payload)


async def _stream(events: AsyncIterator[tuple[str, Any]], scope: Message, send: Send) -> None:
    """Send events as they come. A turn refused before its first event is answered with its own status instead."""
    started = False
    async for kind, payload in events:
        if not started and kind == "end" and payload.status >= 400:
            await send_response(send, payload)
            return
        if not started:
            identity: Identity | None = scope.get(IDENTITY)
            named = _STREAM_HEADERS if identity is None else {**identity.headers, **_STREAM_HEADERS}
            headers = [(name.lower().encode(), value.encode()) for name, value in named.items()]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            started = True
        await send({"type": "http.response.body", "body": _format_event(kind, payload), "more_body": True})
    if started:
        await send({"type": "http.response.body", "body": b""})


def _format_event(kind: str, payload: Any) -> bytes:
    """Return one server-sent event; silence becomes a comment, which clients ignore."""
    if kind == "silence":
        return b": the turn goes on\n\n"
    if kind == "end":
        kind, payload = ("result" if payload.status < 400 else "error"), payload.body
    # Our JSON has no line breaks, so the data fits on one line.
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), payload)
