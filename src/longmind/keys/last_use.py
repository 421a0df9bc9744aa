"""When a key was last used, written down behind the requests' backs."""

from __future__ import annotations

import logging
import threading

from longmind.clock import Micros
from longmind.errors import EngineClosed, LongmindError
from longmind.runtime.fork_safety import survive_forks
from longmind.store.database import Database
from longmind.store.tables import keys

_EVERY = 60 * 1_000_000
_log = logging.getLogger("longmind.keys")


class KeyUseLog:
    """Notes a use at most once a minute for each key. No request waits for it, and none fails by it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: dict[str, Micros] = {}
        self._waiting: dict[str, Micros] = {}
        self._writer: threading.Thread | None = None
        self._lock = threading.Lock()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self._writer = None
        self._lock = threading.Lock()

    def note(self, key_id: str, known: Micros | None, now: Micros) -> None:
        """Take down a use; `known` is when the last one was, as far as the database knows."""
        last = max(known or 0, self._noted.get(key_id, 0))
        if last and now - last < _EVERY:
            return
        with self._lock:
            self._noted[key_id] = self._waiting[key_id] = now
            if self._writer is None:
                # It ends when nothing waits, so an idle engine has no thread for this, and closing need not know of it.
                self._writer = threading.Thread(target=self._write, name="longmind-keys", daemon=True)
                self._writer.start()

    def settle(self) -> None:
        """Wait until what was noted is written."""
        writer = self._writer
        if writer is not None:
            writer.join()

    def _write(self) -> None:
        while True:
            with self._lock:
                uses, self._waiting = self._waiting, {}
                if not uses:
                    self._writer = None
                    return
            try:
                self._database.write(None, keys.note_uses, uses)
            except EngineClosed:
                _log.debug("the engine was closed before the last use of a key was written")
            except LongmindError as error:
                _log.warning("the last use of a key was not written: %s", type(error).__name__)
