"""A reader of strace's log, which finds the file and the steps of each call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prove.power_loss.notes import CannotRecord, FileRecording, Notes
from prove.power_loss.steps import Sync, Truncate, Write

UNKNOWN_CALLS = (
    *("writev", "pwritev", "pwritev2", "fallocate", "sync_file_range", "sync", "syncfs"),
    *("symlink", "symlinkat", "copy_file_range", "sendfile"),
)
"""Calls that change files in ways that are not followed; one of them ends the recording."""
_LINE = re.compile(r"^\d+\s+(\w+)\((.*)\)\s+= (-?\d+)")
_UNFINISHED = re.compile(r"^(\d+)\s+(\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+)\s+<\.\.\. \w+ resumed>(.*)$")


def read_trace(lines: Iterable[str], folder: str) -> FileRecording:
    """Return the steps below a folder from a log of `strace -f -xx`, of one process and its threads."""
    reader = _TraceReader(folder)
    for line in _whole(lines):
        if found := _LINE.match(line):
            reader.read(found[1], found[2].split(", "), int(found[3]))
    return reader.notes.recording


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Yield complete calls: those interrupted by other threads are joined, and count from their end."""
    begun: dict[str, str] = {}
    for line in lines:
        line = line.rstrip("\n")
        if half := _UNFINISHED.match(line):
            begun[half[1]] = half[2]
        elif half := _RESUMED.match(line):
            yield f"{half[1]} {begun.pop(half[1])}{half[2]}"
        else:
            yield line


@dataclass
class _Descriptor:
    number: int
    path: str
    appends: bool
    at: int = 0


class _TraceReader:
    """A reader that follows descriptors and names, to find the file of each step."""

    def __init__(self, folder: str) -> None:
        self.notes = Notes(folder)
        self._sizes: dict[int, int] = {}
        self._descriptors: dict[int, _Descriptor] = {}

    def read(self, call: str, arguments: list[str], result: int) -> None:
        if result < 0:
            return
        match call:
            case "open" | "openat" | "creat":
                self._open(arguments, result)
            case "mkdir" | "mkdirat":
                if path := self._path(arguments):
                    self.notes.make_folder(path)
            case "unlink" | "unlinkat" | "rmdir":
                if path := self._path(arguments):
                    self.notes.rename((path, None))
            case "rename" | "renameat" | "renameat2" | "link" | "linkat":
                self._move(call, arguments)
            case "truncate":
                if path := self._path(arguments):
                    self._truncate(self.notes.names[path], path, int(arguments[-1]))
            case _ if (file := self._file(arguments[0])) is not None:
                self._with_file(call, file, arguments, result)
            case "sync" | "syncfs":
                raise CannotRecord(f"{call} was called, which is not followed.")

    def _with_file(self, call: str, file: _Descriptor, arguments: list[str], result: int) -> None:
        match call:
            case "close":
                del self._descriptors[int(arguments[0])]
            case "lseek":
                file.at = result
            case "write":
                at = self._sizes.get(file.number, 0) if file.appends else file.at
                self._write(file, at, _bytes(arguments[1])[:result])
                file.at = at + result
            case "pwrite64":
                self._write(file, int(arguments[-1]), _bytes(arguments[1])[:result])
            case "ftruncate":
                self._truncate(file.number, file.path, int(arguments[-1]))
            case "fsync" | "fdatasync":
                self.notes.note(Sync(file.number), file.path)
            case _:
                raise CannotRecord(f"{call} was called, which is not followed.")

    # --- steps -------------------------------------------------------------------------------

    def _open(self, arguments: list[str], descriptor: int) -> None:
        path = self._path(arguments)
        # A reused descriptor no longer stands for its former file.
        self._descriptors.pop(descriptor, None)
        if path is None:
            return
        flags = next((each for each in arguments if each.startswith("O_")), "").split("|")
        number = self.notes.names[path] if path in self.notes.names else self.notes.make(path)
        if "O_TRUNC" in flags and self._sizes.get(number):
            self._truncate(number, path, 0)
        self._descriptors[descriptor] = _Descriptor(number, path, "O_APPEND" in flags)

    def _move(self, call: str, arguments: list[str]) -> None:
        pairs = [arguments[:2], arguments[2:4]] if call.endswith(("at", "at2")) else [arguments[:1], arguments[1:2]]
        source, target = (self._path(pair) for pair in pairs)
        if source is None or target is None:
            if source or target:
                raise CannotRecord(f"{call} went beyond the folder.")
        elif call.startswith("link"):
            self.notes.rename((target, self.notes.names[source]))
        else:
            self.notes.move(source, target)

    def _write(self, file: _Descriptor, at: int, content: bytes) -> None:
        self._sizes[file.number] = max(self._sizes.get(file.number, 0), at + len(content))
        if self.notes.is_told(file.path):
            self.notes.tell(content.decode())
        else:
            self.notes.note(Write(file.number, at, content), file.path)

    def _truncate(self, number: int, path: str, size: int) -> None:
        self._sizes[number] = size
        self.notes.note(Truncate(number, size), path)

    # --- arguments ---------------------------------------------------------------------------

    def _file(self, argument: str) -> _Descriptor | None:
        return self._descriptors.get(int(argument)) if argument.isdigit() else None

    def _path(self, arguments: list[str]) -> str | None:
        """Return the path in a call, absolute or relative to an open folder; None if it is elsewhere."""
        text = next(each for each in arguments if each.startswith('"'))
        path = _bytes(text).decode(errors="surrogateescape")
        if not path.startswith("/"):
            above = self._file(arguments[0])
            if above is None:
                return None
            path = f"{above.path}/{path}"
        return path if self.notes.is_below(path) else None


def _bytes(text: str) -> bytes:
    if not text.endswith('"'):
        raise CannotRecord("A write was too long to be recorded.")
    return bytes.fromhex(text[1:-1].replace("\\x", ""))
