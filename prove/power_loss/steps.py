"""What a program does to files, one step after another, as far as a loss of power can tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Write:
    file: int
    offset: int
    content: bytes


@dataclass(frozen=True)
class Truncate:
    file: int
    size: int


@dataclass(frozen=True)
class Sync:
    """A file's content is made to last, or the names in a folder."""

    file: int


@dataclass(frozen=True)
class Rename:
    """Names in folders come to mean something else, all of them at once: made, moved or removed (None)."""

    changes: tuple[tuple[int, str, int | None], ...]


@dataclass(frozen=True)
class Announcement:
    """The program has told something to the world outside, which no loss of power takes back."""

    what: str


Step = Write | Truncate | Sync | Rename | Announcement

ROOT = 0
"""The folder that all of this is in. It is there from the start, and every file and folder has a number of its own."""
