"""Writes the files of the mirror anew from the ledger, and removes those of users who are forgotten.

Files and ledger agree exactly afterwards, whoever writes meanwhile. The key is a place in the ledger, the newest that
is taken when the rebuild begins:

1. Before it is looked up, the sizes of the files are noted. What is in them by then stands for rows up to that place,
   since a row is committed before it is mirrored.
2. Transactions that hold a place before it are waited for. What the ledger has up to it is complete then.
3. That is read into new files, with no lock held. Others go on appending to the old ones.
4. With the user's files locked, lines that were added since and stand for rows beyond the place are carried over, the
   new files take the place of the old ones, and the place is noted. Who comes late with a row from before it, which the
   new files have already, finds the note and does not append.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longmind.errors import StoreBusy, StoreUnavailable
from longmind.events.mirror.jsonl import append_lines, encode_line, lines_after
from longmind.events.mirror.writer import Mirror
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import mirror_rows as mirroring
from longmind.store.tables.mirror_rows import Mirrored

_log = logging.getLogger("longmind.mirror")

_AT_ONCE = 250
"""Rows that are read at a time: one of them may hold megabytes."""
_BEFORE_ALL_TIMES = -(2**62)
_REPAIR = "Then run: longmind events rebuild-jsonl"
_ERASE = "Then do it again: the rows are gone, and the files may be there."

Progress = Callable[[int, int], None]
"""Told how many events of how many have been written."""


def ignore_progress(_done: int, _total: int) -> None:
    pass


@dataclass(frozen=True)
class RebuildResult:
    """What a rebuild has written."""

    users: int
    files: int
    events: int


class MirrorRebuilder:
    def __init__(self, database: Database, mirror: Mirror, patience_seconds: float) -> None:
        self._database = database
        self._mirror = mirror
        self._folder = mirror.folder
        self._patience_seconds = patience_seconds

    def rebuild_all(
        self, tenant_id: str | None, app_id: str | None, user_id: str | None, progress: Progress
    ) -> RebuildResult:
        """Rebuild the files of all users that are meant; with nobody named, files of users who are gone go too."""
        # Looked at before the ledger is: whoever has files by now, and no rows then, has lost them.
        present = [] if tenant_id or app_id or user_id else self._folder.users()
        users = self._database.read(None, mirroring.users, tenant_id, app_id, user_id)
        expected = sum(users.values())
        progress(0, expected)
        files = events = 0
        for user in [*users, *(each for each in present if each not in users)]:
            for written in self._rebuild(user):
                progress(events + written.events, expected)
            files, events = files + written.files, events + written.events
        return RebuildResult(len(users), files, events)

    def forget(self, scope: Scope) -> None:
        """Remove the files of a user whose rows have been erased; they do not come back when somebody appends late.

        Call it after the commit of the erasure. What was written for the user since then is mirrored anew.
        """
        # Erased rows had places up to the newest one that was ever taken, whoever has yet to append them.
        through = self._database.read(None, mirroring.newest_place)
        with self._translated(_ERASE), self._folder.rebuilding(scope.id), self._folder.locked(scope.id) as gate:
            # Removed first: on a disk that is full there is room for the note only then.
            self._folder.remove(scope.id)
            gate.through = through
        # What was to be removed is gone. Nothing more can make the erasure fail.
        self.rewrite_user(scope)

    def rewrite_user(self, scope: Scope) -> None:
        """Write the files of a user anew after rows came into the ledger or left it all at once.

        It never fails, as no other mirroring does: what is missing then is missing until the next rebuild.
        """
        try:
            for _ in self._rebuild(scope.id):
                pass
        except (StoreBusy, StoreUnavailable) as error:
            _log.warning("the JSONL files of a user could not be written anew: %s %s", error, _REPAIR)

    def _rebuild(self, user: str) -> Iterator[RebuildResult]:
        """Do it, and tell now and then how far it has come; what is told last is what was done."""
        with self._translated(), self._folder.rebuilding(user):
            with self._folder.locked(user):
                sizes = {file: file.stat().st_size for file in self._folder.files(user)}
            through = self._database.read(None, mirroring.newest_place)
            if not self._database.wait_for_writers(self._patience_seconds):
                raise StoreBusy("A transaction has been writing for too long to tell what is to be mirrored.")
            written = 0
            for rows in self._rows(user, through):
                self._write_new(user, rows)
                written += len(rows)
                yield RebuildResult(1, 0, written)
            if self._lasting:
                self._folder.sync_new(user)
            with self._folder.locked(user) as gate:
                self._carry_over(user, sizes, through)
                files = self._folder.put_new_in_place(user, lasting=self._lasting)
                gate.through = through
            yield RebuildResult(1, files, written)

    def _rows(self, user: str, through: int) -> Iterator[list[Mirrored]]:
        for timeline_id in self._database.read(None, mirroring.timelines, user):
            after = (_BEFORE_ALL_TIMES, 0)
            while rows := self._database.read(None, mirroring.rows, user, timeline_id, after, through, _AT_ONCE):
                after = (rows[-1].at, rows[-1].position)
                yield rows

    def _write_new(self, user: str, rows: list[Mirrored]) -> None:
        lines: dict[Path, list[bytes]] = {}
        for row in rows:
            lines.setdefault(self._folder.new_file(user, row.timeline_id, row.at), []).append(encode_line(row.event))
        for file, each in lines.items():
            append_lines(file, b"".join(each))

    def _carry_over(self, user: str, sizes: dict[Path, int], through: int) -> None:
        for file in self._folder.files(user):
            lines = lines_after(file, sizes.get(file, 0), through)
            if lines:
                append_lines(self._folder.new_twin(user, file), b"".join(lines), sync=self._lasting)

    @property
    def _lasting(self) -> bool:
        return self._mirror.fsync != "never"

    @contextmanager
    def _translated(self, then: str = _REPAIR) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(
                f"The JSONL files under {self._folder.root} cannot be written: {error.strerror}.",
                hint=f"See to the folder. {then}",
            ) from error
