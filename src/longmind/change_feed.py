"""The feed of committed changes to subscribers in this process; on SQLite in the order of the commits.

A write delivers its own changes in the thread of its caller, so that usually a subscriber has seen them when the write
returns. But one thread delivers at a time: if another one is at it, that one takes over what was added, and the write
returns without waiting. If delivering what others wrote takes too long, a background thread continues, so that no write
waits for other writes' subscribers.
"""

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
"""Receives all changes of one transaction before subscribers do; it must raise nothing."""
Subscription = tuple[Subscriber, frozenset[str] | None]


class ChangeFeed:
    """The subscribers, and the changes that wait for them.

    A subscriber that fails is logged and harms nobody: the change is committed already.
    """

    def __init__(self, mirror: Mirror | None = None) -> None:
        self._mirror = mirror
        self._subscribers: list[Subscription] = []
        # Deliveries that wait, with None after the last one of each write.
        self._waiting: deque[Callable[[], object] | None] = deque()
        self._delivering = threading.Lock()
        self._background: threading.Thread | None = None
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._delivering = threading.Lock()
        self._background = None
        # Emptied in place: if a subscriber forked, the child returns into the loop that delivers to it.
        self._waiting.clear()

    def subscribe(self, subscriber: Subscriber, kinds: frozenset[str] | None = None) -> Callable[[], None]:
        """Add a subscriber, for all kinds of changes or only some; return a function that removes it."""
        if not callable(subscriber):
            raise InvalidInput(f"A subscriber must be callable, not a {type(subscriber).__name__}.")
        entry = (subscriber, kinds)
        self._subscribers = [*self._subscribers, entry]

        def unsubscribe() -> None:
            self._subscribers = [each for each in self._subscribers if each is not entry]

        return unsubscribe

    def add(self, emitted: list[Iterable[Callable[[], Change]]]) -> None:
        """Queue the changes of one transaction. They are built only if somebody listens."""
        if not emitted or not (self._subscribers or self._mirror):
            return
        changes = list(chain.from_iterable(emitted))
        mirrored = [partial(self._mirror, changes)] if self._mirror else []
        announcements = [partial(self._announce, change) for change in changes] if self._subscribers else []
        self._waiting.extend([*mirrored, *announcements, None])

    def deliver(self) -> None:
        """Deliver what waits, unless another thread does. Called without any lock: subscribers may write themselves."""
        # Never waits for the other thread, so that a subscriber may wait for the writes of other threads.
        delivering = self._delivering
        while self._waiting and delivering.acquire(blocking=False):
            try:
                is_done = self._deliver_waiting(_PATIENCE_SECONDS)
            except BaseException:
                delivering.release()
                raise
            if not is_done:
                self._continue_in_background(delivering)
                return
            delivering.release()

    def finish(self) -> None:
        """Wait until the background thread, if there is one, has delivered what waits now."""
        if self._background is None or self._background is threading.current_thread():
            return
        reached = threading.Event()
        self._waiting.append(reached.set)
        while self._background.is_alive() and not reached.wait(0.05):
            # The thread may also end without having seen this last entry, which nobody needs then.
            pass

    def _deliver_waiting(self, patience_seconds: float) -> bool:
        """Deliver what waits; return False if something is left because delivering others' writes took too long."""
        deadline = float("inf")
        while self._waiting:
            if time.monotonic() > deadline:
                return False
            delivery = self._waiting.popleft()
            if delivery is not None:
                delivery()
            elif deadline == float("inf"):
                # One write is delivered in any case; it is the caller's own unless several write at once.
                deadline = time.monotonic() + patience_seconds
        return True

    def _continue_in_background(self, delivering: threading.Lock) -> None:
        """Let a thread that no write waits for deliver the rest. It inherits the lock and releases it."""
        thread = threading.Thread(target=self._deliver_rest, args=(delivering,), name="longmind-changes", daemon=True)
        self._background = thread
        try:
            thread.start()
        except RuntimeError:
            # No thread can be started, for example while the interpreter shuts down.
            self._deliver_rest(delivering)

    def _deliver_rest(self, delivering: threading.Lock) -> None:
        try:
            self._deliver_waiting(float("inf"))
        finally:
            delivering.release()
        # A change may have been added between the last look and the release.
        self.deliver()

    def _announce(self, make_change: Callable[[], Change]) -> None:
        try:
            change = make_change()
        except Exception:
            _log.exception("a change could not be delivered")
        else:
            self._call_subscribers(change, self._subscribers)

    def _call_subscribers(self, change: Change, subscribers: list[Subscription]) -> None:
        for number, (subscriber, kinds) in enumerate(subscribers, 1):
            if kinds is not None and change.kind not in kinds:
                continue
            try:
                subscriber(change)
            except KeyboardInterrupt:
                # The next delivery reaches the remaining subscribers.
                self._waiting.appendleft(partial(self._call_subscribers, change, subscribers[number:]))
                raise
            except BaseException:
                # The writer must not get even a SystemExit: its write is committed.
                _log.exception("a subscriber failed on %s", change.kind)
