"""The file, the folder or the ZIP archive that an import reads.

Products export a single file, a folder of many, or an archive with one or more of them in it. A reader sees the same in
all three cases: named parts, in a fixed order. Archives are read in place, so they need no room on the disk.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import IO

from longmind.errors import InvalidInput, LimitExceeded
from longmind.interchange.json_stream import JsonValue, read_values

MOST_FILES = 100_000
LARGEST_FILE = 8 * 1024**3
"""Bytes of one file, unpacked."""
_MOST_PACKED = 200
"""A file of an archive may unpack to this many times its size: JSON shrinks to a tenth, a bomb to a thousandth."""
_SMALL = 1024 * 1024
SQLITE_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True)
class SourcePart:
    """One file of a source."""

    name: str
    path: Path
    member: str | None = None
    """Its name in the archive at `path`."""

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file for reading."""
        try:
            if self.member is None:
                with self.path.open("rb") as file:
                    yield file
            else:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as packed:
                    yield packed
        except zipfile.BadZipFile as error:
            raise InvalidInput(f"{self.path.name} is a damaged ZIP archive: {error}.") from error
        except OSError as error:
            raise _make_read_error(self.path, error) from error

    def read_values(self) -> Iterator[JsonValue]:
        """Yield the JSON values of the file, with their places."""
        with self.open() as file:
            yield from read_values(file, self.name)

    def read_beginning(self, size: int = 4096) -> bytes:
        """Return the first bytes of the file."""
        with self.open() as file:
            return file.read(size)

    @property
    def is_sqlite(self) -> bool:
        """True for an SQLite file."""
        return self.member is None and self.read_beginning(16) == SQLITE_MAGIC


class SourceFiles:
    """The parts of a source in the order in which they are read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        if not self.path.exists():
            raise InvalidInput(f"There is no file or folder at {self.path}.", hint="Check the path.")
        self.is_folder = self.path.is_dir()
        self.is_archive = not self.is_folder and _is_archive(self.path)
        # Listed once, so that a file that is added during an import is read by the next one.
        self.parts = self._list_parts()

    @property
    def name(self) -> str:
        """The name of the file, the folder or the archive."""
        return self.path.name

    def choose(self, patterns: tuple[str, ...]) -> SourceFiles:
        """Return this source with the parts alone that match a pattern; a single file always does."""
        # A single file is read under any name: people rename what they download.
        if self.is_folder or self.is_archive:
            self.parts = [part for part in self.parts if any(fnmatch(_last(part.name), each) for each in patterns)]
            if not self.parts:
                raise InvalidInput(
                    f"{self.name} holds no file called {' or '.join(patterns)}.",
                    hint="Pass the archive or the folder as it was exported, or the file itself.",
                )
        return self

    def _list_parts(self) -> list[SourcePart]:
        """Return the files of a folder or of an archive, or the file itself."""
        if self.is_archive:
            return self._list_members()
        if not self.is_folder:
            return [SourcePart(self.path.name, self.path)]
        found = []
        for each in sorted(self.path.rglob("*")):
            inner = each.relative_to(self.path)
            # Folders such as .git and .obsidian hold nothing that a person has written.
            if any(part.startswith(".") for part in inner.parts) or each.is_symlink() or not each.is_file():
                continue
            found.append(SourcePart(inner.as_posix(), each))
            _refuse_too_many(self.name, len(found))
        return found

    def _list_members(self) -> list[SourcePart]:
        """Return the files of an archive; raise InvalidInput for a damaged one."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise InvalidInput(f"{self.name} is a damaged ZIP archive: {error}.", hint="Download it again.") from error
        _refuse_too_many(self.name, len(entries))
        for entry in entries:
            _refuse_bomb(self.name, entry)
        return [SourcePart(entry.filename, self.path, entry.filename) for entry in entries]


def _is_archive(path: Path) -> bool:
    """Return whether a file is a ZIP archive, whatever its name."""
    try:
        return zipfile.is_zipfile(path)
    except OSError as error:
        raise _make_read_error(path, error) from error


def _refuse_too_many(name: str, count: int) -> None:
    """Raise LimitExceeded for more files than an export has."""
    if count > MOST_FILES:
        raise LimitExceeded(f"Files in {name}", limit=MOST_FILES, given=count, unit="at a time")


def _refuse_bomb(name: str, entry: zipfile.ZipInfo) -> None:
    """Raise InvalidInput for a packed file that is encrypted, or would become larger than any export."""
    # The first bit says that it is encrypted.
    if entry.flag_bits & 0x1:
        raise InvalidInput(f"{entry.filename} in {name} is encrypted.", hint="Unpack the archive, and pass the folder.")
    if entry.file_size > LARGEST_FILE or (
        entry.file_size > _SMALL and entry.file_size > _MOST_PACKED * entry.compress_size
    ):
        raise InvalidInput(
            f"{entry.filename} in {name} would expand from {entry.compress_size:,} to {entry.file_size:,} bytes.",
            hint="Unpack the archive yourself if you trust it, and pass the folder.",
        )


def _make_read_error(path: Path, error: OSError) -> InvalidInput:
    """Return the error about a file that the system does not let be read."""
    return InvalidInput(f"{path} cannot be read: {error.strerror}.", hint="Check the path and its permissions.")


def _last(name: str) -> str:
    """Return the last part of a path."""
    return name.rpartition("/")[2]
