"""What must be made anew in a process that was forked: locks, threads and connections belong to the parent."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    def renew_after_fork(self) -> None:
        """Forget what only the parent may use. Called in the child, before any other of its code."""


_alive: weakref.WeakSet[Renewable] = weakref.WeakSet()

# Connections of the parent must be neither used nor closed in the child: closing one would say goodbye to the server,
# or release file locks, in the parent's name. Kept here, they are never collected.
_inherited: list[object] = []


def survive_forks(thing: Renewable) -> None:
    _alive.add(thing)


def leave_to_parent(*things: object) -> None:
    _inherited.extend(things)


def _renew_all() -> None:
    for thing in list(_alive):
        thing.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
