"""Processes for tests and proofs: each opens its own engine, and talks to its starter through a pipe.

They are forked from a server process that has loaded Longmind and opened nothing, so that each starts in milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple

import longmind

PATIENCE = 120.0
"""Seconds after which a silent process counts as stuck."""

_context = multiprocessing.get_context("forkserver")
_loaded = ["pytest", "longmind", "longmind.store.postgres.database"]
_context.set_forkserver_preload(_loaded)


def load_beforehand(*modules: str) -> None:
    """Load more modules in the process that the others are forked from; call this before the first fork."""
    _loaded.extend(module for module in modules if module not in _loaded)
    _context.set_forkserver_preload(_loaded)


class ProcessFailed(AssertionError):
    """A process ended with an error, or was silent for too long."""


class ReturnedValue(NamedTuple):
    """The last message of a process."""

    value: Any
    error: str | None


class Line:
    """A process's end of the pipe to the test, and the gate at which it waits for the others."""

    def __init__(self, pipe: Connection, gate: Barrier) -> None:
        self._pipe = pipe
        self._gate = gate

    def say(self, what: Any) -> None:
        """Send something to the test; it has left the process when this returns, even if the process is killed next."""
        self._pipe.send(what)

    def hear(self) -> Any:
        return self._pipe.recv()

    def wait_for_others(self) -> None:
        """Wait until all processes that were started together have come here."""
        self._gate.wait(PATIENCE)

    def stand_still(self) -> None:
        """Stop this process with SIGSTOP until the test resumes it."""
        os.kill(os.getpid(), signal.SIGSTOP)


class Child:
    """A process that runs one function, as the test sees it."""

    def __init__(self, gate: Barrier, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(target=_run, args=(theirs, gate, work, arguments), daemon=True)
        self._process.start()
        # This must be the only end left, or the death of the process would go unnoticed.
        theirs.close()

    def say(self, what: Any) -> None:
        self._pipe.send(what)

    def hear(self) -> Any:
        """Return its next message; raise EOFError when it is dead and no message is left."""
        if not self._pipe.poll(PATIENCE):
            raise ProcessFailed(f"Process {self._process.pid} said nothing for {PATIENCE:.0f} seconds.")
        try:
            heard = self._pipe.recv()
        except OSError as error:
            raise EOFError from error
        if isinstance(heard, ReturnedValue) and heard.error is not None:
            raise ProcessFailed(heard.error)
        return heard

    def hear_to_the_end(self) -> Iterator[Any]:
        """Yield its messages until it returns or dies."""
        while True:
            try:
                heard = self.hear()
            except EOFError:
                return
            if isinstance(heard, ReturnedValue):
                return
            yield heard

    def result(self) -> Any:
        """Return the result of the function, and skip earlier messages."""
        while True:
            try:
                heard = self.hear()
            except EOFError:
                raise ProcessFailed(f"Process {self._process.pid} died: {self._process.exitcode}.") from None
            if isinstance(heard, ReturnedValue):
                self._process.join()
                return heard.value

    def signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def wait_until_it_stands_still(self) -> None:
        # Imported here, so that the processes, which load this file too, start sooner.
        import psutil

        process = psutil.Process(self._process.pid)
        wait_until(lambda: process.status() == psutil.STATUS_STOPPED)

    def go_on(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it as `kill -9` does, and wait until it is gone. Its earlier messages can still be read."""
        self._process.kill()
        self._process.join()

    def wait_until_dead(self) -> int | None:
        """Wait for it to end by itself, and return its exit code, negative for a signal."""
        self._process.join(PATIENCE)
        return self._process.exitcode


@contextmanager
def start_process(work: Callable[..., Any], *arguments: Any) -> Iterator[Child]:
    """One process, gone at the end of the block. The function receives its line to the test and the arguments."""
    with start_processes(work, [arguments]) as [child]:
        yield child


@contextmanager
def start_processes(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[list[Child]]:
    """A process for each list of arguments, with one gate for all of them."""
    # It has to outlive this start, for processes that start slowly.
    gate = _context.Barrier(len(arguments))
    children = [Child(gate, work, each) for each in arguments]
    try:
        yield children
    finally:
        for child in children:
            child.kill()


def run_together(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run a function in as many processes as there are lists of arguments, and collect what they return."""
    with start_processes(work, arguments) as children:
        return collect_results(children)


def collect_results(children: Iterable[Child]) -> list[Any]:
    """Return the result of each process; if some failed, raise one error with all their messages."""
    results, errors = [], []
    for child in children:
        try:
            results.append(child.result())
        except ProcessFailed as error:
            errors.append(str(error))
    if errors:
        raise ProcessFailed("\n".join(errors))
    return results


@contextmanager
def ada(url: str, **settings: Any) -> Iterator[tuple[longmind.Engine, longmind.Context]]:
    """An engine of this process, and the context of the user ada."""
    with longmind.open(url, **settings) as engine:
        yield engine, engine.context(tenant_id="acme", app_id="support", user_id="ada")


def wait_until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Poll until a condition holds; raise `ProcessFailed` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise ProcessFailed(f"It did not come true within {seconds:.0f} seconds.")
        time.sleep(0.01)


def _run(pipe: Connection, gate: Barrier, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        returned = ReturnedValue(work(Line(pipe, gate), *arguments), None)
    except Exception:
        # Processes at the gate would wait in vain.
        gate.abort()
        returned = ReturnedValue(None, traceback.format_exc())
    pipe.send(returned)
