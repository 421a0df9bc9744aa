"""Files and their names on a disk that may lose its power, or be full.

What was written to a file is certain once the file was synced. Its name is not: that is kept by the folder, and is
certain once the folder was synced, and so for each folder above that is as new.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from longmind.errors import StoreError, StoreFull, StoreReadOnly, StoreUnavailable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}


def translate_disk_error(error: OSError, path: Path | str) -> StoreError:
    """Put the system's words about a file into ours."""
    words = error.strerror or str(error)
    if error.errno in _FULL:
        return StoreFull(f"There is no room left to write {path} ({words}).")
    if error.errno in _READ_ONLY:
        return StoreReadOnly(f"{path} cannot be written ({words}).")
    if error.errno in _NO_DESCRIPTORS:
        return StoreUnavailable(
            f"{path} cannot be opened: this process has as many files open as it may ({words}).",
            hint="Raise the limit of open files (ulimit -n), or let fewer requests in at a time.",
        )
    return StoreError(f"The disk failed on {path} ({words}).", hint="Look at the system's log, and check the disk.")


def sync_file(path: Path) -> None:
    """Make what was written to a file survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where folders can be synced and this one may be opened."""
    # Not all systems and file systems can, and who may make a name in a folder may still not be allowed to list it.
    with suppress(OSError):
        sync_file(folder)


def make_private_folder(folder: Path, *, lasting: bool = True) -> None:
    """Make a folder, and those above it that are missing, for its owner alone; unless told otherwise, for good."""
    # Path.mkdir would give the ones above the rights of everybody.
    if not folder.is_dir():
        make_private_folder(folder.parent, lasting=lasting)
        folder.mkdir(mode=0o700, exist_ok=True)
        if lasting:
            sync_names(folder.parent)


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that is not there yet, for its owner alone.

    It has its name from the end of the block on, when it is whole and on the disk, also when its writer is killed.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    with _unfinished(path) as (unfinished, file):
        yield file
        _finish(file)
        try:
            # Unlike renaming, this fails where somebody else has put a file meanwhile.
            os.link(unfinished, path)
        except FileExistsError:
            raise
        except OSError:
            # Some file systems know no second name of a file.
            unfinished.rename(path)
    sync_names(path.absolute().parent)


@contextmanager
def replaced_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that may be there already: the old one stays until the new one is whole."""
    if path.exists() and not path.is_file():
        # A terminal or a pipe has nothing that could stay.
        with path.open("wb") as file:
            yield file
        return
    # What a link leads to is meant, not the link.
    path = path.resolve()
    with _unfinished(path) as (unfinished, file):
        yield file
        _finish(file)
        unfinished.replace(path)
    sync_names(path.parent)


@contextmanager
def _unfinished(path: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    # In the same folder, since a name can only be given within a file system.
    descriptor, name = tempfile.mkstemp(prefix=".unfinished-", dir=path.parent)
    try:
        with open(descriptor, "w+b") as file:
            yield Path(name), file
    finally:
        Path(name).unlink(missing_ok=True)


def _finish(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
