"""The spaces that are kept in memory: the ones used last, up to a number of megabytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from recollect.forking import survive_forks
from recollect.recall.loading import refresh
from recollect.recall.space_index import SpaceIndex
from recollect.scope import Scope
from recollect.store.database import Database


@dataclass
class _Entry:
    index: SpaceIndex = field(default_factory=SpaceIndex)
    lock: threading.Lock = field(default_factory=threading.Lock)
    nbytes: int = 0


class SpaceCache:
    """Gives out a space's index, current as of the call. One caller at a time works with a space."""

    def __init__(self, database: Database, megabytes: float) -> None:
        self._database = database
        self._limit = int(megabytes * 1024 * 1024)
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._lock = threading.Lock()
        self._entries = OrderedDict()

    @contextmanager
    def current(self, scope: Scope, space_id: str, *, fresh: bool = True) -> Iterator[SpaceIndex]:
        """The index of a space with everything that was committed before this call.

        A caller that has had it so a moment ago may ask for it without another look at the database.
        """
        key = (scope.id, space_id)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
            self._entries.move_to_end(key)
        with entry.lock:
            try:
                # An index that nobody has filled yet, or whose entry was dropped meanwhile, needs the look.
                look = fresh or entry.index.revision < 0
                if look and self._database.read(scope, refresh, space_id, entry.index):
                    entry.nbytes = entry.index.nbytes
                    self._make_room(key)
            except BaseException:
                # A refresh that was cut short may have left it half new.
                self.drop(scope, space_id)
                raise
            yield entry.index

    def drop(self, scope: Scope, space_id: str) -> None:
        with self._lock:
            self._entries.pop((scope.id, space_id), None)

    def _make_room(self, keep: tuple[str, str]) -> None:
        with self._lock:
            total = sum(entry.nbytes for entry in self._entries.values())
            for key in list(self._entries):
                if total <= self._limit:
                    return
                if key != keep:
                    total -= self._entries.pop(key).nbytes

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(entry.nbytes for entry in self._entries.values())
