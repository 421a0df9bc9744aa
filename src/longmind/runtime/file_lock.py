"""A lock that one process of a machine holds at a time, and one thread in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # only POSIX has these locks
    fcntl = None  # type: ignore[assignment]

_PAUSE_SECONDS = 0.05


@contextmanager
def hold_file_lock(path: Path, patience_seconds: float) -> Iterator[bool]:
    """Hold the lock of a file; yield False if another process has held it for too long.

    The lock ends with the process at the latest. Raises OSError if the file cannot be opened.
    """
    with path.open("ab") as file:
        held = _wait_for_lock(file, time.monotonic() + patience_seconds)
        try:
            yield held
        finally:
            if held:
                _unlock(file)


def _wait_for_lock(file: BinaryIO, deadline: float) -> bool:
    """Lock a file as soon as no one else has it locked; return False if the deadline passes."""
    while True:
        with suppress(BlockingIOError, PermissionError):
            _lock(file)
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_SECONDS)


def _lock(file: BinaryIO) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt

    file.seek(0)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


def _unlock(file: BinaryIO) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_UN)
        return
    import msvcrt

    file.seek(0)
    msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
