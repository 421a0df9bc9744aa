"""The transcript that a model reads: a conversation in windows of bounded size, each fenced with a random-looking word.

Each message is one line of JSON, in which no character can end the line or begin a tag. The fence is a hash that does
not occur in the lines, so that nothing a user writes can pretend to end the transcript. Messages have short numbers,
which the model cites.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from longmind.extraction.candidate import SourceMessage

WINDOW_CHARACTERS = 24_000
"""Characters of new messages in one window: about six thousand tokens, few enough that a model reads every line."""
OVERLAP_MESSAGES = 6
OVERLAP_CHARACTERS = 4_000
"""Limits of the context before a window, which makes "she" and "there" understandable."""
PIECE_CHARACTERS = 12_000
"""Characters from which a message is split into several pieces."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Characters that JSON leaves as they are, and that a model could take for the end of a line or the start of a tag.
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\x7f\x85\u2028\u2029"})


@dataclass(frozen=True)
class TranscriptLine:
    """A message or a piece of one, with the short number by which the model cites it."""

    number: str
    message: SourceMessage
    text: str
    context: bool

    def to_json(self) -> str:
        """Return the line as the model sees it."""
        said_at = _EPOCH + timedelta(microseconds=self.message.said_at)
        fields: dict[str, object] = {"id": self.number, "role": self.message.role}
        fields["said"] = f"{said_at:%Y-%m-%d %H:%M} UTC, {said_at:%A}"
        if self.context:
            fields["context"] = True
        fields["text"] = self.text
        return encode_one_line_json(fields)


@dataclass(frozen=True)
class TranscriptWindow:
    """A part of a conversation that is shown to the model in one call."""

    lines: tuple[TranscriptLine, ...]

    def find_message(self, number: str) -> SourceMessage | None:
        """Return the message that a number cites, or None if the window has none with it."""
        return next((line.message for line in self.lines if line.number == number), None)

    def is_new(self, message: SourceMessage) -> bool:
        """Return whether facts of a message are to be found in this window; in others it is only context."""
        return any(line.message.id == message.id and not line.context for line in self.lines)

    @property
    def fence(self) -> Fence:
        """The lines of the window within a fence."""
        return Fence("\n".join(line.to_json() for line in self.lines))


@dataclass(frozen=True)
class Fence:
    """Lines of JSON that a model must read as data, between two lines with a boundary."""

    body: str
    known_facts: str = ""
    """Lines with known facts, which stand before the transcript between two lines of their own."""

    @property
    def boundary(self) -> str:
        """A word that does not occur in the lines; the same lines always have the same one."""
        lines = f"{self.known_facts}{self.body}"
        boundary = ""
        while not boundary or boundary in lines:
            boundary = hashlib.blake2b(f"{boundary}{lines}".encode(), digest_size=9).hexdigest()
        return boundary

    def __str__(self) -> str:
        boundary = self.boundary
        parts = {"known facts": self.known_facts, "transcript": self.body}
        return "\n".join(
            f"=== {name} {boundary} begins ===\n{lines}\n=== {name} {boundary} ends ==="
            for name, lines in parts.items()
            if lines or name == "transcript"
        )


def encode_one_line_json(fields: dict[str, object]) -> str:
    """Return JSON on one line, without characters that a model could take for the end of the line or a tag."""
    return json.dumps(fields, ensure_ascii=False).translate(_ESCAPES)


def split_into_windows(messages: Sequence[SourceMessage]) -> list[TranscriptWindow]:
    """Split a conversation into windows, each of which begins with the end of the one before as context."""
    lines = [line for number, message in enumerate(messages, 1) for line in _split_message(f"m{number}", message)]
    return [_add_context(lines, first, last) for first, last in _find_spans(lines)]


def _split_message(number: str, message: SourceMessage) -> Iterator[TranscriptLine]:
    """Yield a message as one line, or as several if it is long."""
    # Half of a surrogate pair cannot be sent.
    text = message.text.encode("utf-8", "replace").decode()
    for start in range(0, max(len(text), 1), PIECE_CHARACTERS):
        yield TranscriptLine(number, message, text[start : start + PIECE_CHARACTERS], message.read_only)


def _find_spans(lines: Sequence[TranscriptLine]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of the first and the last new line of each window."""
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


def _add_context(lines: Sequence[TranscriptLine], first: int, last: int) -> TranscriptWindow:
    """Return a window with as much context before its first line as the limits allow."""
    begin, characters = first, 0
    while begin > 0 and first - begin < OVERLAP_MESSAGES:
        characters += len(lines[begin - 1].text)
        if characters > OVERLAP_CHARACTERS:
            break
        begin -= 1
    before = (TranscriptLine(line.number, line.message, line.text, context=True) for line in lines[begin:first])
    return TranscriptWindow((*before, *lines[first : last + 1]))
