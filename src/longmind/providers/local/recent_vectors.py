"""The vectors of the questions that were asked in the last moments.

A host often asks one question in several spaces, or of facts and events. Only that is meant to be fast, so a vector is
forgotten soon, and the words of a question are never kept: their keyed hash finds the vector, and the key is in memory
alone.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from longmind.providers.embedder import Vectors
from longmind.runtime.fork_safety import survive_forks

_SECONDS = 60.0
_MOST = 256
"""Vectors that are kept at most; with 384 numbers each they take 400 KB."""


class RecentVectors:
    """Vectors by the words that they were computed from. Threads may share it."""

    def __init__(self, *, seconds: float = _SECONDS, most: int = _MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._key = os.urandom(hashlib.blake2b.MAX_KEY_SIZE)
        self._kept: OrderedDict[bytes, tuple[float, Vectors]] = OrderedDict()
        self._lock = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._lock = threading.Lock()
        self._kept = OrderedDict()

    def find(self, text: str, compute: Callable[[str], Vectors]) -> Vectors:
        """Return the vector of a text, computed unless it was asked for lately. It cannot be written to.

        Threads that ask for the same text at the same time may both compute it.
        """
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()
        with self._lock:
            self._forget_old(time.monotonic())
            found = self._kept.get(digest)
        if found is not None:
            return found[1]
        vector = compute(text)
        vector.flags.writeable = False
        with self._lock:
            # At the end even if another thread was faster: the order is that of the times.
            self._kept.pop(digest, None)
            self._kept[digest] = (time.monotonic() + self._seconds, vector)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return vector

    def _forget_old(self, now: float) -> None:
        """Forget the vectors whose time is over: the first ones, since all are kept for the same time."""
        while self._kept and next(iter(self._kept.values()))[0] <= now:
            self._kept.popitem(last=False)
