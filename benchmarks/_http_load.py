"""A load of many HTTP clients on raw kept-alive connections, which cost little processor time themselves."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Request = tuple[str, str, dict[str, Any]]
"""The kind of a request, its path and its body."""


@dataclass
class Load:
    """The results of a load."""

    times: dict[str, list[float]] = field(default_factory=dict)
    """Seconds of each successful request, by kind."""
    refused: dict[str, int] = field(default_factory=dict)
    """The number of failures, by status or error."""
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    """The conversation and the id of each message that the server acknowledged."""
    elapsed: float = 0.0
    longest_silence: float = 0.0
    """The longest time without a successful response to any client."""
    _last: float = 0.0

    def count(self, kind: str, took: float) -> None:
        now = time.perf_counter()
        self.longest_silence = max(self.longest_silence, now - self._last)
        self._last = now
        self.times.setdefault(kind, []).append(took)

    def refuse(self, why: str) -> None:
        self.refused[why] = self.refused.get(why, 0) + 1


class Connection:
    """A kept-alive HTTP/1.1 connection, which is reopened when it breaks."""

    def __init__(self, host: str, port: int, headers: dict[str, str]) -> None:
        self._address = (host, port)
        lines = {"Host": f"{host}:{port}", "Content-Type": "application/json", **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: dict[str, Any], **headers: str) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        data = json.dumps(body).encode()
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"POST {path} HTTP/1.1\r\n{self._head}{more}Content-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = int(answered.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        return int(answered[9:12]), await reader.readexactly(length)

    def drop(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def run_load(
    address: str,
    clients: Sequence[tuple[dict[str, str], Callable[[random.Random], Request]]],
    seconds: float,
) -> Load:
    """Let all clients send one request after another until the time is over."""
    load = Load()
    host, _, port = address.removeprefix("http://").partition(":")
    begun = time.perf_counter()
    load._last = begun
    asking = (
        _send_until(Connection(host, int(port), headers), choose, random.Random(number), begun + seconds, load, number)
        for number, (headers, choose) in enumerate(clients)
    )
    await asyncio.gather(*asking)
    load.elapsed = time.perf_counter() - begun
    return load


async def _send_until(
    connection: Connection,
    choose: Callable[[random.Random], Request],
    chance: random.Random,
    until: float,
    load: Load,
    client: int,
) -> None:
    number = 0
    while time.perf_counter() < until:
        kind, path, body = choose(chance)
        number += 1
        key = {"Idempotency_Key": f"client-{client}-{number}"} if kind == "append" else {}
        # A failed request is repeated, which is safe with an idempotency key.
        while not await _send_once(connection, kind, path, body, key, load) and time.perf_counter() < until:
            await asyncio.sleep(0.1)
    connection.drop()


async def _send_once(
    connection: Connection, kind: str, path: str, body: dict[str, Any], headers: dict[str, str], load: Load
) -> bool:
    before = time.perf_counter()
    try:
        status, answer = await connection.post(path, body, **headers)
    except (OSError, EOFError) as error:
        connection.drop()
        load.refuse(type(error).__name__)
        return False
    if status >= 300:
        load.refuse(str(status))
        return False
    load.count(kind, time.perf_counter() - before)
    if kind == "append":
        told = json.loads(answer)
        load.acknowledged.append((told["conversationId"], told["id"]))
    return True
