"""JSON read value by value, in memory bounded by its longest value.

A file is an array, whose members are yielded, or values one after another, as in JSON lines. Exports of chat products
are one array of hundreds of megabytes on a single line, so the file is never parsed as a whole.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from longmind.errors import InvalidInput, LimitExceeded

LONGEST_VALUE = 256 * 1024 * 1024
"""Characters of one conversation, one line, or one document that is not an array."""
_CHUNK = 1024 * 1024
_SPACE = " \t\r\n"
# A value that is cut off by the end of what was read fails near that end.
_NEAR_END = 64
_BROKEN_HINT = "Export it again: the file may be incomplete, or was changed by hand."
_PRINTED_HINT = "Python printed this, with single quotes. Save it as JSON: json.dump(memories, file)."


@dataclass(frozen=True)
class JsonValue:
    """A value of a file, with the place where it begins, for messages."""

    value: Any
    place: str


def read_values(file: IO[bytes], name: str) -> Iterator[JsonValue]:
    """Yield the members of the array that a file is, or else its values one after another.

    Raises InvalidInput where the file is no JSON, with the line, and LimitExceeded for a value that is too long.
    """
    return _ValueReader(file, name).read()


class _ValueReader:
    """The part of a file that was read and not yet parsed."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._parse = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._lines, self._counted = 1, 0
        self._number = 0
        self._ended = False

    def read(self) -> Iterator[JsonValue]:
        """Yield the values up to the end of the file."""
        in_array = self._peek() == "["
        if in_array:
            self._at += 1
        while character := self._peek():
            if in_array and character == "]":
                self._at += 1
                if self._peek():
                    raise self._complain("has something after the end of its array")
                return
            yield self._next_value()
            # JSON lines need no comma, and a member of an array does.
            if in_array and self._peek() not in (",", "]"):
                raise self._complain("is cut off, or lacks a comma" if self._peek() else "ends before its array does")
            if self._peek() == "," and in_array:
                self._at += 1
        if in_array:
            raise self._complain("ends before its array does")

    def _next_value(self) -> JsonValue:
        """Parse the next value, and read on for as long as it is cut off."""
        self._number += 1
        line = self._line()
        while True:
            try:
                value, end = self._parse(self._text, self._at)
            except ValueError as error:
                self._grow_or_refuse(error, line)
                continue
            except RecursionError:
                raise self._complain("is nested too deeply", line) from None
            # Most ends are sure: a bracket, a brace, a quotation mark.
            # A number may go on behind the end of what was read.
            if end == len(self._text) and not self._ended:
                self._grow()
                continue
            self._at = end
            return JsonValue(value, f"{self._name}, line {line}" if line > 1 else f"{self._name}, value {self._number}")

    def _grow_or_refuse(self, error: ValueError, line: int) -> None:
        """Read on if a value failed at the end of what was read; raise InvalidInput if it is wrong before that."""
        position = getattr(error, "pos", 0)
        unfinished = str(error).startswith("Unterminated") or position >= len(self._text) - _NEAR_END
        if self._ended or not unfinished:
            within = self._text.count("\n", self._at, position)
            message = getattr(error, "msg", str(error))
            hint = _PRINTED_HINT if self._text.startswith("'", position) else _BROKEN_HINT
            raise self._complain(f"is no valid JSON: {message.lower()}", line + within, hint) from None
        self._grow()

    def _grow(self) -> None:
        """Read as much again as there is, so that a long value is parsed only a few times."""
        self._drop_parsed()
        if len(self._text) > LONGEST_VALUE:
            raise LimitExceeded(
                f"A value in {self._name}", limit=LONGEST_VALUE, given=len(self._text), unit="characters"
            )
        self._append(max(_CHUNK, len(self._text)))

    def _peek(self) -> str:
        """Return the next character that is no space; empty at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._drop_parsed()
            self._append(_CHUNK)

    def _append(self, size: int) -> None:
        """Read a piece more. A character that is cut in two waits for its rest."""
        # In bytes: characters of several bytes make the text shorter than the piece that was read.
        data = self._file.read(size)
        self._ended = not data
        try:
            self._text += self._decode.decode(data, self._ended)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{self._name} is not text in UTF-8: byte {error.object[error.start]:#04x} in or after line"
                f" {self._line()}.",
                hint="Pass the file as the product exported it; a packed file has to be a .zip archive.",
            ) from None

    def _drop_parsed(self) -> None:
        """Forget the text that was parsed."""
        self._line()
        self._text = self._text[self._at :]
        self._at = self._counted = 0

    def _line(self) -> int:
        """Return the line of the next character. Each line break is counted once."""
        self._lines += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._lines

    def _complain(self, words: str, line: int | None = None, hint: str = _BROKEN_HINT) -> InvalidInput:
        """Return an error with a line, by default that of the next character."""
        return InvalidInput(f"{self._name} {words} (line {line or self._line()}).", hint=hint)


def read_lines(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers."""
    number = 0
    while line := file.readline(LONGEST_VALUE + 1):
        number += 1
        if len(line) > LONGEST_VALUE:
            raise LimitExceeded(f"Line {number} of {name}", limit=LONGEST_VALUE, given=len(line), unit="bytes")
        if stripped := (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).strip():
            yield number, stripped
