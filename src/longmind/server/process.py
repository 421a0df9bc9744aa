"""The server as a process: it listens, works jobs off beside, and ends with what it has accepted done."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from longmind.engine import Engine
from longmind.errors import InvalidInput
from longmind.server.http.connection_limits import connections_of

_WAITING_CONNECTIONS = 2048


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that clients can connect to from now on; port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends without delay only where it is; else an answer may wait for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_WAITING_CONNECTIONS)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidInput(
            f"The server cannot listen on {host} port {port}: {error}.", hint="Choose another --port, or --host."
        ) from None
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket) -> str:
    """Where to find the server, as one writes it."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Serving(uvicorn.Server):
    """A server that has been made and waits to be run. From any thread, `stop` ends it."""

    def __init__(self, app: Starlette, engine: Engine, listener: socket.socket, workers: int = 0) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=connections_of(engine.settings),
                # What it logs goes where the program has all of its logs go.
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="on",
                timeout_graceful_shutdown=max(1, round(engine.settings.shutdown_seconds)),
            )
        )
        self._app = app
        self._engine = engine
        self.listener = listener
        self._workers = workers

    def serve_until_stopped(self, when_ready: Callable[[], None] = lambda: None) -> None:
        """Answer requests until a signal or `stop`; then no more come in, and those that are in are done."""
        if self._workers:
            self._engine.start_workers(self._workers)
        when_ready()
        try:
            self.run(sockets=[self.listener])
        finally:
            self.listener.close()
            self._engine.stop_workers(self._engine.settings.shutdown_seconds)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server in good order: in uvicorn's own way they end the process, with an engine open."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.readiness.stop()
        await super().shutdown(sockets)

    def stop(self) -> None:
        self.should_exit = True
