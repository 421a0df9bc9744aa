"""A server in this process on a free port of the loopback, and requests to it over real sockets."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import longmind
from longmind.server.app import make_app
from longmind.server.process import HttpServer, format_address, open_listener


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Somebody who sends requests, with the same headers each time."""

    def __init__(self, address: str, **headers: str) -> None:
        self.address = address
        self._where = urlsplit(address)
        self._headers = headers

    def with_key(self, key: str, **headers: str) -> Client:
        return Client(self.address, authorization=f"Bearer {key}", **headers)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request, the body as JSON unless it is bytes; `if_match=` stands for the header If-Match."""
        connection = http.client.HTTPConnection(self._where.hostname or "", self._where.port, timeout=60)
        sent = {"content-type": "application/json"} if body is not None else {}
        sent |= {name.replace("_", "-").lower(): value for name, value in {**self._headers, **headers}.items()}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return Answer(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)


@contextmanager
def serving(engine: longmind.Engine, *, workers: int = 0, listener: socket.socket | None = None) -> Iterator[Client]:
    """Serve an engine while this lasts."""
    listener = listener or open_listener("127.0.0.1", 0)
    server = HttpServer(make_app(engine), engine, listener, workers)
    thread = threading.Thread(target=server.serve_until_stopped, name="server")
    thread.start()
    try:
        # Connections are taken by the kernel from the first moment, and answered when the server is there.
        yield Client(format_address(listener))
    finally:
        server.stop()
        thread.join()


@contextmanager
def heard_late(engine: longmind.Engine, sent: bytes) -> Iterator[socket.socket]:
    """A connection on which something was sent before the server was there: none of its time was used up by that."""
    listener = open_listener("127.0.0.1", 0)
    with socket.create_connection(listener.getsockname(), timeout=60) as connection:
        connection.sendall(sent)
        with serving(engine, listener=listener):
            yield connection
