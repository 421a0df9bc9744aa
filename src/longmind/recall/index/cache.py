"""The indexes that are kept in memory: the ones used last, up to a number of megabytes for all of them together."""

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
"""Whose index it is, and of what: a space or a timeline."""


class Index(Protocol):
    """A cache of what is in the database: it can be thrown away at any time and made again."""

    @property
    def loaded(self) -> bool:
        """Whether it was filled at all."""

    @property
    def nbytes(self) -> int: ...


I = TypeVar("I", bound=Index)  # noqa: E741  # like T, of an index


@dataclass
class _Entry:
    index: Any
    lock: Any = field(default_factory=threading.RLock)
    """Nobody takes it twice, but of this kind it can be told who has it."""
    nbytes: int = 0


class IndexCache:
    """Gives out an index, current as of the call. One caller at a time works with it."""

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
        """An index with everything that was committed before this call, for which it is refreshed.

        A caller that has had it so a moment ago may ask for it without another look at the database.
        """
        key = (scope.id, name)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(make())
            self._entries.move_to_end(key)
        return _IndexLease(self, key, entry, make, refresh, fresh)

    def peek(self, scope: Scope, name: str) -> Any:
        """An index that somebody else may work with, or None: only for a flag, and not to rely on it."""
        entry = self._entries.get((scope.id, name))
        return None if entry is None else entry.index

    @contextmanager
    def if_kept(self, scope: Scope, name: str) -> Iterator[Any]:
        """An index as it was left, or None when there is none; who has it may add to it."""
        key = (scope.id, name)
        entry = self._entries.get(key)
        if entry is None:
            yield None
            return
        with entry.lock:
            yield entry.index
            self._weigh(key, entry)

    def weigh(self, scope: Scope, name: str) -> None:
        """Take note that who had an index has added to it."""
        with self.if_kept(scope, name):
            pass

    def forget(self, scope: Scope) -> None:
        """Keep nothing more of a user, whose data was erased."""
        for key in [key for key in list(self._entries) if key[0] == scope.id]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        with self._lock:
            dropped = self._entries.pop(key, None)
            self._nbytes -= dropped.nbytes if dropped is not None else 0

    def _weigh(self, key: Key, entry: _Entry) -> None:
        """Take note of what an index takes now, and make room for it."""
        now = entry.index.nbytes
        with self._lock:
            if self._entries.get(key) is not entry:
                # Dropped meanwhile: it is gone when its caller is done with it.
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
        return len(self._entries)


class _IndexLease(Generic[I]):
    """One caller's turn with an index. Every recall has two, so it is a class: a generator would take twice as long."""

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
        # The lock's own, which no interrupt can come in between, as it can before the first line of a function.
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
            # An index that nobody has filled yet, or whose entry was dropped meanwhile, needs the look.
            if (self._fresh or not index.loaded) and self._refresh(index):
                self._cache._weigh(self._key, entry)
            return index
        except BaseException:
            # Who is interrupted may have waited for it still, or have it already.
            if entry.lock._is_owned():
                # A refresh that was cut short may have left it half new, also for who waits for this entry already.
                self._cache._drop(self._key)
                entry.index = self._make()
                entry.lock.release()
            raise
