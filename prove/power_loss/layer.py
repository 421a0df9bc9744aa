"""A layer between SQLite and the operating system that notes every write, sync and change of a name.

which nobody needs after a loss of power and which is not noted.
It is SQLite's default layer in the recorded process, so that an ordinary engine uses it. Everything that SQLite writes
passes through it, except the memory-mapped index of the WAL file, which is not needed after a loss of power.
which nobody needs after a loss of power and which is not noted.
"""

from __future__ import annotations

import os
import threading

import apsw

from prove.power_loss.notes import CannotRecord, Notes
from prove.power_loss.steps import Sync, Truncate, Write

BASE = "unix"
"""The layer of SQLite that this one delegates to, and whose syncs of folders it follows."""
_SYNCED_WITH_THEIR_FOLDER = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL


def find_layer_obstacle() -> str | None:
    """Return why the layer cannot record on this machine; None when it can."""
    return None if BASE in apsw.vfs_names() else "SQLite has other files here than those of Unix"


class Layer(apsw.VFS):
    """A layer that notes the steps of every connection of SQLite below a folder."""

    def __init__(self, folder: str) -> None:
        super().__init__("recording", BASE, makedefault=True, maxpathname=0)
        self.notes = Notes(folder)
        # A step is done and noted before the next begins, so that the notes have the order of what was done.
        self.one_step = threading.Lock()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or not self.notes.is_below(path):
            return ClosableFile(BASE, name, flags)
        with self.one_step:
            is_new = path not in self.notes.names
            if is_new and os.path.exists(path) and os.path.getsize(path):
                raise CannotRecord(f"{path} was written by others than SQLite, or before.")
            file = _File(self, name, path, flags)
            if is_new:
                self.notes.make_lasting_folders(path)
                self.notes.make(path)
            file.number = self.notes.names[path]
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with self.one_step:
            super().xDelete(filename, syncdir)
            if filename in self.notes.names:
                self.notes.rename((filename, None))
                if syncdir:
                    self.notes.sync_folder_of(filename)


class ClosableFile(apsw.VFSFile):
    """A file whose closing does not fail for errors that SQLite ignores."""

    def xLock(self, level: int) -> None:
        try:
            super().xLock(level)
        except apsw.IOError as error:
            # The last to close a file tries to hold it alone, in vain where it may only be read. SQLite takes every
            # error for a no and goes on; apsw would raise this one afterwards, and not that it is busy.
            raise apsw.BusyError(str(error)) from error


class _File(ClosableFile):
    number = -1

    def __init__(self, layer: Layer, name: str | apsw.URIFilename | None, path: str, flags: list[int]) -> None:
        super().__init__(BASE, name, flags)
        self._layer = layer
        self._path = path
        # A journal whose name is lost would be no journal: the first sync of one that may be new is one of its folder.
        self._with_folder = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _SYNCED_WITH_THEIR_FOLDER)

    def xWrite(self, data: bytes, offset: int) -> None:
        with self._layer.one_step:
            super().xWrite(data, offset)
            self._layer.notes.note(Write(self.number, offset, bytes(data)), self._path)

    def xTruncate(self, newsize: int) -> None:
        with self._layer.one_step:
            super().xTruncate(newsize)
            self._layer.notes.note(Truncate(self.number, newsize), self._path)

    def xSync(self, flags: int) -> None:
        with self._layer.one_step:
            super().xSync(flags)
            self._layer.notes.note(Sync(self.number), self._path)
            if self._with_folder:
                self._layer.notes.sync_folder_of(self._path)
                self._with_folder = False
