"""Cache of indexes in memory: the most recently used ones, up to a number of megabytes in total.

Each entry has its own lock, held by the one caller that works with the index. The lock of the cache guards only the
table and the sizes, and is never held while an index is refreshed. An index whose refresh failed or was interrupted is
replaced by an empty one, since it may be half updated. An entry that is evicted while it is in use stays valid for its
caller.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from longmind.runtime.fork_safety import survive_forks
from longmind.scope import Scope

Key = tuple[str, str]
"""The user's scope, and the id of the space or the timeline."""


class Index(Protocol):
    """An index that can be discarded at any time and made again from the database."""

    @property
    def loaded(self) -> bool:
        """True once it was filled."""

    @property
    def nbytes(self) -> int: ...


I = TypeVar("I", bound=Index)  # noqa: E741  # like T, of an index


@dataclass
class _Entry:
    """An index in the cache, with its lock and its size."""

    index: Any
    lock: Any = field(default_factory=threading.RLock)
    """Never re-entered; an RLock because it can report its owner."""
    nbytes: int = 0


class IndexCache:
    """Lends indexes to one caller at a time. Threads may share it, and a forked process starts with an empty one."""

    def __init__(self, megabytes: float) -> None:
        self._limit = int(megabytes * 1024 * 1024)
        self._lock = threading.Lock()
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._nbytes = 0
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._lock = threading.Lock()
        self._entries = OrderedDict()
        self._nbytes = 0

    def current(
        self, scope: Scope, name: str, make: Callable[[], I], refresh: Callable[[I], bool], *, fresh: bool = True
    ) -> AbstractContextManager[I]:
        """Lend an index with everything that was committed before this call.

        make: builds an empty index.
        refresh: updates an index and returns whether it has changed.
        fresh: pass False to skip the refresh of an index that is loaded.
        """
        key = (scope.id, name)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(make())
            self._entries.move_to_end(key)
        return _IndexLease(self, key, entry, make, refresh, fresh)

    def peek(self, scope: Scope, name: str) -> Any:
        """Return an index that another thread may be changing, or None: only to read a flag as a hint."""
        entry = self._entries.get((scope.id, name))
        return None if entry is None else entry.index

    @contextmanager
    def lend_cached(self, scope: Scope, name: str) -> Iterator[Any]:
        """Lend an index as it is, or None if it is not in the cache. The caller may add to it."""
        key = (scope.id, name)
        entry = self._entries.get(key)
        if entry is None:
            yield None
            return
        with entry.lock:
            yield entry.index
            self._weigh(key, entry)

    def weigh(self, scope: Scope, name: str) -> None:
        """Measure an index again after its caller has added to it."""
        with self.lend_cached(scope, name):
            pass

    def forget(self, scope: Scope) -> None:
        """Drop all indexes of a user whose data was erased."""
        for key in [key for key in list(self._entries) if key[0] == scope.id]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        with self._lock:
            dropped = self._entries.pop(key, None)
            self._nbytes -= dropped.nbytes if dropped is not None else 0

    def _weigh(self, key: Key, entry: _Entry) -> None:
        """Record the size of an index, and evict others to make room for it."""
        now = entry.index.nbytes
        with self._lock:
            if self._entries.get(key) is not entry:
                # Dropped while in use: it goes away with its caller.
                return
            self._nbytes += now - entry.nbytes
            entry.nbytes = now
            self._entries.move_to_end(key)
            while self._nbytes > self._limit and len(self._entries) > 1:
                _, dropped = self._entries.popitem(last=False)
                self._nbytes -= dropped.nbytes

    @property
    def nbytes(self) -> int:
        return self._nbytes

    @property
    def spaces(self) -> int:
        """The number of indexes, including those of timelines and messages."""
        return len(self._entries)


class _IndexLease(Generic[I]):
    """One caller's use of an index. It is a class because every recall has two, and a generator takes twice as long."""

    __slots__ = ("__exit__", "_cache", "_entry", "_fresh", "_key", "_make", "_refresh")

    def __init__(
        self,
        cache: IndexCache,
        key: Key,
        entry: _Entry,
        make: Callable[[], I],
        refresh: Callable[[I], bool],
        fresh: bool,
    ) -> None:
        # The method of the lock itself, since an interrupt can come before the first line of a Python function.
        self.__exit__ = entry.lock.__exit__
        self._cache = cache
        self._key = key
        self._entry = entry
        self._make = make
        self._refresh = refresh
        self._fresh = fresh

    def __enter__(self) -> I:
        entry = self._entry
        try:
            entry.lock.acquire()
            index: I = entry.index
            # An index that was never filled, or whose entry was dropped, needs the refresh.
            if (self._fresh or not index.loaded) and self._refresh(index):
                self._cache._weigh(self._key, entry)
            return index
        except BaseException:
            # An interrupt may arrive before or after the lock was acquired.
            if entry.lock._is_owned():
                # An interrupted refresh may leave the index half updated, also for callers that wait for this entry.
                self._cache._drop(self._key)
                entry.index = self._make()
                entry.lock.release()
            raise
