"""An operation of the workload: how it is planned, done, and whether it may be repeated.

Every text begins with the token of its operation and the name of its part: `u3n17 whole …`, so that the checker
recognises it anywhere.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

DAILY = "daily"
SHARED = "shared"
SLEEPER = "sleeper"
"""The agent whose blocks sleep-time memory fills from its conversations."""

Given = dict[str, Any]
Ask = Callable[..., Any]


class NothingToDo(Exception):
    """An operation finds nothing that it could act on at the moment."""


@dataclass(frozen=True)
class StepContext:
    dice: random.Random
    token: str
    user: str
    session: str

    def words(self) -> str:
        return " ".join("".join(self.dice.choices(string.ascii_lowercase, k=7)) for _ in range(3))

    def one_of(self, known: list[Any]) -> Any:
        if not known:
            raise NothingToDo
        return self.dice.choice(known)


@dataclass
class Known:
    """A client's knowledge of its user, read at the start and updated by each operation."""

    folder: Path
    conversations: list[str] = field(default_factory=list)
    space: str | None = None
    shared: str | None = None
    """A space that may be granted."""
    sleeps: bool = False
    """True if sleep-time memory is on for the sleeper."""
    atoms: list[tuple[str, str]] = field(default_factory=list)
    """The valid ones, with their token and part."""
    entries: list[tuple[str, str]] = field(default_factory=list)
    """The same of the memory tools."""
    entities: list[tuple[str, str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    read: bool = False

    def look(self, ask: Ask) -> None:
        if self.read:
            return
        self.space = ask("memory.create_memory_space", name=DAILY).id
        self.shared = ask("memory.create_memory_space", name=SHARED, kind="shared").id
        self.sleeps = ask("blocks.get_sleep_time", agent_id=SLEEPER).enabled
        self.conversations = [each.id for each in ask("conversations.list_conversations", status="open")]
        listed = ask("memory.list_atoms", memory_space_id=self.space, limit=1000)
        self.atoms = [
            (each.id, mark_of(each.text))
            for each in listed
            if each.superseded_by is None and each.extraction_version is None
        ]
        found = ask("tools.memory_search", limit=20).results
        self.entries = [(each.id, mark_of(each.content)) for each in found]
        self.read = True

    def learn(self, operation: str, number: int, given: Given, answer: Given) -> None:
        match operation:
            case "create":
                self.conversations.append(answer["id"])
            case "close":
                self.conversations = [each for each in self.conversations if each != given["conversation_id"]]
            case "atom" | "batch" | "supersede":
                self.atoms += [(id, mark) for id, mark in answer["atoms"]]
            case "store" | "replace":
                self.entries.append((answer["id"], answer["mark"]))
            case "entity":
                self.entities.append((answer["id"], answer["name"]))
            case "key":
                self.keys.append(answer["id"])
            case "sleep_time":
                self.sleeps = True
            case "erase":
                self.__init__(self.folder)  # type: ignore[misc]  # all that was known is gone
        self.forget(given)

    def forget(self, given: Given) -> None:
        """Forget what an operation ended, or may have ended, so that no other one names it."""
        gone = given.get("ends")
        self.atoms = [each for each in self.atoms if each[0] != gone]
        self.entries = [each for each in self.entries if each[0] != gone]
        self.entities = [each for each in self.entities if each[0] != gone]
        self.keys = [each for each in self.keys if each != gone]


def plain(told: Any) -> dict[str, Any]:
    """Return an answer as a dict; over HTTP it comes as an object with attributes."""
    return told if isinstance(told, dict) else vars(told)


def mark_of(text: str) -> str:
    """The token and the part that a text begins with."""
    return " ".join(text.split()[:2])


@dataclass(frozen=True)
class Step:
    name: str
    weight: float
    plan: Callable[[Ask, Known, StepContext], Given]
    do: Callable[[Ask, Given, str], Given]
    again: Callable[[Given], bool] = lambda given: False
    """Return whether a client that does not know the outcome may repeat it."""
    only: Literal["process", "server"] | None = None
    """The only place that can run it: the process for functions or files, the server for a named model."""


def always(given: Given) -> bool:
    return True


def with_key(given: Given) -> bool:
    return given.get("key") is not None
