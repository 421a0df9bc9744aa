"""The interface of each kind of object under attack, and the client that uses it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Protocol

import longmind
from prove.concurrency.history import RecordingClient
from prove.concurrency.linearizable import Model


@dataclass(frozen=True)
class Player:
    """A client at play: it has an engine with other clients of its process, and dice of its own."""

    client: RecordingClient
    engine: longmind.Engine
    dice: random.Random
    known: dict[str, Any]
    """Values that the client keeps from one move to the next."""

    def context(self, **further: Any) -> longmind.Context:
        return self.engine.context(tenant_id="acme", app_id="support", user_id="ada", **further)


class Kind(Protocol):
    """A kind of object: how it behaves alone, and how clients fight over it."""

    @property
    def claim(self) -> str: ...

    @property
    def model(self) -> Model: ...

    def prepare(self, ctx: longmind.Context) -> list[str]:
        """Create some objects and return the names by which players find them."""

    def move(self, player: Player, name: str) -> None:
        """Do something, drawn by the dice, with one of them."""

    def look(self, player: Player, name: str) -> None:
        """Read all of one, when everybody is done."""
