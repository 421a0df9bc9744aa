"""A turn that is run over HTTP: piece by piece as server-sent events, or whole; who hangs up ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from pydantic_core import to_json

from longmind.providers.language_model import Cancel
from longmind.server.auth.identity import Identity
from longmind.server.endpoint import (
    Asked,
    Doing,
    Response,
    failure,
    read_request,
    send_response,
)
from longmind.server.observability.middleware import IDENTITY, Message, Receive, Send

EVENT_STREAM = "text/event-stream"
_HEADERS = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
_FIRST_SECONDS = 1.0
"""How long an answer waits for the first event: what is refused at once is answered with its own status."""
_SILENT_SECONDS = 15.0
"""After how long without an event a comment is sent, so that nobody between takes the connection for dead."""


class RunTurn(Doing):
    """Runs turns in threads of their own: they wait for models, and nobody else is to wait for them."""

    async def run(self, scope: Message, receive: Receive, send: Send) -> None:
        desk = self.desk
        asked = await read_request(scope, receive, desk)
        streams = EVENT_STREAM in (asked.headers.get("accept") or "")
        cancel, told = Cancel(), asyncio.Queue[tuple[str, Any]]()
        loop = asyncio.get_running_loop()

        def tell(kind: str, what: Any) -> None:
            loop.call_soon_threadsafe(told.put_nowait, (kind, what))

        def run() -> None:
            on_text = (lambda text: tell("text", to_json({"text": text}))) if streams else None
            tell("end", self._respond(asked, on_text, cancel))

        running = asyncio.create_task(desk.hop.run_separately(run))
        gone = asyncio.create_task(_hung_up(receive))
        try:
            events = _until_end(told, gone, desk.turn_seconds, cancel)
            await (_stream(events, scope, send) if streams else _send_whole(events, send))
        finally:
            # Whoever has hung up, or was cut off by the server's end, wants no more of the answer.
            cancel.cancel()
            gone.cancel()
            with suppress(Exception):
                await asyncio.shield(running)

    def _respond(self, asked: Asked, on_text: Any, cancel: Cancel) -> Response:
        try:
            identity, arguments = self.arguments(asked)
            return self.call(identity, {**arguments, "on_text": on_text, "cancel": cancel})
        except Exception as error:
            return failure(error, asked.headers)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _until_end(
    told: asyncio.Queue[tuple[str, Any]], gone: asyncio.Task[None], seconds: float, cancel: Cancel
) -> AsyncIterator[tuple[str, Any]]:
    """What the turn tells, up to its end; pauses between are told as `silence`. It ends early with the client."""
    ends_at = asyncio.get_running_loop().time() + seconds
    silent = _FIRST_SECONDS
    while not gone.done():
        left = ends_at - asyncio.get_running_loop().time()
        if left <= 0:
            # The turn ends with what it has, and says so itself.
            cancel.cancel()
        next_one = asyncio.ensure_future(told.get())
        wait = min(silent, left) if left > 0 else silent
        await asyncio.wait({next_one, gone}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        silent = _SILENT_SECONDS
        if next_one.done():
            kind, what = next_one.result()
            yield kind, what
            if kind == "end":
                return
        else:
            next_one.cancel()
            yield "silence", None


async def _send_whole(events: AsyncIterator[tuple[str, Any]], send: Send) -> None:
    async for kind, what in events:
        if kind == "end":
            await send_response(send, what)


async def _stream(events: AsyncIterator[tuple[str, Any]], scope: Message, send: Send) -> None:
    started = False
    async for kind, what in events:
        if not started and kind == "end" and what.status >= 400:
            await send_response(send, what)
            return
        if not started:
            identity: Identity | None = scope.get(IDENTITY)
            told = _HEADERS if identity is None else {**identity.headers, **_HEADERS}
            headers = [(name.lower().encode(), value.encode()) for name, value in told.items()]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            started = True
        await send({"type": "http.response.body", "body": _event(kind, what), "more_body": True})
    if started:
        await send({"type": "http.response.body", "body": b""})


def _event(kind: str, what: Any) -> bytes:
    if kind == "silence":
        return b": the turn goes on\n\n"
    if kind == "end":
        kind, what = ("result" if what.status < 400 else "error"), what.body
    # JSON is written without line breaks, so that the data is one line.
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), what)
