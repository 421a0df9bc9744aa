"""Rules of sleep-time memory: whose blocks are updated from conversations, and after how long a silence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from longmind.clock import Micros
from longmind.store.database import Row, Transaction


@dataclass(frozen=True)
class SleepRule:
    """A setting that turns the updates of blocks from conversations on or off, with the idle time before them."""

    enabled: bool
    idle: Micros
    agent_id: str | None
    """The agent whose blocks and conversations it is about; None stands for the user and all conversations."""


def make_usual(idle: Micros | None) -> SleepRule | None:
    """Return the rule for users without one of their own, or None if sleep-time memory is off for them."""
    return None if idle is None else SleepRule(True, idle, None)


def put(run: Transaction, rule: SleepRule, now: Micros) -> None:
    """Write the rule of an agent, or of the user."""
    run.send("set_sleep_time", agent_id=rule.agent_id or "", enabled=int(rule.enabled), idle=rule.idle, now=now)


def find(run: Transaction, agent_id: str | None) -> SleepRule | None:
    """Return the rule for conversations with an agent: its own, or else the user's, or else None."""
    row = run.one("get_sleep_time", agent_id=agent_id or "")
    return SleepRule(bool(row[0]), row[1], row[2] or None) if row else None


def read_every(run: Transaction) -> Iterator[Row]:
    """Yield agent, enabled, idle time and last change of each rule of a user. Only inside of `read_snapshot`."""
    return run.each("every_sleep_time")
