"""Files that survive a power cut, and errors of the disk in our words.

The content of a file is durable once the file was synced. Its name is part of the folder, and is durable once the
folder was synced; the same holds for each new folder above it.
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
    """Return the error of ours for an error of the system about a file."""
    words = error.strerror or str(error)
    if error.errno in _FULL:
        return StoreFull(f"The disk has no room left for {path} ({words}).")
    if error.errno in _READ_ONLY:
        return StoreReadOnly(f"{path} cannot be written ({words}).")
    if error.errno in _NO_DESCRIPTORS:
        return StoreUnavailable(
            f"{path} cannot be opened: this process has reached its limit of open files ({words}).",
            hint="Raise the limit of open files (ulimit -n), or accept fewer requests at a time.",
        )
    return StoreError(f"The disk failed on {path} ({words}).", hint="Check the disk and the log of the system.")


def sync_file(path: Path) -> None:
    """Make the content of a file survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path) -> None:
    """Make the names in a folder survive a power cut, if the system and the folder's rights allow it."""
    # Not all systems can sync a folder, and the right to create files in one does not include the right to open it.
    with suppress(OSError):
        sync_file(folder)


def make_private_folder(folder: Path, *, lasting: bool = True) -> None:
    """Create a folder and its missing parents, for their owner alone; `lasting` makes their names durable."""
    # Path.mkdir(parents=True) would give the parents default rights.
    if not folder.is_dir():
        make_private_folder(folder.parent, lasting=lasting)
        folder.mkdir(mode=0o700, exist_ok=True)
        if lasting:
            sync_names(folder.parent)


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a new file, readable by its owner alone; raise FileExistsError if there is one.

    The file gets its name at the end of the block, when it is complete and on the disk. A writer that is killed leaves
    nothing under that name.
    """
    with new_file_path(path) as (_, file):
        yield file


@contextmanager
def new_file_path(path: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Write a new file like `new_file`, also by the path that it has until it is complete."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    with _unfinished(path) as (unfinished, file):
        yield unfinished, file
        _finish(file)
        try:
            # Unlike renaming, this fails if another process has created the file in between.
            os.link(unfinished, path)
        except FileExistsError:
            raise
        except OSError:
            # Some file systems have no hard links.
            unfinished.rename(path)
    sync_names(path.absolute().parent)


@contextmanager
def replaced_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that may exist already: the old one stays until the new one is complete."""
    if path.exists() and not path.is_file():
        # A terminal or a pipe has no old content to keep.
        with path.open("wb") as file:
            yield file
        return
    # Replaces the target of a link, not the link.
    path = path.resolve()
    with _unfinished(path) as (unfinished, file):
        yield file
        _finish(file)
        unfinished.replace(path)
    sync_names(path.parent)


@contextmanager
def _unfinished(path: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    # In the same folder, since renaming works only within a file system.
    descriptor, name = tempfile.mkstemp(prefix=".unfinished-", dir=path.parent)
    try:
        with open(descriptor, "w+b") as file:
            yield Path(name), file
    finally:
        Path(name).unlink(missing_ok=True)


def _finish(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
