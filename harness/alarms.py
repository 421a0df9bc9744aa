"""Ctrl-C at chosen moments, in the tested function and nowhere else."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, FunctionType


def is_interrupted(work: Callable[[], object], first: float, again: float) -> bool:
    """Run a function, and interrupt it after `first` seconds and then every `again` seconds, as if Ctrl-C were held.

    Return whether an interrupt ended it. On its way out it can be interrupted again, but the test around it cannot.
    """
    assert isinstance(work, FunctionType)
    code = work.__code__
    over = False

    def interrupt(_: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        if frame is not None:
            raise KeyboardInterrupt
        if not over:
            # On a slow machine the function may not have begun yet.
            signal.setitimer(signal.ITIMER_REAL, first, again)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, first, again)
        work()
    except KeyboardInterrupt:
        return True
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False
