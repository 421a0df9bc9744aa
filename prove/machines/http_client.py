"""Requests of the attacker, sent from the client's machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from prove.machines.network import Machine
from prove.machines.nodes import PORT, NetworkNode, running


@dataclass(frozen=True)
class NodeAnswer:
    """The outcome of a request; its status is 0 without an answer."""

    status: int
    seconds: float
    body: Any = None
    error: str = ""
    date: str = ""
    """The node's own time."""

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def clean(self) -> bool:
        """Return whether the client can act on it: a success, or a problem with its type and advice."""
        if self.status == 0:
            return bool(self.error)
        return self.good or (isinstance(self.body, dict) and {"type", "detail", "status"} <= self.body.keys())


class HttpClient:
    """Sends requests from its machine to the nodes, as many at a time as are asked for."""

    def __init__(self, node: NetworkNode, token: str) -> None:
        self._node = node
        self.token = token
        self._numbers = count()
        self._waiting: dict[int, Future[NodeAnswer]] = {}
        self._writing = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(
        self,
        node: Machine,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        seconds: float = 30.0,
        token: str | None = None,
    ) -> Future[NodeAnswer]:
        """Send a request without waiting, and return the future of its answer."""
        number = next(self._numbers)
        request = {
            "id": number,
            "node": f"{node.address}:{PORT}",
            "method": method,
            "path": path,
            "body": body,
            "key": key,
            "token": token or self.token,
            "seconds": seconds,
        }
        future: Future[NodeAnswer] = Future()
        with self._writing:
            self._waiting[number] = future
            self._node.tell(request)
        return future

    def ask(self, *arguments: Any, **options: Any) -> NodeAnswer:
        return self.send(*arguments, **options).result(90)

    def _listen(self) -> None:
        while True:
            message = self._node.hear(3600)
            if message is None:
                return
            self._waiting.pop(message.pop("id")).set_result(NodeAnswer(**message))


@contextmanager
def client(machine: Machine, token: str) -> Iterator[HttpClient]:
    with running(NetworkNode(machine, ("-m", "prove.machines.client"), {})) as node:
        yield HttpClient(node, token)
