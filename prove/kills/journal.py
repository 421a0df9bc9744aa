"""Journals of clients, outside of the database: each intention before its call, each answer after it.

Each user has one file. One system call appends a line, so a killed writer leaves it complete or absent. An answered
operation is a promise; one without an answer may have happened or not.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

State = Literal["done", "refused", "lost"]
TOKEN = re.compile(r"\b([a-z]+\d+)n(\d+)\b")
"""The token in every text of an operation: its user and its number."""


def token_of(user: str, number: int) -> str:
    return f"{user}n{number}"


@dataclass
class Entry:
    """One operation of a user, with all its tries."""

    number: int
    operation: str
    given: dict[str, Any]
    tries: int = 1
    answer: dict[str, Any] | None = None
    refusal: str | None = None

    @property
    def state(self) -> State:
        if self.answer is not None:
            return "done"
        # A refusal of a second try says nothing about the first.
        return "refused" if self.refusal is not None and self.tries == 1 else "lost"


@dataclass
class History:
    """The operations of a user in the order of their first tries."""

    user: str
    entries: list[Entry] = field(default_factory=list)

    def token(self, entry: Entry) -> str:
        return token_of(self.user, entry.number)

    @property
    def unanswered(self) -> Entry | None:
        """Return the operation in which the client was killed; None if there is none."""
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last.answer is None and last.refusal is None else None

    @property
    def next_number(self) -> int:
        return self.entries[-1].number + 1 if self.entries else 1


class Journal:
    """The file of one user, open for the client that acts for the user."""

    def __init__(self, folder: Path, user: str) -> None:
        self.user = user
        self._file = os.open(path_of(folder, user), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def intend(self, number: int, operation: str, given: Mapping[str, Any]) -> None:
        self._put({"n": number, "op": operation, "with": given})

    def note_answer(self, number: int, answer: Mapping[str, Any]) -> None:
        self._put({"n": number, "ok": answer})

    def note_refusal(self, number: int, why: str) -> None:
        self._put({"n": number, "no": why})

    def close(self) -> None:
        os.close(self._file)

    def _put(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def path_of(folder: Path, user: str) -> Path:
    return folder / f"{user}.jsonl"


def read(folder: Path, user: str) -> History:
    """Return the operations of a user; a retry is a second intention with the same number."""
    history = History(user)
    by_number: dict[int, Entry] = {}
    for line in _lines(path_of(folder, user)):
        number = line["n"]
        if "op" in line:
            if number in by_number:
                by_number[number].tries += 1
                by_number[number].refusal = None
            else:
                by_number[number] = Entry(number, line["op"], line["with"])
                history.entries.append(by_number[number])
        elif "ok" in line:
            by_number[number].answer = line["ok"]
        else:
            by_number[number].refusal = line["no"]
    return history


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open("rb") as file:
            yield from map(json.loads, file)
