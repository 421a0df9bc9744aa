"""A proxy for PostgreSQL that can cut, delay, silence or redirect connections at chosen messages.

It reads the client's messages one by one, and knows which of them lets a COMMIT be executed.
"""

from __future__ import annotations

import selectors
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Literal

Attack = Literal[
    "before the commit arrives",
    "after the commit, before its answer",
    "in the middle of a transaction",
    "half-closed",
    "held up at its beginning",
]
HELD_UP = 0.6
"""The delay in seconds."""
_CHUNK = 65536


class Proxy:
    """Listens on a port of the loopback and leads each connection to the target of that moment."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.delay = 0.0
        self.delayed = 0
        """The number of delayed pieces."""
        self.attacks: list[Attack] = []
        """The attacks on the next connections that reach such a point, in this order; each is used once."""
        self.done: list[Attack] = []
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self._pairs: set[_ProxiedConnection] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def silence(self) -> None:
        """Keep every connection open, also new ones, and let nothing through."""
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    def cut_all(self) -> int:
        """Cut every connection and return their number."""
        pairs = list(self._pairs)
        for pair in pairs:
            pair.cut()
        return len(pairs)

    def close(self) -> None:
        self._listener.close()
        self.resume()
        self.cut_all()

    def wait_for_way(self) -> None:
        self._open.wait()
        if self.delay:
            self.delayed += 1
            time.sleep(self.delay)

    def take(self, *points: Attack) -> Attack | None:
        """Take and return the next attack, if it is one of these."""
        with self._lock:
            if self.attacks and self.attacks[0] in points:
                attack = self.attacks.pop(0)
                self.done.append(attack)
                return attack
        return None

    def forget(self, pair: _ProxiedConnection) -> None:
        self._pairs.discard(pair)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            pair = _ProxiedConnection(self, client)
            self._pairs.add(pair)
            threading.Thread(target=pair.run, name="proxied", daemon=True).start()


class _ProxiedConnection:
    """One client and its server."""

    def __init__(self, proxy: Proxy, client: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server: socket.socket | None = None
        self._reader = _MessageReader()

    def run(self) -> None:
        self._proxy.wait_for_way()
        try:
            self._server = socket.create_connection(self._proxy.target, 5)
            for each in (self._client, self._server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pump(self._client, self._server)
        except (OSError, ValueError):
            # Either end is gone; the other is closed below.
            pass
        finally:
            self.cut()
            self._proxy.forget(self)

    def cut(self) -> None:
        for each in (self._client, self._server):
            if each is not None:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ)
            selector.register(server, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    data = key.fileobj.recv(_CHUNK)  # type: ignore[union-attr]  # only sockets are registered
                    self._proxy.wait_for_way()
                    if not data:
                        return
                    if key.fileobj is server:
                        client.sendall(data)
                    elif not self._forward(data, client, server):
                        return

    def _forward(self, data: bytes, client: socket.socket, server: socket.socket) -> bool:
        """Pass on what the client sends, unless an attack is due; False when the connection is to end."""
        for message, point in self._reader.read(data):
            if point == "commit":
                attack = self._proxy.take("before the commit arrives", "after the commit, before its answer")
            elif point == "statement":
                attack = self._proxy.take("in the middle of a transaction", "half-closed")
            elif point == "begin":
                attack = self._proxy.take("held up at its beginning")
            else:
                attack = None
            match attack:
                case "before the commit arrives" | "in the middle of a transaction":
                    return False
                case "half-closed":
                    # The client may still send, but receives nothing.
                    client.shutdown(socket.SHUT_WR)
                case "held up at its beginning":
                    # Nothing is lost, and a server with a limit to statements gives this one up.
                    time.sleep(HELD_UP)
                case "after the commit, before its answer":
                    # The rest of the batch has to arrive as well, or nothing of it is executed.
                    server.sendall(message + _SYNC)
                    _wait_for_answer(server)
                    return False
            server.sendall(message)
        return True


_SYNC = b"S\x00\x00\x00\x04"


def _wait_for_answer(server: socket.socket) -> None:
    """Read and discard until the server is ready for more."""
    server.settimeout(2)
    heard = b""
    with suppress(TimeoutError):
        while not (heard[-6:-1] == b"Z\x00\x00\x00\x05" and heard[-1:] == b"I"):
            data = server.recv(_CHUNK)
            if not data:
                return
            heard += data


class _MessageReader:
    """A parser of the client's stream into messages, each with its meaning to the server."""

    def __init__(self) -> None:
        self._rest = b""
        self._greeted = False
        self._points: dict[bytes, str] = {}
        self._bound = b""

    def read(self, data: bytes) -> list[tuple[bytes, str]]:
        self._rest += data
        found: list[tuple[bytes, str]] = []
        while True:
            head = 1 if self._greeted else 0
            if len(self._rest) < head + 4:
                return found
            size = head + int(struct.unpack("!I", self._rest[head : head + 4])[0])
            if len(self._rest) < size:
                return found
            message, self._rest = self._rest[:size], self._rest[size:]
            if self._greeted:
                found.append((message, self._point(message)))
            else:
                # The first message has no letter; those that ask for encryption come before it.
                self._greeted = struct.unpack("!I", message[4:8])[0] >> 16 == 3
                found.append((message, "greeting"))

    def _point(self, message: bytes) -> str:
        letter, body = message[:1], message[5:]
        if letter == b"P":
            name, text, *_ = body.split(b"\x00", 2)
            self._points[name] = _point_of(text)
        elif letter == b"Q":
            return _point_of(body.strip(b"\x00"))
        elif letter == b"B":
            _, name, *_ = body.split(b"\x00", 2)
            # Executed by the message that comes after it.
            self._bound = name
        elif letter == b"E":
            return self._points.get(self._bound, "statement")
        return "other"


def _point_of(text: bytes) -> str:
    """Return the role of a statement in a transaction."""
    words = text.strip(b" ;").split()
    return "commit" if words == [b"COMMIT"] else "begin" if words[:1] == [b"BEGIN"] else "statement"
