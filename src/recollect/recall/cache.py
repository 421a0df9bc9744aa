"""The spaces that are kept in memory: the ones used last, up to a number of megabytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from recollect.forking import survive_forks
from recollect.models.atom import Atom
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
        self._nbytes = 0
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._lock = threading.Lock()
        self._entries = OrderedDict()
        self._nbytes = 0

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
                    self._weigh(key, entry)
            except BaseException:
                # A refresh that was cut short may have left it half new.
                self.drop(scope, space_id)
                raise
            yield entry.index

    def keep(self, scope: Scope, space_id: str, atoms: Mapping[int, Atom], revision: int) -> None:
        """Keep atoms that were read when the index was at a revision."""
        key = (scope.id, space_id)
        entry = self._entries.get(key)
        if entry is not None:
            with entry.lock:
                entry.index.keep(atoms, revision)
                self._weigh(key, entry)

    def drop(self, scope: Scope, space_id: str) -> None:
        with self._lock:
            dropped = self._entries.pop((scope.id, space_id), None)
            self._nbytes -= dropped.nbytes if dropped is not None else 0

    def _weigh(self, key: tuple[str, str], entry: _Entry) -> None:
        """Take note of what a space takes now, and make room for it."""
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
