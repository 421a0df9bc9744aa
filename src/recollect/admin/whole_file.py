"""A file that is there with all of its bytes or not at all, also when its writer is killed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from recollect.errors import InvalidInput


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a new file, for its owner alone. It has its name from the end of the block on, when it is on the disk."""
    with _told(path):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        # In the same folder, since a name can only be given within a file system.
        handle, name = tempfile.mkstemp(prefix=".unfinished-", dir=path.parent)
    unfinished = Path(name)
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _told(path):
            _place(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _place(unfinished: Path, path: Path) -> None:
    try:
        # Unlike renaming, this fails where somebody else has put a file meanwhile.
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems know no second name of a file.
        unfinished.rename(path)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be made: {error.strerror}.") from error
