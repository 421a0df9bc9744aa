"""Tells subscribers in this process what was committed; on SQLite in the order of the commits."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

from longmind.errors import InvalidInput
from longmind.models.change import Change
from longmind.runtime.fork_safety import survive_forks

_log = logging.getLogger("longmind.changes")

_PATIENCE_SECONDS = 0.1

Subscriber = Callable[[Change], object]
Mirror = Callable[[list[Callable[[], Change]]], object]
"""Takes all that one transaction has committed, before subscribers are told of it; it raises nothing."""
Subscription = tuple[Subscriber, frozenset[str] | None]


class ChangeFeed:
    """The list of subscribers. A subscriber that fails is logged and harms nobody: the change is committed already."""

    def __init__(self, mirror: Mirror | None = None) -> None:
        self._mirror = mirror
        self._subscribers: list[Subscription] = []
        # What is to be told, with None after the last change of each write.
        self._waiting: deque[Callable[[], object] | None] = deque()
        self._delivering = threading.Lock()
        self._background: threading.Thread | None = None
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._delivering = threading.Lock()
        self._background = None
        # Emptied in place: it may be a subscriber that forked, and the child then comes back to the loop that told it.
        self._waiting.clear()

    def subscribe(self, subscriber: Subscriber, kinds: frozenset[str] | None = None) -> Callable[[], None]:
        if not callable(subscriber):
            raise InvalidInput(f"A subscriber must be callable, not a {type(subscriber).__name__}.")
        entry = (subscriber, kinds)
        self._subscribers = [*self._subscribers, entry]

        def unsubscribe() -> None:
            self._subscribers = [each for each in self._subscribers if each is not entry]

        return unsubscribe

    def add(self, emitted: list[Iterable[Callable[[], Change]]]) -> None:
        if not emitted or not (self._subscribers or self._mirror):
            return
        changes = list(chain.from_iterable(emitted))
        mirrored = [partial(self._mirror, changes)] if self._mirror else []
        told = [partial(self._announce, change) for change in changes] if self._subscribers else []
        self._waiting.extend([*mirrored, *told, None])

    def deliver(self) -> None:
        # One thread delivers at a time, also what others have added meanwhile; it never waits for them, so that a
        # subscriber may itself write, and wait for other threads' writes.
        delivering = self._delivering
        while self._waiting and delivering.acquire(blocking=False):
            try:
                all_told = self._tell_waiting(_PATIENCE_SECONDS)
            except BaseException:
                delivering.release()
                raise
            if not all_told:
                self._hand_over(delivering)
                return
            delivering.release()

    def finish(self) -> None:
        """Wait until the thread in the background, if there is one, has told what waits now."""
        if self._background is None or self._background is threading.current_thread():
            return
        told = threading.Event()
        self._waiting.append(told.set)
        while self._background.is_alive() and not told.wait(0.05):
            # It may also end without having seen the last entry, which is nobody's then.
            pass

    def _tell_waiting(self, patience_seconds: float) -> bool:
        """Tell what waits. False when something is left, since telling what others wrote took too long."""
        deadline = float("inf")
        while self._waiting:
            if time.monotonic() > deadline:
                return False
            tell = self._waiting.popleft()
            if tell is not None:
                tell()
            elif deadline == float("inf"):
                # One write is told in any case, which is the caller's own unless several write at once.
                deadline = time.monotonic() + patience_seconds
        return True

    def _hand_over(self, delivering: threading.Lock) -> None:
        """Let a thread go on that keeps no write waiting. The lock stays taken, and is the thread's to release."""
        thread = threading.Thread(target=self._tell_rest, args=(delivering,), name="longmind-changes", daemon=True)
        self._background = thread
        try:
            thread.start()
        except RuntimeError:
            # No more threads can be had, such as when the interpreter ends.
            self._tell_rest(delivering)

    def _tell_rest(self, delivering: threading.Lock) -> None:
        try:
            self._tell_waiting(float("inf"))
        finally:
            delivering.release()
        # Something may have been added between the last look and the release.
        self.deliver()

    def _announce(self, announced: Callable[[], Change]) -> None:
        try:
            change = announced()
        except Exception:
            _log.exception("a change could not be told")
        else:
            self._tell(change, self._subscribers)

    def _tell(self, change: Change, subscribers: list[Subscription]) -> None:
        for number, (subscriber, kinds) in enumerate(subscribers, 1):
            if kinds is not None and change.kind not in kinds:
                continue
            try:
                subscriber(change)
            except KeyboardInterrupt:
                # Who was not told yet is told by the next delivery.
                self._waiting.appendleft(partial(self._tell, change, subscribers[number:]))
                raise
            except BaseException:
                # Not even SystemExit is for the writer: what it wrote is committed.
                _log.exception("a subscriber failed on %s", change.kind)
