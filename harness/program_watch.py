"""A watch on the output of programs that this process starts: their complaints and their answers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

SERVICES = ("serve", "worker")
"""Commands whose standard output is not an answer to a request, and holds no key or private word."""


class Listener(Protocol):
    def note(self, text: str) -> None:
        """Note a text that must hold no secret of any kind."""

    def note_answer(self, text: str) -> None:
        """Note an answer to a request, which may hold a new key or a user's words."""


Hear = Callable[[str], None]


class Pipe:
    """A pipe from a program that passes everything that is read to a listener."""

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
    """A block in which the standard output and error of new programs are heard, from pipes or files.

    Inherited streams are not heard, since this process itself writes to them.
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
