"""The JSONL mirror: every row of the ledger that has a timeline, as a line in a file.

The ledger is the truth. A row is mirrored by the process that committed it, after the commit, and whatever goes wrong
with that is logged and harms nobody: a rebuild writes the files anew from the ledger.
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
from longmind.store.tables.mirror_rows import Mirrored, mirrored

_log = logging.getLogger("longmind.mirror")

SYNC_SECONDS = 1.0
"""How long lines may wait for the disk under the policy `interval`, as long as more are written."""
_SECONDS_BETWEEN_COMPLAINTS = 60.0
_PATIENCE_SECONDS = 2.0
"""How long a write may wait for those who hold the files. They need them for milliseconds."""
_MOST_NAMED = 10_000
_CLOCK_SECONDS = 1.0
"""By how much the times of a file system may lag behind the clock."""


class Mirror:
    """Appends to the files of all users. Threads and processes may share them."""

    def __init__(self, folder: Path, fsync: JsonlFsync) -> None:
        self.folder = MirrorFolder(folder)
        self.fsync = fsync
        self._opened_at = time.time()
        self.place_at_opening = 0
        """The newest place of the ledger that was taken when the engine was opened."""
        self._unsynced: set[Path] = set()
        self._named: set[Path] = set()
        """Files whose names are certain to last."""
        self._synced_at = time.monotonic()
        self._missed = 0
        self._complained_at = float("-inf")
        self._hurried_until = float("-inf")

    def append(self, announced: Sequence[Callable[[], object]]) -> None:
        """Write down what one transaction has committed. It never fails."""
        missed = len(announced)
        try:
            rows = mirrored(announced)
            missed = len(rows)
            for user in dict.fromkeys(row.user for row in rows):
                self._append_for(user, [row for row in rows if row.user == user])
        except Exception as error:
            if isinstance(error, TimeoutError):
                # Whoever holds the files was stopped, perhaps for long: not every write has to wait for him.
                self._hurried_until = time.monotonic() + _SECONDS_BETWEEN_COMPLAINTS
            self._missed += missed
            self._complain(error)
        if self._unsynced and time.monotonic() - self._synced_at >= SYNC_SECONDS:
            self.sync()

    def _append_for(self, user: str, rows: list[Mirrored]) -> None:
        lines: dict[Path, list[tuple[int, bytes]]] = {}
        for row in rows:
            # Encoded before the lock is taken, which others wait for.
            file = self.folder.file(user, row.timeline_id, row.at)
            lines.setdefault(file, []).append((row.position, encode_line(row.event)))
        patience = 0.0 if time.monotonic() < self._hurried_until else _PATIENCE_SECONDS
        with self.folder.locked(user, patience) as gate:
            through = self._through(gate)
            for file, numbered in lines.items():
                fresh = b"".join(line for position, line in numbered if position > through)
                if fresh:
                    append_lines(file, fresh, sync=self.fsync == "always")
                    if self.fsync == "always":
                        self._sync_names(file)
        if self.fsync == "interval":
            self._unsynced.update(lines)

    def _through(self, gate: Gate) -> int:
        """Up to which place nothing is to be appended.

        Places only go up. A note from before this engine was opened that names a higher one than there was then is
        about another database: the one that was here before this one was begun anew, or restored.
        """
        through = gate.through
        foreign = through > self.place_at_opening and gate.noted_at < self._opened_at - _CLOCK_SECONDS
        return 0 if foreign else through

    def sync(self) -> None:
        """Have the disk keep what waits for it."""
        waiting, self._unsynced = self._unsynced, set()
        self._synced_at = time.monotonic()
        for file in waiting:
            try:
                sync_file(file)
                self._sync_names(file)
            except FileNotFoundError:
                # It was forgotten meanwhile.
                continue
            except OSError as error:
                self._complain(error)

    def _sync_names(self, file: Path) -> None:
        # Whoever made the file may have been killed before he came to this, so everybody does it once.
        if file not in self._named:
            self.folder.sync_names_of([file])
            if len(self._named) >= _MOST_NAMED:
                self._named.clear()
            self._named.add(file)

    def _complain(self, error: Exception) -> None:
        # A disk that is full stays so for a while, and one line for each write would fill it further.
        if time.monotonic() - self._complained_at >= _SECONDS_BETWEEN_COMPLAINTS:
            self._complained_at = time.monotonic()
            _log.warning(
                "%d events are missing in the JSONL files under %s: %s. They are safe in the ledger; when the trouble "
                "is over, run: longmind events rebuild-jsonl",
                self._missed,
                self.folder.root,
                error,
                # Trouble with the disk says enough in a line; anything else is a fault of ours.
                exc_info=None if isinstance(error, OSError) else error,
            )
            self._missed = 0
