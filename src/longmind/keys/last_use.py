"""The time of each key's last use, stored in the background."""

from __future__ import annotations

import logging
import threading

from longmind.clock import Micros
from longmind.errors import EngineClosed, LongmindError
from longmind.runtime.fork_safety import survive_forks
from longmind.store.database import Database
from longmind.store.tables import keys

_INTERVAL = 60 * 1_000_000
_log = logging.getLogger("longmind.keys")


class KeyUseLog:
    """Stores at most one use a minute for each key, in a thread that ends when nothing is left to store.

    No request waits for it or fails because of it, so a use may be missing after a crash.
    """

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
        """Note a use; `known` is the last one that the database knows of."""
        last = max(known or 0, self._noted.get(key_id, 0))
        if last and now - last < _INTERVAL:
            return
        with self._lock:
            self._noted[key_id] = self._waiting[key_id] = now
            if self._writer is None:
                # The thread ends when nothing waits, so an idle engine has none, and `close` need not stop it.
                self._writer = threading.Thread(target=self._write, name="longmind-keys", daemon=True)
                self._writer.start()

    def settle(self) -> None:
        """Wait until all noted uses are stored."""
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
                _log.debug("the engine was closed before the last use of a key was stored")
            except LongmindError as error:
                _log.warning("the last use of a key could not be stored: %s", type(error).__name__)
