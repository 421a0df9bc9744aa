"""Files of JSON lines: encoding, reading, and appending whole lines.

A reader must expect a torn last line, lines out of order, and doubles. An append never continues a torn line.
"""

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
"""Characters that JSON allows unescaped, but that many readers take for the end of a line."""


def encode_line(event: Mapping[str, Any]) -> bytes:
    """Return an event as one line of JSON."""
    encoded = _encode(event)
    # ASCII text has none of these characters, and needs no translation.
    return f"{encoded if encoded.isascii() else encoded.translate(_LINE_ENDS)}\n".encode()


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line; None for one that is no event, such as a line whose writer died while writing it."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_event = isinstance(event, dict) and isinstance(event.get("position"), int) and isinstance(event.get("ts"), str)
    return event if is_event else None


def read_jsonl(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the events of files of one user, by time, each once.

    Lines of concurrent writers may be in another order, and a rebuild that was killed leaves doubles.
    """
    events = {event["position"]: event for file in files for event in _events_in(file)}
    return sorted(events.values(), key=itemgetter("ts", "position"))


def _events_in(file: Path) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        for line in lines:
            event = decode_line(line)
            if event is not None:
                yield event


def read_lines_after(file: Path, size: int, position: int) -> list[bytes]:
    """Return the lines after the first `size` bytes whose events have a higher position than this one."""
    with file.open("rb") as lines:
        lines.seek(size)
        decoded = [(line, decode_line(line)) for line in lines]
    return [line for line, event in decoded if event is not None and event["position"] > position]


def append_lines(file: Path, lines: bytes, *, sync: bool = False) -> None:
    """Append whole lines, all or none of them. The caller holds the lock on the file."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        # A caller that needs the name to last syncs the folder: another process may have made the file without a sync.
        make_private_folder(file.parent, lasting=False)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        _write_all(descriptor, b"\n" + lines if is_torn else lines, size)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, rest: bytes, size: int) -> None:
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        # A full disk takes a part. A torn line is harmless, but a part of a transaction would look like the whole.
        os.ftruncate(descriptor, size)
        raise
