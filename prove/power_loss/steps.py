"""The steps of a program on files that a loss of power can affect."""

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
    """A sync of a file's content, or of the names in a folder."""

    file: int


@dataclass(frozen=True)
class Rename:
    """A change of names in folders, all at once: created, moved or removed (None)."""

    changes: tuple[tuple[int, str, int | None], ...]


@dataclass(frozen=True)
class Announcement:
    """A message of the program to the outside world, which no loss of power takes back."""

    what: str


Step = Write | Truncate | Sync | Rename | Announcement

ROOT = 0
"""The folder of the recording, which exists from the start. Every file and folder has a number."""
