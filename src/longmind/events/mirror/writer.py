"""The JSONL mirror: every row of the ledger that has a timeline, as a line in a file.

The ledger is the truth. The process that committed a row mirrors it after the commit. Trouble is logged and fails no
write: a rebuild rewrites the files from the ledger.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from longmind.events.mirror.folder import Gate, MirrorFolder
from longmind.events.mirror.jsonl import append_lines, encode_line
from longmind.runtime.durable_files import sync_file
from longmind.settings import JsonlFsync
from longmind.store.tables.mirror_rows import MirrorRow, select_mirrored

_log = logging.getLogger("longmind.mirror")

SYNC_SECONDS = 1.0
"""Seconds that lines may wait for a sync under the policy `interval`, as long as more are written."""
_WARNING_SECONDS = 60.0
"""Seconds between two logs of missing lines, and seconds that writes do not wait after a lock timed out."""
_PATIENCE_SECONDS = 2.0
"""Seconds that a write waits for the lock on the files, which others need for milliseconds."""
_MAX_SYNCED_NAMES = 10_000
_CLOCK_SECONDS = 1.0
"""Seconds that the times of a file system may lag behind the clock."""


class Mirror:
    """Appends to the files of all users, which processes may share.

    In one process, the change feed calls `append` from one thread at a time.
    """

    def __init__(self, folder: Path, fsync: JsonlFsync) -> None:
        self.folder = MirrorFolder(folder)
        self.fsync = fsync
        self._opened_at = time.time()
        self.position_at_opening = 0
        """The newest position of the ledger that was taken when the engine was opened."""
        self._unsynced: set[Path] = set()
        self._synced_names: set[Path] = set()
        """Files whose names were flushed to the disk."""
        self._synced_at = time.monotonic()
        self._missing_lines = 0
        self._warned_at = float("-inf")
        self._impatient_until = float("-inf")

    def append(self, announced: Sequence[Callable[[], object]]) -> None:
        """Append the rows that one transaction has committed. It never fails."""
        missing = len(announced)
        try:
            rows = select_mirrored(announced)
            missing = len(rows)
            for user in dict.fromkeys(row.user for row in rows):
                self._append_for(user, [row for row in rows if row.user == user])
        except Exception as error:
            if isinstance(error, TimeoutError):
                # The process that holds the lock was stopped, perhaps for long: not every write should wait for it.
                self._impatient_until = time.monotonic() + _WARNING_SECONDS
            self._missing_lines += missing
            self._warn(error)
        if self._unsynced and time.monotonic() - self._synced_at >= SYNC_SECONDS:
            self.sync()

    def _append_for(self, user: str, rows: list[MirrorRow]) -> None:
        lines: dict[Path, list[tuple[int, bytes]]] = {}
        for row in rows:
            # Encoded before the lock is taken, since others wait for the lock.
            file = self.folder.file(user, row.timeline_id, row.at)
            lines.setdefault(file, []).append((row.position, encode_line(row.event)))
        patience = 0.0 if time.monotonic() < self._impatient_until else _PATIENCE_SECONDS
        with self.folder.locked(user, patience) as gate:
            through = self._read_through(gate)
            for file, numbered in lines.items():
                fresh = b"".join(line for position, line in numbered if position > through)
                if fresh:
                    append_lines(file, fresh, sync=self.fsync == "always")
                    if self.fsync == "always":
                        self._sync_names(file)
        if self.fsync == "interval":
            self._unsynced.update(lines)

    def _read_through(self, gate: Gate) -> int:
        """Return the position up to which a rebuild has written the files, so that nothing is appended twice.

        Positions only rise. A note from before this engine was opened that names a higher position than the ledger had
        then is about another database, which was replaced or restored since; it counts as 0.
        """
        through = gate.through
        is_foreign = through > self.position_at_opening and gate.noted_at < self._opened_at - _CLOCK_SECONDS
        return 0 if is_foreign else through

    def sync(self) -> None:
        """Flush waiting lines to the disk."""
        waiting, self._unsynced = self._unsynced, set()
        self._synced_at = time.monotonic()
        for file in waiting:
            try:
                sync_file(file)
                self._sync_names(file)
            except FileNotFoundError:
                # Its user was erased in the meantime.
                continue
            except OSError as error:
                self._warn(error)

    def _sync_names(self, file: Path) -> None:
        # The process that made the file may have been killed before its sync, so every process does it once.
        if file not in self._synced_names:
            self.folder.sync_names_of([file])
            if len(self._synced_names) >= _MAX_SYNCED_NAMES:
                self._synced_names.clear()
            self._synced_names.add(file)

    def _warn(self, error: Exception) -> None:
        # A full disk stays full for a while, and a line for each write would fill it further.
        if time.monotonic() - self._warned_at >= _WARNING_SECONDS:
            self._warned_at = time.monotonic()
            _log.warning(
                "%d events are missing in the JSONL files under %s: %s. They are safe in the ledger. Once the cause is "
                "fixed, run: longmind events rebuild-jsonl",
                self._missing_lines,
                self.folder.root,
                error,
                # For a fault of the disk the message is enough; anything else is a bug, and its traceback helps.
                exc_info=None if isinstance(error, OSError) else error,
            )
            self._missing_lines = 0
