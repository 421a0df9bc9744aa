"""The recorded workload on a SQLite that forgets something, for real: bugs that the proof has to catch."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from prove.power_loss import workload
from prove.power_loss.layer import ClosableFile

_layers: list[apsw.VFS] = []


def main(tell: Callable[[str], None], folder: str, forgets: str, *arguments: str) -> None:
    if forgets == "every sync":
        apsw.connection_hooks.append(_never_waits)
    else:
        assert forgets == "the sync of a checkpoint"
        _layers.append(_Careless(apsw.vfs_names()[0]))
    workload.main(tell, folder, *arguments)


def _never_waits(connection: apsw.Connection) -> None:
    connection.execute("PRAGMA synchronous = OFF")
    asked = (apsw.SQLITE_PRAGMA, "synchronous")
    # The engine asks for more, in vain.
    connection.authorizer = lambda *what: apsw.SQLITE_IGNORE if what[:2] == asked else apsw.SQLITE_OK


class _Careless(apsw.VFS):
    """Above the layer that is there, and also above one that records."""

    def __init__(self, base: str) -> None:
        super().__init__("careless", base, makedefault=True)
        self._base = base

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        kind = _Unsynced if flags[0] & apsw.SQLITE_OPEN_MAIN_DB else ClosableFile
        return kind(self._base, name, flags)


class _Unsynced(ClosableFile):
    def xSync(self, flags: int) -> None:
        """Say that it is done."""
