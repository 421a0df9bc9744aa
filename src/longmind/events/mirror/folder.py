"""The folder of the mirror: the layout of its files, and the locks that keep processes apart in them.

    <folder>/<user>/mem/<timeline>/events/2026-03-01.jsonl   the events of a timeline and a day, in UTC
    <folder>/.locks/<user>           held by an appending process; notes the position up to which the files are complete
    <folder>/.locks/<user>.rebuild   held by a process that rewrites or removes the files
    <folder>/.new/<user>             the files of a rebuild that is under way

A user's folder is named by the key of the scope, a hash of tenant, app and user: it is unique, and names nobody once
the files are gone.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from longmind.clock import Micros, to_iso
from longmind.errors import InvalidInput
from longmind.runtime.durable_files import make_private_folder, sync_file, sync_names

try:
    import fcntl
except ImportError:  # only POSIX has these locks
    fcntl = None  # type: ignore[assignment]

_MAX_NAME = 150
"""Characters of a name; file systems allow 255 bytes."""
_DIGITS = 20
"""Length of a noted position. It is constant, so that one write replaces the whole note."""
_PATIENCE_SECONDS = 30.0
_FILES = "mem/*/events/*.jsonl"
_USER = re.compile(r"[a-z2-7]{24}")


class Gate:
    """The lock of one user's files, while it is held."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def through(self) -> int:
        """The position up to which nobody may append any more: a rebuild has written every row before it."""
        note = os.pread(self._descriptor, _DIGITS, 0)
        # A power cut may leave anything in the file.
        return int(note) if note.isdigit() else 0

    @through.setter
    def through(self, position: int) -> None:
        os.pwrite(self._descriptor, f"{position:0{_DIGITS}}".encode(), 0)

    @property
    def noted_at(self) -> float:
        """The time of the last note, in seconds since 1970."""
        return os.fstat(self._descriptor).st_mtime


class MirrorFolder:
    """The files of all users. Threads and processes may share a folder.

    Raises InvalidInput on a system without file locks.
    """

    def __init__(self, root: Path) -> None:
        # Without locks two processes could interleave their lines.
        if fcntl is None:
            raise InvalidInput(
                "events_jsonl_dir needs file locks, which this system does not have.",
                hint="Leave events_jsonl_dir unset.",
            )
        self.root = root.expanduser().absolute()
        self._new = self.root / ".new"
        self._locks = self.root / ".locks"

    def file(self, user: str, timeline_id: str, at: Micros) -> Path:
        """Return the file of the events of a timeline on a day."""
        return _file(self.root, user, timeline_id, _day(at))

    def new_file(self, user: str, timeline_id: str, at: Micros) -> Path:
        """Return the file that a rebuild writes in place of `file`."""
        return _file(self._new, user, timeline_id, _day(at))

    def new_twin(self, user: str, file: Path) -> Path:
        """Return the file that will replace a given file of a user."""
        return self._new / user / file.relative_to(self.root / user)

    def files(self, user: str, timeline_id: str | None = None) -> list[Path]:
        """Return the files of a user, or of one timeline, by day."""
        pattern = _FILES if timeline_id is None else f"mem/{file_name(timeline_id)}/events/*.jsonl"
        return sorted((self.root / user).glob(pattern))

    def users(self) -> list[str]:
        """Return the users that have files."""
        return sorted(each.parent.name for each in self.root.glob("*/mem") if _USER.fullmatch(each.parent.name))

    @contextmanager
    def locked(self, user: str, patience_seconds: float = _PATIENCE_SECONDS) -> Iterator[Gate]:
        """Lock a user's files against all other processes and threads; raise TimeoutError if they stay locked.

        A holder keeps the lock only to append, or to rename some files, unless its process was stopped.
        """
        with self._lock(user, patience_seconds) as descriptor:
            yield Gate(descriptor)

    @contextmanager
    def rebuilding(self, user: str) -> Iterator[None]:
        """Lock a user's files against other rebuilds and removals; the new files are cleared before and after."""
        with self._lock(f"{user}.rebuild", float("inf")):
            self._clear_new(user)
            try:
                yield
            finally:
                self._clear_new(user)

    @contextmanager
    def _lock(self, name: str, patience_seconds: float) -> Iterator[int]:
        descriptor = self._open_lock(f"{self._locks}/{name}")
        try:
            _wait_for_lock(descriptor, patience_seconds)
            yield descriptor
        finally:
            os.close(descriptor)

    def _open_lock(self, path: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_private_folder(self._locks)
            return os.open(path, flags, 0o600)

    def sync_new(self, user: str) -> None:
        """Flush the files of a rebuild to the disk."""
        for file in self._new_files(user):
            sync_file(file)

    def sync_names_of(self, files: Iterable[Path]) -> None:
        """Flush the folders of files to the disk, so that their names, and the absence of removed ones, last."""
        for folder in dict.fromkeys(parent for file in files for parent in file.parents):
            if folder.is_relative_to(self.root) and folder.is_dir():
                sync_names(folder)

    def put_new_in_place(self, user: str, *, lasting: bool) -> int:
        """Replace each of a user's files atomically by its new one, remove the others, and return how many are new."""
        new, old = self._new / user, self.root / user
        moves = [(each, old / each.relative_to(new)) for each in self._new_files(user)]
        # Readers see either the old or the new file, never a part of one.
        for source, target in moves:
            make_private_folder(target.parent, lasting=lasting)
            os.replace(source, target)
        removed = set(self.files(user)) - {target for _, target in moves}
        for file in removed:
            file.unlink()
        _remove_empty_folders(old)
        if lasting:
            # Otherwise a power cut could bring the old files back, without the lines that were added to the new ones.
            self.sync_names_of([*(target for _, target in moves), *removed])
        return len(moves)

    def _new_files(self, user: str) -> list[Path]:
        return list((self._new / user).glob(_FILES))

    def remove(self, user: str) -> None:
        """Remove a user's files for good: a power cut does not bring them back."""
        _remove_tree(self.root / user)
        if self.root.is_dir():
            sync_names(self.root)

    def _clear_new(self, user: str) -> None:
        _remove_tree(self._new / user)


def _wait_for_lock(descriptor: int, patience_seconds: float) -> None:
    deadline = time.monotonic() + patience_seconds
    while True:
        # Polled, since a blocking flock cannot time out; the random pause keeps waiters from colliding again.
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, "another process has held the lock on the files for too long")
        time.sleep(random.uniform(0.0001, 0.001))


def _day(at: Micros) -> str:
    return to_iso(at)[:10]


# Building a path takes longer than opening the file, and the same few files are written repeatedly.
@lru_cache(maxsize=4096)
def _file(root: Path, user: str, timeline_id: str, day: str) -> Path:
    return root / user / "mem" / file_name(timeline_id) / "events" / f"{day}.jsonl"


def file_name(timeline_id: str) -> str:
    """Return a unique and safe folder name of a timeline, also for file systems that ignore case.

    A name that is too long or has capitals ends in a tilde and a checksum; other names have no tilde.
    """
    name = re.sub(rb"[^A-Za-z0-9_-]", lambda found: b"%%%02x" % found[0][0], timeline_id.encode()).decode()
    if len(name) <= _MAX_NAME and name == name.lower():
        return name
    return f"{name[:_MAX_NAME]}~{hashlib.blake2b(timeline_id.encode(), digest_size=10).hexdigest()}"


def _remove_tree(folder: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _remove_empty_folders(folder: Path) -> None:
    for path, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):  # it is not empty
            os.rmdir(path)
