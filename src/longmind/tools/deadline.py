"""A call that ends in time: what is not committed by then is not done."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Expired(Exception):
    """The time was up before the call was sealed."""


class Deadline:
    """Either the caller is told that the time was up, or the work is committed: never both."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sealed = False
        self.expired = False

    def seal(self) -> None:
        """Called as the last step before a commit: from here on the call is done, whatever the time."""
        with self._lock:
            if self.expired:
                raise Expired
            self._sealed = True

    def expire(self) -> bool:
        """Tell the work not to commit any more; False when it is too late for that."""
        with self._lock:
            self.expired = not self._sealed
            return self.expired


def run_within(seconds: float, work: Callable[[Deadline], T]) -> T:
    """Do some work in a thread of its own, and wait for it so long and no longer."""
    deadline = Deadline()
    done: Future[T] = Future()

    def run() -> Any:
        try:
            done.set_result(work(deadline))
        except BaseException as error:
            done.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="longmind-tool", daemon=True).start()
    try:
        return done.result(seconds)
    except TimeoutError:
        # The work itself may have raised one, or have come to its end in the very moment in which the time was up.
        if not done.done() and deadline.expire():
            raise Expired from None
    return done.result()
