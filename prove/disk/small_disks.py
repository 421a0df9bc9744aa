"""Small disks that are filled, broken off and given room again. They are real ones, so they take root's rights."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PIECE = 64 * 1024
_AT_LAST = 16 * _PIECE
BALLAST = "ballast"
"""The file that takes the room."""


def find_obstacle() -> str | None:
    """Return why this machine cannot mount small disks; None when it can."""
    if os.geteuid() != 0:
        return "only root may mount a small disk"
    if shutil.which("mount") is None:
        return "the command mount is not there"
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(["mount", "-t", "tmpfs", "none", folder], capture_output=True, text=True)
        if tried.returncode:
            return f"a small disk cannot be mounted: {tried.stderr.strip()}"
        subprocess.run(["umount", folder], check=True)
    return None


def find_breakable_obstacle() -> str | None:
    """Return why this machine cannot mount disks that break; None when it can."""
    if shutil.which("mkfs.ext4") is None:
        return "the command mkfs.ext4 is not there"
    with tempfile.TemporaryDirectory() as folder:
        try:
            with breakable_disk(Path(folder) / "disk.ext4", megabytes=4):
                return None
        except subprocess.CalledProcessError as error:
            return f"a disk in a file cannot be mounted: {(error.stderr or b'').decode().strip()}"


class SmallDisk:
    """A small disk, and what is put on it to fill it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / BALLAST

    @property
    def free(self) -> int:
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def fill(self, leave: int = 0) -> None:
        """Fill the disk except for `leave` bytes."""
        with self._ballast.open("ab", buffering=0) as ballast, suppress(OSError):
            # Most of it at once, and the rest in pieces, since a disk needs some of its room for itself.
            with suppress(OSError):
                os.posix_fallocate(ballast.fileno(), 0, max(1, ballast.tell() + self.free - leave - _AT_LAST))
                ballast.seek(0, os.SEEK_END)
            while self.free > leave:
                ballast.write(bytes(min(_PIECE, self.free - leave)))

    def make_room(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def settle(self) -> None:
        """Write everything to the disk."""
        subprocess.run(["sync", "--file-system", str(self.folder)], check=True)

    def read_only(self) -> None:
        """Remount it read-only, which fails while a file is open for writing."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True, capture_output=True)

    def break_off(self) -> None:
        """Have the file system go read-only in the middle of everything, as ext4 does after a fault of the disk."""
        subprocess.run(["mount", "-o", "remount,abort", str(self.folder)], check=True, capture_output=True)


@contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    """A disk in memory of this size, gone at the end of the block."""
    with _mounted("-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "none") as folder:
        yield SmallDisk(folder)


@contextmanager
def breakable_disk(file: Path, megabytes: int = 64, at: Path | None = None) -> Iterator[SmallDisk]:
    """An ext4 disk in a file that stays, so that it can be mounted again, also in the same place."""
    if not file.exists():
        with file.open("wb") as image:
            image.truncate(megabytes * 1024 * 1024)
        subprocess.run(["mkfs.ext4", "-q", str(file)], check=True, capture_output=True)
    with _mounted("-o", "loop", str(file), at=at) as folder:
        yield SmallDisk(folder)


@contextmanager
def _mounted(*how: str, at: Path | None = None) -> Iterator[Path]:
    # A short name, since sockets are put there; and everybody may pass, since PostgreSQL does not run as root.
    folder = at or Path(tempfile.mkdtemp(prefix="disk-", dir="/tmp"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    try:
        subprocess.run(["mount", *how, str(folder)], check=True, capture_output=True)
        try:
            yield folder
        finally:
            # Lazily, if somebody still has a file open: it goes when he does.
            if subprocess.run(["umount", str(folder)], capture_output=True).returncode:
                subprocess.run(["umount", "-l", str(folder)], check=True)
    finally:
        folder.rmdir()
