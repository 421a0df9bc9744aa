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
from prove.machines.nodes import PORT, Node, running


@dataclass(frozen=True)
class Answer:
    """What came of a request; status 0 when there was no answer at all."""

    status: int
    seconds: float
    body: Any = None
    error: str = ""
    date: str = ""
    """What time it is on the node, as it says itself."""

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def clean(self) -> bool:
        """Whether it tells the client something it can act on: done, or a problem with its kind and what to do."""
        if self.status == 0:
            return bool(self.error)
        return self.good or (isinstance(self.body, dict) and {"type", "detail", "status"} <= self.body.keys())


class Client:
    """Sends requests from its machine to the nodes, as many at a time as are asked for."""

    def __init__(self, node: Node, token: str) -> None:
        self._node = node
        self.token = token
        self._numbers = count()
        self._waiting: dict[int, Future[Answer]] = {}
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
    ) -> Future[Answer]:
        """Ask, and go on; the answer comes in time."""
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
        future: Future[Answer] = Future()
        with self._writing:
            self._waiting[number] = future
            self._node.tell(request)
        return future

    def ask(self, *arguments: Any, **options: Any) -> Answer:
        return self.send(*arguments, **options).result(90)

    def _listen(self) -> None:
        while True:
            told = self._node.hear(3600)
            if told is None:
                return
            self._waiting.pop(told.pop("id")).set_result(Answer(**told))


@contextmanager
def client(machine: Machine, token: str) -> Iterator[Client]:
    with running(Node(machine, ("-m", "prove.machines.client"), {})) as node:
        yield Client(node, token)
