"""Programs on the machines of the network: API nodes and workers, with their output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import psutil

from prove.machines.network import Machine

ROOT = Path(__file__).parents[2]
PORT = 8000
PATIENCE = 60.0

# A namespace cannot have its own wall clock, so the process gets another time before it loads Longmind.
_WRONG_TIME = """
import runpy, sys, time
right, right_ns = time.time, time.time_ns
time.time, time.time_ns = lambda: right() + {0} / 1e9, lambda: right_ns() + {0}
sys.argv[0] = "longmind"
runpy.run_module("longmind.cli", run_name="__main__")
"""


class NetworkNode:
    """A process on a machine: what it logs, and the lines of JSON that it says."""

    def __init__(self, machine: Machine, arguments: tuple[str, ...], settings: dict[str, str]) -> None:
        self.machine = machine
        self.log: list[str] = []
        self._said: SimpleQueue[Any] = SimpleQueue()
        surroundings = {**os.environ, "PYTHONUNBUFFERED": "1", "LONGMIND_EMBEDDER": "none", **settings}
        # Words of their own would go to the terminal in colours and boxes.
        surroundings |= {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "400"}
        self.process = subprocess.Popen(
            [*machine.inside, sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=surroundings,
            cwd=ROOT,
        )
        self._ready = threading.Event()
        for read in (self._read_log, self._read_said):
            threading.Thread(target=read, daemon=True).start()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line.rstrip())
            if re.search(r"^Longmind listens on|at work", line):
                self._ready.set()
        self._ready.set()

    def _read_said(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.put(json.loads(line))

    def wait_until_ready(self) -> None:
        if not self._ready.wait(PATIENCE) or self.process.poll() is not None:
            raise RuntimeError(f"{self.machine.name} did not come up:\n" + "\n".join(self.log[-20:]))

    def tell(self, what: Any) -> None:
        assert self.process.stdin is not None
        print(json.dumps(what), file=self.process.stdin, flush=True)

    def hear(self, seconds: float = PATIENCE) -> Any:
        """Return the next message; None when none comes in time."""
        try:
            return self._said.get(timeout=seconds)
        except Empty:
            return None

    def forget_said(self) -> None:
        while not self._said.empty():
            self._said.get()

    def count_logged(self, words: str) -> int:
        return sum(words in line for line in list(self.log))

    @property
    def processor_seconds(self) -> float:
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def api_node(machine: Machine, url: str, settings: dict[str, str], clock_off: float = 0.0) -> Iterator[NetworkNode]:
    """`longmind serve` on a machine, reachable by the others, with a clock that is wrong by `clock_off` seconds."""
    program = ("-c", _WRONG_TIME.format(int(clock_off * 10**9))) if clock_off else ("-m", "longmind.cli")
    arguments = (*program, "serve", "--host", machine.address, "--port", str(PORT), "--workers", "0")
    with running(NetworkNode(machine, arguments, {"LONGMIND_URL": url, **settings})) as node:
        yield node


@contextmanager
def worker_node(machine: Machine, url: str, settings: dict[str, str]) -> Iterator[NetworkNode]:
    """`longmind worker` on a machine."""
    with running(NetworkNode(machine, ("-m", "longmind.cli", "worker"), {"LONGMIND_URL": url, **settings})) as node:
        yield node


@contextmanager
def thinking_worker(machine: Machine, url: str, settings: dict[str, str], *options: str) -> Iterator[NetworkNode]:
    """A worker that thinks for a while over each job, and says when it begins with one."""
    arguments = ("-m", "prove.machines.worker", *options)
    with running(NetworkNode(machine, arguments, {"LONGMIND_URL": url, **settings})) as node:
        yield node


@contextmanager
def running(node: NetworkNode) -> Iterator[NetworkNode]:
    try:
        node.wait_until_ready()
        yield node
    finally:
        node.end()
