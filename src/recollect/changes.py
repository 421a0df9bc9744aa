"""Tells subscribers in this process what was committed; on SQLite in the order of the commits."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from recollect.errors import InvalidInput
from recollect.forking import survive_forks
from recollect.models.change import Change

_log = logging.getLogger("recollect.changes")

Subscriber = Callable[[Change], object]


class Changes:
    """The list of subscribers. A subscriber that fails is logged and harms nobody: the change is committed already."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[Subscriber, frozenset[str] | None]] = []
        self._waiting: deque[Callable[[], Change]] = deque()
        self._delivering = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._delivering = threading.Lock()
        self._waiting = deque()

    def subscribe(self, subscriber: Subscriber, kinds: frozenset[str] | None = None) -> Callable[[], None]:
        if not callable(subscriber):
            raise InvalidInput("A subscriber must be callable.")
        entry = (subscriber, kinds)
        self._subscribers = [*self._subscribers, entry]

        def unsubscribe() -> None:
            self._subscribers = [each for each in self._subscribers if each is not entry]

        return unsubscribe

    def add(self, changes: list[Callable[[], Change]]) -> None:
        if self._subscribers:
            self._waiting.extend(changes)

    def deliver(self) -> None:
        # One thread delivers at a time, also what others have added meanwhile; it never waits for them, so that a
        # subscriber may itself write, and wait for other threads' writes.
        while self._waiting and self._delivering.acquire(blocking=False):
            try:
                while self._waiting:
                    self._tell(self._waiting.popleft()())
            finally:
                self._delivering.release()

    def _tell(self, change: Change) -> None:
        for subscriber, kinds in self._subscribers:
            if kinds is None or change.kind in kinds:
                try:
                    subscriber(change)
                except Exception:
                    _log.exception("a subscriber failed on %s", change.kind)
