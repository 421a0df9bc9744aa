"""Reads along what programs write that this process starts: what they complain of, and what they answer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

SERVICES = ("serve", "worker")
"""Commands whose standard output is no answer that somebody has asked for, and has no key or word in it."""


class Listener(Protocol):
    def note(self, text: str) -> None:
        """Hear a text that has no secret of any kind in it."""

    def note_answer(self, text: str) -> None:
        """Hear an answer: a new key may be in it, or what a user said, since somebody has asked for that."""


Hear = Callable[[str], None]


class Pipe:
    """A pipe from a program. Whatever is read from it is heard."""

    def __init__(self, pipe: Any, hear: Hear) -> None:
        self._pipe = pipe
        self._hear = hear

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._pipe, name)
        return self._wrap_reader(found) if name in ("read", "read1", "readline", "readlines") else found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.readline, type(self._pipe.read(0))())

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *error: object) -> None:
        self._pipe.close()

    def _wrap_reader(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def read_and_hear(*given: Any) -> Any:
            data = read(*given)
            for each in data if isinstance(data, list) else [data]:
                _hear(self._hear, each)
            return data

        return read_and_hear


@contextmanager
def watch_programs(listener: Listener) -> Iterator[None]:
    """While this lasts, standard output and standard error of new programs are heard, be they pipes or files.

    What they inherit is not: it is where this process itself writes.
    """
    popen = subprocess.Popen
    start, wait, communicate = popen.__init__, popen.wait, popen.communicate

    def start_and_hear(self: Any, *given: Any, **named: Any) -> None:
        start(self, *given, **named)
        answers = listener.note if _is_service(self.args) else listener.note_answer
        self.heard_files = []
        for name, hear in (("stdout", answers), ("stderr", listener.note)):
            if getattr(self, name) is not None:
                setattr(self, name, Pipe(getattr(self, name), hear))
            elif isinstance(file := getattr(named.get(name), "name", None), str):
                self.heard_files.append((Path(file), hear))

    def wait_and_hear(self: Any, *given: Any, **named: Any) -> Any:
        code = wait(self, *given, **named)
        while files := getattr(self, "heard_files", []):
            file, hear = files.pop()
            with suppress(OSError):
                hear(file.read_text("utf-8", "replace"))
        return code

    def communicate_and_hear(self: Any, *given: Any, **named: Any) -> Any:
        out, err = communicate(self, *given, **named)
        for name, text in (("stdout", out), ("stderr", err)):
            pipe = getattr(self, name)
            if isinstance(pipe, Pipe):
                _hear(pipe._hear, text)
        return out, err

    with (
        patch.object(popen, "__init__", start_and_hear),
        patch.object(popen, "wait", wait_and_hear),
        patch.object(popen, "communicate", communicate_and_hear),
    ):
        yield


def _is_service(arguments: Any) -> bool:
    return not isinstance(arguments, str | bytes) and any(str(each) in SERVICES for each in _each(arguments))


def _each(arguments: Any) -> list[Any]:
    return list(arguments) if isinstance(arguments, list | tuple) else [arguments]


def _hear(hear: Hear, data: Any) -> None:
    if data:
        hear(data if isinstance(data, str) else bytes(data).decode("utf-8", "replace"))
