"""Decoder of MessagePack, as LangGraph stores the state of a thread.

Objects are stored as extensions that name a class and its fields. They are read as plain dicts of the fields: nothing
is imported or called, so a file from elsewhere cannot make this program run anything.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

_DEEPEST = 100
_PYDANTIC_V1, _PYDANTIC_V2 = 4, 5
_MOST_CODE = 7
_FIXED: dict[int, tuple[str, int]] = {
    0xCA: (">f", 4),
    0xCB: (">d", 8),
    0xCC: (">B", 1),
    0xCD: (">H", 2),
    0xCE: (">I", 4),
    0xCF: (">Q", 8),
    0xD0: (">b", 1),
    0xD1: (">h", 2),
    0xD2: (">i", 4),
    0xD3: (">q", 8),
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def decode_msgpack(data: bytes) -> Any:
    """Return the value that MessagePack stands for; raise ValueError if it is damaged."""
    decoder = _MsgpackDecoder(data)
    value = decoder.read(0)
    if decoder.at != len(data):
        raise ValueError("something follows the value")
    return value


class _MsgpackDecoder:
    """The data and the place up to which it was read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def read(self, depth: int) -> Any:
        """Return the next value."""
        if depth > _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
        first = self._take(1)[0]
        # Small numbers and short values are in one byte with their kind.
        if first < 0x80:
            return first
        if first < 0x90:
            return self._read_map(first & 0x0F, depth)
        if first < 0xA0:
            return self._read_list(first & 0x0F, depth)
        if first < 0xC0:
            return self._read_text(first & 0x1F)
        if first >= 0xE0:
            return first - 0x100
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _FIXED:
            notation, size = _FIXED[first]
            return struct.unpack(notation, self._take(size))[0]
        return self._read_sized(first, depth)

    def _read_sized(self, first: int, depth: int) -> Any:
        """Read a value whose length follows its first byte.

        Bytes, extensions, texts, lists and maps each come with lengths of one, two or four bytes.
        """
        sized: dict[int, tuple[int, Callable[[int], Any]]] = {}
        for code, size in ((0xC4, 1), (0xC5, 2), (0xC6, 4)):
            sized[code] = (size, self._take)
        for code, size in ((0xC7, 1), (0xC8, 2), (0xC9, 4)):
            sized[code] = (size, lambda length: self._read_extension(length, depth))
        for code, size in ((0xD9, 1), (0xDA, 2), (0xDB, 4)):
            sized[code] = (size, self._read_text)
        for code, size in ((0xDC, 2), (0xDD, 4)):
            sized[code] = (size, lambda length: self._read_list(length, depth))
        for code, size in ((0xDE, 2), (0xDF, 4)):
            sized[code] = (size, lambda length: self._read_map(length, depth))
        if 0xD4 <= first <= 0xD8:
            return self._read_extension(1 << (first - 0xD4), depth)
        if first not in sized:
            raise ValueError(f"byte {first:#04x} begins no value")
        size, read = sized[first]
        return read(int.from_bytes(self._take(size), "big"))

    def _read_map(self, length: int, depth: int) -> dict[Any, Any]:
        """Read pairs of a key and a value."""
        made = {}
        for _ in range(length):
            key = self.read(depth + 1)
            made[key if isinstance(key, str | int | float | bytes) else str(key)] = self.read(depth + 1)
        return made

    def _read_list(self, length: int, depth: int) -> list[Any]:
        """Read values up to a number of them."""
        return [self.read(depth + 1) for _ in range(length)]

    def _read_text(self, length: int) -> str:
        """Read a text of a number of bytes."""
        return self._take(length).decode("utf-8", "replace")

    def _read_extension(self, length: int, depth: int) -> Any:
        """Read an object as its fields: of (module, class, fields, …), or of a plain value."""
        code = self._take(1)[0]
        inner = _MsgpackDecoder(self._take(length))
        if code > _MOST_CODE:
            return None
        value = inner.read(depth + 1)
        if isinstance(value, list) and len(value) >= 3 and isinstance(value[1], str):
            fields = value[2]
            if code in (_PYDANTIC_V1, _PYDANTIC_V2) and isinstance(fields, dict):
                return {"type": value[1].lower(), **fields}
            return fields
        return value

    def _take(self, size: int) -> bytes:
        """Return the next bytes; raise ValueError if there are fewer."""
        taken = self._data[self.at : self.at + size]
        if len(taken) < size:
            raise ValueError("it is cut off")
        self.at += size
        return taken
