"""Time limit of a tool call: work that is not committed in time is not done at all.

The work runs in a thread of its own, which nothing can stop. What keeps the promise is the seal: the work seals the
deadline as the last step before its commit, and a deadline is either sealed or expired, never both.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Expired(Exception):
    """The time was up before the work was sealed."""


class Deadline:
    """Decides between the two outcomes of a call: it expires, or its work is committed. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sealed = False
        self.expired = False

    def seal(self) -> None:
        """Mark the work as done, as the last step before its commit; raise Expired if the time is up."""
        with self._lock:
            if self.expired:
                raise Expired
            self._sealed = True

    def expire(self) -> bool:
        """Forbid the commit; return False if the work is sealed already."""
        with self._lock:
            self.expired = not self._sealed
            return self.expired


def run_within(seconds: float, work: Callable[[Deadline], T]) -> T:
    """Run work in a thread of its own and return its result; raise Expired if it is not sealed in time."""
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
        # The work may itself have raised TimeoutError, or have ended in the moment in which the time was up.
        if not done.done() and deadline.expire():
            raise Expired from None
    return done.result()
