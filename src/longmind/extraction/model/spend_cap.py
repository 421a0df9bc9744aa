"""What an extraction may still spend: asked before each call of a model, and told after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Spent:
    tokens: int
    dollars: float | None
    """None where the price is not known."""


class Budget(Protocol):
    def reserve(self, most: Spent) -> bool:
        """Set aside what a call may cost at the most; False when there is nothing left to take it from."""

    def settle(self, reserved: Spent, spent: Spent) -> None:
        """Put what the call has really cost in the place of what was set aside."""


class Unlimited:
    def reserve(self, most: Spent) -> bool:
        return True

    def settle(self, reserved: Spent, spent: Spent) -> None:
        """Nobody counts."""
