"""The one form that files of all products are read into: conversations, facts, and what stays out.

A reader yields these records one after another, so that a file of any size passes through a bounded memory. Times are
microseconds like everywhere inside; None means that the file does not say when.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from longmind.clock import Micros, to_micros
from longmind.errors import InvalidInput
from longmind.models.atom import AtomKind, Trust
from longmind.models.message import Role
from longmind.validation.text import to_storable

if TYPE_CHECKING:
    from longmind.interchange.source_files import SourceFiles

_LATEST_SECONDS = 10**11
"""A number above is milliseconds: as seconds it would be in the year 5138."""


@dataclass(frozen=True)
class ForeignMessage:
    """A message as another product has it."""

    id: str
    """Stable over exports, and unique in its conversation."""
    role: Role
    content: str | list[dict[str, Any]]
    at: Micros | None = None
    model: str | None = None


@dataclass(frozen=True)
class ForeignConversation:
    """A conversation as another product has it, with its messages in order."""

    id: str
    messages: tuple[ForeignMessage, ...]
    title: str | None = None
    at: Micros | None = None
    owners: tuple[str, ...] = ()
    """The names by which the file says whose it is."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ForeignFact:
    """A fact as another product has it."""

    id: str
    text: str
    category: str = "note"
    kind: AtomKind = "FACT"
    at: Micros | None = None
    valid_from: Micros | None = None
    valid_to: Micros | None = None
    importance: int = 3
    confidence: float = 1.0
    trust: Trust = "app"
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Omission:
    """A part of a file that is not imported, and the reason."""

    reason: str
    example: str = ""
    count: int = 1


ForeignRecord = ForeignConversation | ForeignFact | Omission


@dataclass(frozen=True)
class Format:
    """A format of another product: its name on the command line, and how its files are recognised and read."""

    name: str
    product: str
    files: tuple[str, ...]
    """Names of the files that are read in a folder or a ZIP archive."""
    expected: str
    """One line that says how a file of the format looks, for the error about another file."""
    is_item: Callable[[Any], bool]
    """Returns whether the first value of a file is one of this format."""
    read: Callable[[SourceFiles], Iterator[ForeignRecord]]


def parse_time(value: object) -> Micros | None:
    """Return a time from ISO 8601 or from seconds or milliseconds since 1970; None if there is none to be read."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        seconds = value / 1000 if abs(value) > _LATEST_SECONDS else value
        return round(seconds * 1_000_000) if 0 <= seconds <= _LATEST_SECONDS else None
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, str) and value.strip():
        text = value.strip().removesuffix(" UTC")
        # A zone by name says no more than an offset of zero, and ISO 8601 does not have it.
        try:
            at = to_micros(text)
        except InvalidInput:
            return _parse_odd_time(text)
        return at if at >= 0 else None
    return None


def _parse_odd_time(text: str) -> Micros | None:
    """Return a time in one of the notations beside ISO 8601 that products write."""
    for notation in ("%Y-%m-%d %H:%M:%S.%f %z", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%d %I:%M:%S %p %Z%z", "%Y/%m/%d"):
        try:
            parsed = datetime.strptime(text, notation)
        except ValueError:
            continue
        return max(0, to_micros(parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)))
    return None


def clean_text(value: object) -> str:
    """Return a text of a file as a database can store it; empty for what is no text."""
    return to_storable(value).strip() if isinstance(value, str) else ""


def shorten(text: str, most: int = 80) -> str:
    """Return the beginning of a text on one line, for a person to recognise it by."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def make_key(*parts: object) -> str:
    """Return a short stable key of what identifies a record that has no id of its own."""
    # JSON keeps apart what would look alike if it were only joined.
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


class MessageKeys:
    """Makes keys for messages without ids: equal messages of a conversation are counted, so that none gets lost."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def make(self, role: str, content: object, at: Micros | None) -> str:
        """Return the key of the next message."""
        key = make_key(role, content, at)
        number = self._seen[key] = self._seen.get(key, 0) + 1
        return key if number == 1 else f"{key}-{number}"
