"""The needs of opening a database, which `longmind doctor` reports before anything is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

NeedState = Literal["ok", "warning", "trouble"]


class OpeningNeed(NamedTuple):
    """One thing that opening a database needs, and whether it is there."""

    name: str
    state: NeedState
    says: str
    """The state in words, to follow the name."""
    todo: str = ""
    """The action that removes what is in the way."""


def list_file_needs(path: str) -> Iterator[OpeningNeed]:
    """Yield what opening an SQLite file needs from the folder that it is in, which may not exist yet."""
    if path == ":memory:":
        return
    folder = Path(path).absolute().parent
    existing = next(each for each in (folder, *folder.parents) if os.path.exists(each))
    if not existing.is_dir():
        todo = "Name a path in a folder, or move the file out of the way."
        yield OpeningNeed("database folder", "trouble", f"{existing} is a file", todo)
    elif not os.access(existing, os.W_OK | os.X_OK):
        # SQLite writes a second and a third file beside the database.
        todo = f"Give this user the right to write in {existing}, or choose another path."
        yield OpeningNeed("database folder", "trouble", f"files cannot be created in {existing}", todo)
    elif existing != folder:
        yield OpeningNeed("database folder", "ok", f"{folder} will be created")
    else:
        yield OpeningNeed("database folder", "ok", f"files can be created in {folder}")
