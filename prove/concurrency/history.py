"""Calls of clients and their answers with both times, in files that survive the kill of a client.

The clock is the machine's monotonic one, which all processes share: an operation that had returned before another was
called has a smaller number.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longmind.errors import StoreError

_REFUSALS = frozenset({"conflict", "missing", "mismatch", "closed", "RATE_LIMITED", "HANDLER_ERROR"})


@dataclass(frozen=True)
class Operation:
    """One call of one client on one object. Values are JSON's, with tuples for lists, so that they can be compared."""

    client: str
    key: str
    """The object: operations on different objects do not touch one another."""
    name: str
    given: Any
    answer: Any
    called: int
    returned: int | None
    """None while the outcome is unknown: it may have happened at any time since the call, or never."""

    @property
    def known(self) -> bool:
        return self.returned is not None

    @property
    def refusal(self) -> str | None:
        """The word of a refusal, which changed nothing; None if the operation was not refused."""
        word = self.answer[0] if isinstance(self.answer, tuple) and self.answer else self.answer
        if word is False:
            return "no"
        return word if isinstance(word, str) and word in _REFUSALS else None

    def forget_answer(self) -> Operation:
        """Return a copy of the operation with an unknown outcome."""
        return replace(self, answer=None, returned=None)


class RecordingClient:
    """A client that writes each operation to its file before the call, and again with the answer."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._numbers = 0
        # Written without a buffer: what has left the process is not lost when that is killed.
        self._file = os.open(folder / f"{name}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def fresh(self) -> str:
        """Return a word that no other client uses."""
        self._numbers += 1
        return f"{self.name}.{self._numbers}"

    def do(self, key: str, name: str, given: Any, act: Callable[[], Any]) -> Any:
        """Carry out an operation and return its answer; None, and write no answer, if the database did not answer."""
        number = self.call(key, name, given)
        try:
            answer = act()
        except StoreError:
            return None
        self.note_answer(number, answer)
        return answer

    def call(self, key: str, name: str, given: Any, at: int | None = None) -> int:
        self._numbers += 1
        self._write([self._numbers, time.monotonic_ns() if at is None else at, key, name, given])
        return self._numbers

    def note_answer(self, number: int, answer: Any, at: int | None = None) -> None:
        self._write([number, time.monotonic_ns() if at is None else at, answer])

    def close(self) -> None:
        os.close(self._file)

    def _write(self, line: list[Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read_history(folder: Path) -> list[Operation]:
    """Return all operations in the files of a folder, in the order of their calls."""
    found = [operation for path in sorted(folder.glob("*.jsonl")) for operation in _read(path)]
    return sorted(found, key=lambda operation: operation.called)


def group_by_object(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    parts: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        parts[operation.key].append(operation)
    return dict(parts)


def format_operations(operations: Iterable[Operation]) -> str:
    """Return operations as readable lines, timed in milliseconds since the first of them."""
    ordered = sorted(operations, key=lambda operation: operation.called)
    return "\n".join(_line(operation, ordered[0].called) for operation in ordered)


def _line(operation: Operation, begin: int) -> str:
    called = (operation.called - begin) / 1e6
    returned = "      ?" if operation.returned is None else f"{(operation.returned - begin) / 1e6:7.2f}"
    answer = f"→ {_short(operation.answer)}" if operation.known else "→ unknown"
    return f"{called:7.2f} to {returned} ms  {operation.client}: {operation.name} {_short(operation.given)} {answer}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:140]} … {text[-140:]}"


def _read(path: Path) -> list[Operation]:
    calls: dict[int, Operation] = {}
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        number, at, *rest = json.loads(line)
        if len(rest) == 1:
            calls[number] = replace(calls[number], answer=_freeze(rest[0]), returned=at)
        else:
            key, name, given = rest
            calls[number] = Operation(path.stem, key, name, _freeze(given), None, at, None)
    return list(calls.values())


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value
