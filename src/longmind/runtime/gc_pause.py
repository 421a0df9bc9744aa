"""A pause of Python's garbage collector."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_active_pauses: list[None] = []
"""One member for each block that is active now."""


@contextmanager
def pause_collection() -> Iterator[None]:
    """Pause the garbage collector while thousands of lasting objects are created.

    The collector runs after every few hundred new objects and now and then visits all objects of the process, which
    takes longer than creating them. The pause holds for all threads, so the block must not wait for anything.
    """
    if not gc.isenabled():
        yield
        return
    try:
        _active_pauses.append(None)
        gc.disable()
        yield
    finally:
        gc.enable()
        del _active_pauses[-1:]


def _resume_in_child() -> None:
    """Enable the collector in a child that was forked during a pause: the pausing threads exist only in the parent."""
    if _active_pauses:
        _active_pauses.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_resume_in_child)
