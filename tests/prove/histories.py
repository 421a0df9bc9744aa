"""Histories for tests of the checker, written as they would be told."""

from __future__ import annotations

from typing import Any

from prove.concurrency.history import Operation


def done(client: str, name: str, given: Any, answer: Any, called: int, returned: int, key: str = "it") -> Operation:
    return Operation(client, key, name, given, answer, called, returned)


def lost(client: str, name: str, given: Any, called: int, key: str = "it") -> Operation:
    """An operation of a client that was killed or cut off."""
    return Operation(client, key, name, given, None, called, None)


def one_after_another(*steps: tuple[str, Any, Any]) -> list[Operation]:
    """The operations of one client: name, what was given, what was answered."""
    return [done("a", *step, called=10 * place, returned=10 * place + 5) for place, step in enumerate(steps)]
