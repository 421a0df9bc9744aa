"""Ctrl-C at moments that are chosen, in what is tried and nowhere else."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, FunctionType


def is_interrupted(work: Callable[[], object], first: float, again: float) -> bool:
    """Run a function, and interrupt it after so many seconds, and then again and again as if Ctrl-C were held down.

    The answer is whether it ended by that. On its way out it can be struck again, but not the test around it.
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
            # It has not begun yet, on a machine that is slow at this moment.
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
