"""The server process: uvicorn with our limits, on a socket that already listens, next to an engine's workers."""

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
from longmind.server.http.connection_limits import make_connection_class

_LISTEN_BACKLOG = 2048


def open_listener(host: str, port: int) -> socket.socket:
    """Open a socket that accepts connections at once; port 0 picks a free port.

    Raises InvalidInput if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the protocol is named; otherwise a response may wait for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_LISTEN_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidInput(
            f"The server cannot listen on {host} port {port}: {error}.", hint="Choose another --port or --host."
        ) from None
    listener.setblocking(False)
    return listener


def format_address(listener: socket.socket) -> str:
    """Return the URL of the server."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpServer(uvicorn.Server):
    """A server that has its socket and waits to be run. `stop` ends it from any thread."""

    def __init__(self, app: Starlette, engine: Engine, listener: socket.socket, workers: int = 0) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=make_connection_class(engine.settings),
                # The program configures logging; uvicorn must not replace it.
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
        """Serve until a signal or `stop`; then refuse new requests and finish those in progress.

        when_ready: called once before the first request is accepted, after the workers have started.
        """
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
        """Let signals end the server in order. uvicorn's own version raises them again, with the engine still open."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # Signals can be handled in the main thread only; in another thread the caller uses `stop`.
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Report "not ready" first, so that a load balancer sends requests elsewhere, and then shut down."""
        self._app.state.readiness.stop()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """Ask the server to end; it returns from `serve_until_stopped` when all requests are answered."""
        self.should_exit = True
