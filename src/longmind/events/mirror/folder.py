"""Where the files of the mirror are, and the locks that keep processes apart in them.

    <folder>/<user>/mem/<timeline>/events/2026-03-01.jsonl   the events of a timeline and a day, in UTC
    <folder>/.locks/<user>           held by who appends; in it, up to which place files are complete
    <folder>/.locks/<user>.rebuild   held by who writes the files anew, or removes them
    <folder>/.new/<user>             what a rebuild that is under way has written

A user is named by the key of the scope, which is made from tenant, app and user: it is nobody else's, and it does not
say who it is when the files are gone.
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
except ImportError:  # no such locks outside of POSIX
    fcntl = None  # type: ignore[assignment]

_LONGEST_NAME = 150
"""File systems take 255 bytes."""
_DIGITS = 20
_PATIENCE_SECONDS = 30.0
_FILES = "mem/*/events/*.jsonl"
_USER = re.compile(r"[a-z2-7]{24}")


class Gate:
    """The lock of one user's files, while it is held."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def through(self) -> int:
        """The place in the ledger up to which nobody may append any more: a rebuild has dealt with all before it."""
        noted = os.pread(self._descriptor, _DIGITS, 0)
        # A power cut may leave anything behind.
        return int(noted) if noted.isdigit() else 0

    @through.setter
    def through(self, position: int) -> None:
        # Always as long, so that one write replaces it whole.
        os.pwrite(self._descriptor, f"{position:0{_DIGITS}}".encode(), 0)

    @property
    def noted_at(self) -> float:
        """When that was noted last, in seconds since 1970."""
        return os.fstat(self._descriptor).st_mtime


class MirrorFolder:
    def __init__(self, root: Path) -> None:
        if fcntl is None:
            raise InvalidInput("events_jsonl_dir needs file locks that this system does not have.")
        self.root = root.expanduser().absolute()
        self._new = self.root / ".new"
        self._locks = self.root / ".locks"

    def file(self, user: str, timeline_id: str, at: Micros) -> Path:
        return _file(self.root, user, timeline_id, _day(at))

    def new_file(self, user: str, timeline_id: str, at: Micros) -> Path:
        return _file(self._new, user, timeline_id, _day(at))

    def new_twin(self, user: str, file: Path) -> Path:
        """What is to take the place of a user's file."""
        return self._new / user / file.relative_to(self.root / user)

    def files(self, user: str, timeline_id: str | None = None) -> list[Path]:
        """All files of a user, or of one timeline, by day."""
        pattern = _FILES if timeline_id is None else f"mem/{file_name(timeline_id)}/events/*.jsonl"
        return sorted((self.root / user).glob(pattern))

    def users(self) -> list[str]:
        """Whoever has files."""
        return sorted(each.parent.name for each in self.root.glob("*/mem") if _USER.fullmatch(each.parent.name))

    @contextmanager
    def locked(self, user: str, patience_seconds: float = _PATIENCE_SECONDS) -> Iterator[Gate]:
        """Keep everybody else, threads of this process included, from this user's files; TimeoutError if one has them.

        Nobody holds them for longer than it takes to append, or to rename some files, unless he was stopped.
        """
        with self._lock(user, patience_seconds) as descriptor:
            yield Gate(descriptor)

    @contextmanager
    def rebuilding(self, user: str) -> Iterator[None]:
        """Be the only one who rebuilds or forgets a user's files, beginning with nothing new, and leaving nothing."""
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
            _take(descriptor, patience_seconds)
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
        for file in self._new_files(user):
            sync_file(file)

    def sync_names_of(self, files: Iterable[Path]) -> None:
        """Make the names of files last, and those of the folders they are in. Files that are gone count too."""
        for folder in dict.fromkeys(above for file in files for above in file.parents):
            if folder.is_relative_to(self.root) and folder.is_dir():
                sync_names(folder)

    def put_new_in_place(self, user: str, *, lasting: bool) -> int:
        """Replace a user's files, each at once, by the new ones; those that have no new one go. Tells how many."""
        new, old = self._new / user, self.root / user
        made = [(each, old / each.relative_to(new)) for each in self._new_files(user)]
        for source, target in made:
            make_private_folder(target.parent, lasting=lasting)
            os.replace(source, target)
        gone = set(self.files(user)) - {target for _, target in made}
        for file in gone:
            file.unlink()
        _remove_empty_folders(old)
        if lasting:
            # Else the old files would be back after a power cut, without the lines that were added to the new ones.
            self.sync_names_of([*(target for _, target in made), *gone])
        return len(made)

    def _new_files(self, user: str) -> list[Path]:
        return list((self._new / user).glob(_FILES))

    def remove(self, user: str) -> None:
        _remove_tree(self.root / user)
        # What is to be forgotten must not be back after a power cut.
        if self.root.is_dir():
            sync_names(self.root)

    def _clear_new(self, user: str) -> None:
        _remove_tree(self._new / user)


def _take(descriptor: int, patience_seconds: float) -> None:
    deadline = time.monotonic() + patience_seconds
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, "Somebody holds the lock on the files for too long")
        time.sleep(random.uniform(0.0001, 0.001))


def _day(at: Micros) -> str:
    return to_iso(at)[:10]


# The same few files are written again and again, and to put a path together takes longer than to open it.
@lru_cache(maxsize=4096)
def _file(root: Path, user: str, timeline_id: str, day: str) -> Path:
    return root / user / "mem" / file_name(timeline_id) / "events" / f"{day}.jsonl"


def file_name(timeline_id: str) -> str:
    """A name for a folder that is the timeline's alone, also where case makes no difference, and leads nowhere else.

    Names that are too long, or have capitals, end in a checksum after a tilde, which no other name has.
    """
    name = re.sub(rb"[^A-Za-z0-9_-]", lambda found: b"%%%02x" % found[0][0], timeline_id.encode()).decode()
    if len(name) <= _LONGEST_NAME and name == name.lower():
        return name
    return f"{name[:_LONGEST_NAME]}~{hashlib.blake2b(timeline_id.encode(), digest_size=10).hexdigest()}"


def _remove_tree(folder: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _remove_empty_folders(folder: Path) -> None:
    for path, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):  # it is not empty
            os.rmdir(path)
