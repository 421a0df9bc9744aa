"""Renewal after a fork: locks, threads and connections in a child belong to its parent.

Objects register themselves while they live. Before a fork, `rest_for_fork` is called on those that must release
something first; afterwards `wake_after_fork` in the parent, or `renew_after_fork` in the child. Forks are serialised:
one that begins while another thread forks waits for it.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Renewable(Protocol):
    """An object that keeps working in a child."""

    def renew_after_fork(self) -> None:
        """Replace everything that only the parent may use. Called in the child before any other code."""


class Resting(Protocol):
    """An object with something that a child must not inherit."""

    def rest_for_fork(self) -> bool:
        """Release what a child must not inherit; return False if that is impossible now."""

    def wake_after_fork(self) -> None:
        """Resume. Called in the parent if `rest_for_fork` returned True."""


_alive: weakref.WeakSet[Renewable] = weakref.WeakSet()
_resting: weakref.WeakSet[Resting] = weakref.WeakSet()
_at_rest: list[Resting] = []
_one_fork_at_a_time = threading.Lock()

# The child must neither use nor close connections of the parent: closing one would end the parent's session, or release
# its file locks. Objects in this list are never collected.
_inherited: list[object] = []


def survive_forks(thing: Renewable) -> None:
    """Have an object renewed in every child, for as long as it lives."""
    _alive.add(thing)


def rest_during_forks(thing: Resting) -> None:
    """Have an object put to rest around every fork, for as long as it lives."""
    _resting.add(thing)


def leave_to_parent(*things: object) -> None:
    """Keep inherited objects from being closed in the child: they are never collected there."""
    _inherited.extend(things)


def _rest_all() -> None:
    _one_fork_at_a_time.acquire()
    _at_rest.extend(thing for thing in list(_resting) if thing.rest_for_fork())


def _wake_all() -> None:
    for thing in _at_rest:
        thing.wake_after_fork()
    _at_rest.clear()
    _one_fork_at_a_time.release()


def _renew_all() -> None:
    global _one_fork_at_a_time
    _one_fork_at_a_time = threading.Lock()
    _at_rest.clear()
    for thing in list(_alive):
        thing.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_rest_all, after_in_parent=_wake_all, after_in_child=_renew_all)
