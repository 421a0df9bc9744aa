"""Rebuild of the mirror's files from the ledger, and their removal when a user is erased.

Afterwards files and ledger agree exactly, while other processes go on writing. The key is a position in the ledger, the
newest one that is taken when the rebuild begins:

1. Before the position is read, the sizes of the files are noted. A row is committed before it is mirrored, so the lines
   up to these sizes stand for rows up to the position.
2. The rebuild waits for the transactions that hold an earlier position. Then the ledger is complete up to it.
3. The rows up to the position are written to new files, with no lock held. Others go on appending to the old files.
4. With the user's files locked, lines beyond the noted sizes and beyond the position are copied to the new files, these
   replace the old ones, and the position is noted in the lock file. A process that comes late with an earlier row,
   which is in the new files already, finds the note and does not append.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longmind.errors import StoreBusy, StoreUnavailable
from longmind.events.mirror.jsonl import append_lines, encode_line, read_lines_after
from longmind.events.mirror.writer import Mirror
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import mirror_rows
from longmind.store.tables.mirror_rows import MirrorRow

_log = logging.getLogger("longmind.mirror")

_BATCH_SIZE = 250
"""Rows that are read at a time; one row may hold megabytes."""
_MIN_TIME = -(2**62)
_REPAIR_HINT = "Then run: longmind events rebuild-jsonl"
_ERASE_HINT = "Then erase the user again: the rows are gone, but the files may still be there."

Progress = Callable[[int, int], None]
"""Called with the number of events written so far, and of all events."""


def ignore_progress(_done: int, _total: int) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class RebuildResult:
    """Counts of what a rebuild has written."""

    users: int
    files: int
    events: int


class MirrorRebuilder:
    """Rebuilds and removes files of the mirror.

    `patience_seconds` is how long a rebuild waits for open transactions; StoreBusy is raised after that.
    """

    def __init__(self, database: Database, mirror: Mirror, patience_seconds: float) -> None:
        self._database = database
        self._mirror = mirror
        self._folder = mirror.folder
        self._patience_seconds = patience_seconds

    def rebuild_all(
        self, tenant_id: str | None, app_id: str | None, user_id: str | None, progress: Progress
    ) -> RebuildResult:
        """Rebuild the files of the users that match; with no id given, files of users without rows are removed too."""
        # Listed before the ledger is read: a user with files now, but no rows then, was erased.
        present = [] if tenant_id or app_id or user_id else self._folder.users()
        users = self._database.read(None, mirror_rows.count_rows_of_users, tenant_id, app_id, user_id)
        total = sum(users.values())
        progress(0, total)
        files = events = 0
        for user in [*users, *(each for each in present if each not in users)]:
            for written in self._rebuild(user):
                progress(events + written.events, total)
            files, events = files + written.files, events + written.events
        return RebuildResult(len(users), files, events)

    def forget(self, scope: Scope) -> None:
        """Remove the files of a user whose rows have been erased; a late append does not bring them back.

        Call it after the commit of the erasure. Rows that were written for the user since then are mirrored again.
        """
        # Erased rows had positions up to the newest one ever taken, also those that are still to be appended.
        through = self._database.read(None, mirror_rows.find_newest_place)
        with (
            self._translate_errors(_ERASE_HINT),
            self._folder.rebuilding(scope.id),
            self._folder.locked(scope.id) as gate,
        ):
            # Removed first: on a full disk this makes the room for the note.
            self._folder.remove(scope.id)
            gate.through = through
        # The erased lines are gone. Nothing that follows can make the erasure fail.
        self.rewrite_user(scope)

    def rewrite_user(self, scope: Scope) -> None:
        """Rewrite the files of a user after an import or an erasure, which bypass the mirror.

        Like all mirroring it never fails: trouble is logged, and lines may be missing until the next rebuild.
        """
        try:
            for _ in self._rebuild(scope.id):
                pass
        except (StoreBusy, StoreUnavailable) as error:
            _log.warning("the JSONL files of a user could not be rewritten: %s %s", error, _REPAIR_HINT)

    def _rebuild(self, user: str) -> Iterator[RebuildResult]:
        """Rebuild a user's files. Yields the counts so far now and then; the last value is the result."""
        with self._translate_errors(), self._folder.rebuilding(user):
            with self._folder.locked(user):
                sizes = {file: file.stat().st_size for file in self._folder.files(user)}
            through = self._database.read(None, mirror_rows.find_newest_place)
            if not self._database.wait_for_writers(self._patience_seconds):
                raise StoreBusy("A transaction has been open for too long; the rows to mirror are not known yet.")
            written = 0
            for rows in self._rows(user, through):
                self._write_new(user, rows)
                written += len(rows)
                yield RebuildResult(1, 0, written)
            if self._is_durable:
                self._folder.sync_new(user)
            with self._folder.locked(user) as gate:
                self._copy_late_lines(user, sizes, through)
                files = self._folder.put_new_in_place(user, lasting=self._is_durable)
                gate.through = through
            yield RebuildResult(1, files, written)

    def _rows(self, user: str, through: int) -> Iterator[list[MirrorRow]]:
        for timeline_id in self._database.read(None, mirror_rows.list_timelines, user):
            after = (_MIN_TIME, 0)
            while rows := self._database.read(
                None, mirror_rows.read_rows, user, timeline_id, after, through, _BATCH_SIZE
            ):
                after = (rows[-1].at, rows[-1].position)
                yield rows

    def _write_new(self, user: str, rows: list[MirrorRow]) -> None:
        lines: dict[Path, list[bytes]] = {}
        for row in rows:
            lines.setdefault(self._folder.new_file(user, row.timeline_id, row.at), []).append(encode_line(row.event))
        for file, each in lines.items():
            append_lines(file, b"".join(each))

    def _copy_late_lines(self, user: str, sizes: dict[Path, int], through: int) -> None:
        """Copy lines that others appended for rows beyond the position to the new files."""
        for file in self._folder.files(user):
            lines = read_lines_after(file, sizes.get(file, 0), through)
            if lines:
                append_lines(self._folder.new_twin(user, file), b"".join(lines), sync=self._is_durable)

    @property
    def _is_durable(self) -> bool:
        return self._mirror.fsync != "never"

    @contextmanager
    def _translate_errors(self, next_step: str = _REPAIR_HINT) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(
                f"The JSONL files under {self._folder.root} cannot be written: {error.strerror}.",
                hint=f"Check the folder. {next_step}",
            ) from error
