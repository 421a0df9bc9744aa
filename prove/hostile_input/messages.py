"""Messages of any shape to the server of the Model Context Protocol: to its program, line by line, and over HTTP.

After every few of them comes a request that is right. It has to be answered, by the same process, with nothing but
protocol before it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import longmind
from prove.hostile_input.calls import STRANGE
from prove.hostile_input.fragments import FRAGMENTS
from tests.server.live_server import serving

LONGEST = 30.0
"""Seconds within which a request that is right has its answer; the first one waits until the program is loaded."""
BATCH = 20
METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "prompts/get",
    "completion/complete", "logging/setLevel", "resources/subscribe", "server/discover", "notifications/initialized",
    "notifications/cancelled", "notifications/progress", "nonsense", "",
)  # fmt: skip
TOOLS: dict[str, dict[str, Any]] = {
    "memory_store": {"type": "fact", "content": "x"},
    "memory_search": {"query": "x"},
    "memory_brief": {},
    "memory_delete": {"id": "mem-x"},
    "recall_by_topic": {"query": "x"},
    "recall_by_entity": {"entity": "x"},
    "recall_timeline": {"query": "x"},
    "update_memory": {"block_type": "core", "scope": None, "edit": "add_line", "line": None, "content": "x"},
    "nothing": {},
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
_PLAIN = tuple(value for value in STRANGE if value is None or isinstance(value, str | bool | float | int))
VALUES: tuple[Any, ...] = (*_PLAIN, [], {}, [[]], {"": None}, {"a": {"b": [None]}}, ["x"] * 500)


def request(id: Any, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def messages(dice: Random) -> Iterator[bytes]:
    """Yield lines endlessly; hardly any is valid."""
    while True:
        draw = dice.random()
        if draw < 0.15:
            line = "".join(dice.choices(FRAGMENTS, k=dice.randint(1, 8))).encode("utf-8", "surrogatepass")
        elif draw < 0.25:
            line = dice.choice((b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe{}", b"9" * 5_000, b'"' + b"x" * 500_000))
        else:
            line = _encode(_message(dice))
            if draw > 0.9:
                line = line[: dice.randint(0, len(line))]
        yield line.replace(b"\n", b" ").replace(b"\r", b" ")


def _message(dice: Random) -> Any:
    if dice.random() < 0.5:
        name = dice.choice([*TOOLS])
        arguments: Any = dict(TOOLS[name])
        arguments[dice.choice((*arguments, "space", "x"))] = dice.choice(VALUES)
        params = {"name": name, "arguments": dice.choice((arguments, arguments, arguments, dice.choice(VALUES)))}
        message = request(f"m{dice.random()}", "tools/call", params)
    else:
        params = dice.choice((HELLO, {"uri": dice.choice(VALUES)}, {"name": dice.choice(VALUES)}, dice.choice(VALUES)))
        message = request(dice.choice(VALUES), dice.choice(METHODS), params)
    if dice.random() < 0.3:
        message[dice.choice((*message, "result", "error", "_meta"))] = dice.choice(VALUES)
    if dice.random() < 0.1:
        del message[dice.choice([*message])]
    return [message] * dice.randint(0, 3) if dice.random() < 0.05 else message


def _encode(message: Any) -> bytes:
    try:
        return json.dumps(message).encode()
    except ValueError:
        # A number with too many digits for Python to write.
        return b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b', "method": "ping"}'


class Program:
    """`longmind mcp`, as a host starts it."""

    def __init__(self, url: str, folder: Path) -> None:
        self._err = folder / "mcp.err"
        environment = {**os.environ, "LONGMIND_URL": url, "LONGMIND_EMBEDDER": "none"}
        with self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "longmind.cli", "mcp"],
                env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                bufsize=0,
            )
        self._unread = b""

    def send(self, lines: list[bytes]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        written = self._process.stdin.fileno()
        for line in lines:
            rest = line + b"\n"
            while rest:
                # Answers are read at the same time, also in the middle of a line: a full pipe would block both sides.
                # A piece of this size fits wherever there is room at all.
                ready = select.select([self._process.stdout], [written], [])
                if ready[0] and not self._read(0) and self._process.poll() is not None:
                    return
                if ready[1]:
                    rest = rest[os.write(written, rest[: select.PIPE_BUF]) :]

    def answer(self, id: str) -> str | None:
        """Wait for the answer to a request; return what is wrong with it."""
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            lines = self._unread.split(b"\n")
            self._unread = lines.pop()
            for line in lines:
                message = _json(line)
                if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                    return f"what is no protocol: {line[:200]!r}"
                if message.get("id") == id:
                    return None if "result" in message else f"a request that is right was refused: {line[:200]!r}"
            if not self._read(0.5) and self._process.poll() is not None:
                return f"the program has ended with {self._process.returncode}"
        return "no answer"

    def end(self) -> str | None:
        """Close its input; return what is wrong with how it ends."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.close()
            until = time.monotonic() + LONGEST
            while self._process.poll() is None and time.monotonic() < until:
                self._read(0.1)
            if self._process.returncode != 0:
                return f"the program ended with {self._process.returncode}"
            return "a traceback" if "Traceback" in self._err.read_text("utf-8", "replace") else None
        finally:
            self.kill()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def _read(self, seconds: float) -> bool:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        read = os.read(self._process.stdout.fileno(), 1_000_000) if ready else b""
        self._unread += read
        return bool(read)


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def send_to_program(url: str, folder: Path, seconds: float, dice: Random) -> tuple[int, list[str]]:
    """Send messages to the program until the time is over; return their number and what was wrong."""
    program, sent, made = Program(url, folder), 0, messages(dice)
    try:
        program.send([_encode(request("hello", "initialize", HELLO))])
        wrong = program.answer("hello")
        program.send([b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'])
        until = time.monotonic() + seconds
        while wrong is None and time.monotonic() < until:
            lines = [next(made) for _ in range(BATCH)]
            sent += len(lines)
            asked = request(f"right {sent}", "tools/call", {"name": "memory_brief", "arguments": {}})
            program.send([*lines, _encode(asked)])
            wrong = program.answer(asked["id"])
            if wrong is not None:
                return sent, [f"{wrong}, after one of {b' | '.join(line[:120] for line in lines)!r}"]
        wrong = wrong or program.end()
    finally:
        program.kill()
    return sent, [] if wrong is None else [wrong]


def send_over_http(url: str, seconds: float, dice: Random) -> tuple[int, list[str]]:
    """Send messages as bodies to a server until the time is over; return their number and the faults in its answers."""
    sent, broken = 0, []
    kinds = {"accept": "application/json, text/event-stream", "content_type": "application/json"}
    with longmind.open(url, embedder=None) as engine:
        key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")
        with serving(engine) as somebody:
            client, until = somebody.with_key(key.token), time.monotonic() + seconds
            for body in messages(dice):
                if sent and time.monotonic() > until:
                    break
                sent += 1
                answer = client.post("/mcp", body, **kinds)
                if answer.status >= 500:
                    broken.append(f"{answer.status} for {body[:200]!r}: {answer.body[:150]!r}")
    return sent, broken
