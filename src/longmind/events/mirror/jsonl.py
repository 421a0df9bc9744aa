"""Files of JSON lines: what can be read in them, and adding lines without joining one that was torn."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from longmind.runtime.durable_files import make_private_folder

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})
"""What JSON may hold as it is, and many readers take for the end of a line."""


def encode_line(event: Mapping[str, Any]) -> bytes:
    written = _encode(event)
    # Most of what is written has none, and then there is nothing to look for.
    return f"{written if written.isascii() else written.translate(_LINE_ENDS)}\n".encode()


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The event of a line; None for one that is no event, such as one whose writer died in the middle of it."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(event, dict) and isinstance(event.get("position"), int) and isinstance(event.get("ts"), str)
    return event if whole else None


def read_jsonl(files: Iterable[Path]) -> list[dict[str, Any]]:
    """The events of some files of one user, in the order in which they happened, each once.

    Lines of processes that write at once may stand in another order, and a rebuild that was killed leaves doubles.
    """
    events = {event["position"]: event for file in files for event in _events_in(file)}
    return sorted(events.values(), key=itemgetter("ts", "position"))


def _events_in(file: Path) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        for line in lines:
            event = decode_line(line)
            if event is not None:
                yield event


def lines_after(file: Path, size: int, position: int) -> list[bytes]:
    """The lines beyond the first so many bytes whose events have a higher position than this."""
    with file.open("rb") as lines:
        lines.seek(size)
        found = [(line, decode_line(line)) for line in lines]
    return [line for line, event in found if event is not None and event["position"] > position]


def append_lines(file: Path, lines: bytes, *, sync: bool = False) -> None:
    """Add whole lines at the end, all or none of them. Whoever calls this holds the lock on the file."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        # Whoever wants the names to last syncs them: the file may have been made before, by one who did not.
        make_private_folder(file.parent, lasting=False)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        _write_all(descriptor, b"\n" + lines if torn else lines, size)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, rest: bytes, size: int) -> None:
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        # A full disk takes some of it. Half a line would be no harm, but half of a transaction is better none.
        os.ftruncate(descriptor, size)
        raise
