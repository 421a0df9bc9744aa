"""How a conversation is shown to a model: in windows, each fenced so that nothing inside can leave it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from longmind.extraction.candidate import SourceMessage

WINDOW_CHARACTERS = 24_000
"""What is new in one window: about six thousand tokens, of which a model still reads every line."""
OVERLAP_MESSAGES = 6
OVERLAP_CHARACTERS = 4_000
"""How much of what came before a window is shown again, so that "she" and "there" are understood."""
PIECE_CHARACTERS = 12_000
"""A longer message is shown in several pieces."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What JSON leaves as it is, and a model could take for the end of a line or the beginning of a tag.
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\x7f\x85\u2028\u2029"})


@dataclass(frozen=True)
class TranscriptLine:
    """A message, or a piece of one, under the short number that the model knows it by."""

    number: str
    message: SourceMessage
    text: str
    context: bool

    def written(self) -> str:
        said = _EPOCH + timedelta(microseconds=self.message.said_at)
        shown: dict[str, object] = {"id": self.number, "role": self.message.role}
        shown["said"] = f"{said:%Y-%m-%d %H:%M} UTC, {said:%A}"
        if self.context:
            shown["context"] = True
        shown["text"] = self.text
        return encode_one_line_json(shown)


@dataclass(frozen=True)
class TranscriptWindow:
    lines: tuple[TranscriptLine, ...]

    def cited(self, number: str) -> SourceMessage | None:
        return next((line.message for line in self.lines if line.number == number), None)

    def is_new(self, message: SourceMessage) -> bool:
        """Whether this window is the one that facts of the message are to be found in."""
        return any(line.message.id == message.id and not line.context for line in self.lines)

    @property
    def fence(self) -> Fence:
        return Fence("\n".join(line.written() for line in self.lines))


@dataclass(frozen=True)
class Fence:
    """Lines of JSON that a model is to read as data."""

    body: str

    @property
    def boundary(self) -> str:
        """A word that is not among the lines, and the same for the same ones."""
        boundary = ""
        while not boundary or boundary in self.body:
            boundary = hashlib.blake2b(f"{boundary}{self.body}".encode(), digest_size=9).hexdigest()
        return boundary

    def __str__(self) -> str:
        boundary = self.boundary
        return f"=== transcript {boundary} begins ===\n{self.body}\n=== transcript {boundary} ends ==="


def encode_one_line_json(shown: dict[str, object]) -> str:
    """JSON on one line, in which nothing can be taken for the end of a line or the beginning of a tag."""
    return json.dumps(shown, ensure_ascii=False).translate(_ESCAPES)


def split_into_windows(messages: Sequence[SourceMessage]) -> list[TranscriptWindow]:
    """Cut a conversation into windows that overlap: each begins with the end of what came before, as context."""
    lines = [line for number, message in enumerate(messages, 1) for line in _lines(f"m{number}", message)]
    return [_with_context(lines, first, last) for first, last in _spans(lines)]


def _lines(number: str, message: SourceMessage) -> Iterator[TranscriptLine]:
    # A lone half of a surrogate pair cannot be sent.
    text = message.text.encode("utf-8", "replace").decode()
    for start in range(0, max(len(text), 1), PIECE_CHARACTERS):
        yield TranscriptLine(number, message, text[start : start + PIECE_CHARACTERS], message.read_only)


def _spans(lines: Sequence[TranscriptLine]) -> Iterator[tuple[int, int]]:
    """The first and the last line of each window, without its context; both are new."""
    first: int | None = None
    last = characters = 0
    for place, line in enumerate(lines):
        if line.context:
            continue
        if first is not None and characters + len(line.text) > WINDOW_CHARACTERS:
            yield first, last
            first, characters = None, 0
        first = place if first is None else first
        last = place
        characters += len(line.text)
    if first is not None:
        yield first, last


def _with_context(lines: Sequence[TranscriptLine], first: int, last: int) -> TranscriptWindow:
    begin, characters = first, 0
    while begin > 0 and first - begin < OVERLAP_MESSAGES:
        characters += len(lines[begin - 1].text)
        if characters > OVERLAP_CHARACTERS:
            break
        begin -= 1
    before = (TranscriptLine(line.number, line.message, line.text, context=True) for line in lines[begin:first])
    return TranscriptWindow((*before, *lines[first : last + 1]))
