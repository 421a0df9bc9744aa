"""Python's garbage collector, kept away for a moment."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Make thousands of objects that stay, without a look in between at whether they can go.

    The collector looks whenever some hundred objects are new, and now and then goes through all that the process has,
    which takes longer than to make them. It rests for all threads, so that nothing may be waited for here.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
