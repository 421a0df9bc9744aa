"""What must be made anew in a process that was forked: locks, threads and connections belong to the parent."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Renewable(Protocol):
    def renew_after_fork(self) -> None:
        """Forget what only the parent may use. Called in the child, before any other of its code."""


class Resting(Protocol):
    def rest_for_fork(self) -> bool:
        """Come to rest, and let go of what a child must not inherit. False when that cannot be done now."""

    def wake_after_fork(self) -> None:
        """Go on. Called in the parent, if it had come to rest."""


_alive: weakref.WeakSet[Renewable] = weakref.WeakSet()
_resting: weakref.WeakSet[Resting] = weakref.WeakSet()
_at_rest: list[Resting] = []
_one_fork_at_a_time = threading.Lock()

# Connections of the parent must be neither used nor closed in the child: closing one would say goodbye to the server,
# or release file locks, in the parent's name. Kept here, they are never collected.
_inherited: list[object] = []


def survive_forks(thing: Renewable) -> None:
    _alive.add(thing)


def rest_during_forks(thing: Resting) -> None:
    _resting.add(thing)


def leave_to_parent(*things: object) -> None:
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
