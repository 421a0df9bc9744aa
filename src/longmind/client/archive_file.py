"""An export archive that a server has sent, in a file that is complete or not there.

The archive is looked through once it has arrived: one that is damaged is an error, and leaves no file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from longmind.admin.user_export import new_export_file
from longmind.client.server_connection import PreparedRequest
from longmind.errors import ServerFailed

ARCHIVE_REQUEST = PreparedRequest("POST", "/ai-admin/export-archive", body={}, repeatable=True)


@contextmanager
def open_archive(path: str | Path, lines: dict[str, int]) -> Iterator[IO[bytes]]:
    """Open a new file for an archive. After the block, `lines` has the number of lines of each file in it."""
    with new_export_file(Path(path)) as file:
        yield file
        file.flush()
        lines |= _count_lines(file)


def _count_lines(file: IO[bytes]) -> dict[str, int]:
    try:
        with zipfile.ZipFile(file) as archive:
            return {name: _count(archive, name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError):
        raise ServerFailed("The archive that the server sent is damaged.", hint="Try again.") from None


def _count(archive: zipfile.ZipFile, name: str) -> int:
    with archive.open(name) as member:
        return sum(1 for _ in member)
