"""The results of the last moments, by the text that they were computed from.

The words of a text are never kept: their keyed hash finds the result, and the key is in memory alone. A result is
forgotten after a while.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from longmind.runtime.fork_safety import survive_forks

R = TypeVar("R")


class RecentResults(Generic[R]):
    """Results by text. Threads may share it."""

    def __init__(self, *, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._key = os.urandom(hashlib.blake2b.MAX_KEY_SIZE)
        self._kept: OrderedDict[bytes, tuple[float, R]] = OrderedDict()
        self._lock = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._lock = threading.Lock()
        self._kept = OrderedDict()

    def find(self, text: str, compute: Callable[[str], R]) -> R:
        """Return the result of a text, computed unless it was asked for lately.

        Threads that ask for the same text at the same time may both compute it.
        """
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()
        with self._lock:
            self._forget_old(time.monotonic())
            found = self._kept.get(digest)
        if found is not None:
            return found[1]
        result = compute(text)
        with self._lock:
            # At the end even if another thread was faster: the order is that of the times.
            self._kept.pop(digest, None)
            self._kept[digest] = (time.monotonic() + self._seconds, result)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return result

    def _forget_old(self, now: float) -> None:
        """Forget the results whose time is over: the first ones, since all are kept for the same time."""
        while self._kept and next(iter(self._kept.values()))[0] <= now:
            self._kept.popitem(last=False)
