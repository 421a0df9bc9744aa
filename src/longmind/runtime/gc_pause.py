"""Python's garbage collector, kept away for a moment."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_keeping_away: list[None] = []
"""A member for each who keeps it away now."""


@contextmanager
def pause_collection() -> Iterator[None]:
    """Make thousands of objects that stay, without a look in between at whether they can go.

    The collector looks whenever some hundred objects are new, and now and then goes through all that the process has,
    which takes longer than to make them. It rests for all threads, so that nothing may be waited for here.
    """
    if not gc.isenabled():
        yield
        return
    try:
        _keeping_away.append(None)
        gc.disable()
        yield
    finally:
        gc.enable()
        del _keeping_away[-1:]


def _call_back() -> None:
    """Have a process that was forked meanwhile collect: the threads that keep it away have stayed with the parent."""
    if _keeping_away:
        _keeping_away.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_call_back)
