"""Comparison of two recordings of the same run: both must show the same steps on the store."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from prove.power_loss.notes import FileRecording
from prove.power_loss.steps import ROOT, Announcement, Rename, Sync, Truncate, Write

Seen = tuple[Any, ...]
"""A step with paths instead of numbers, which each recorder assigns by itself."""


def store_steps(recording: FileRecording, folder: str) -> list[Seen]:
    """Return the steps in a folder and the announcements, in order, without the index of the WAL file."""
    paths, seen = {ROOT: ""}, list[Seen]()

    def see(path: str, *what: Any) -> None:
        if f"{path}/".startswith(f"/{folder}/") and not path.endswith("-shm"):
            seen.append((path, *what))

    for step in recording.steps:
        match step:
            case Write():
                see(paths[step.file], "write", step.offset, step.content)
            case Truncate():
                see(paths[step.file], "truncate", step.size)
            case Sync():
                see(paths[step.file], "sync")
            case Rename():
                for above, name, number in step.changes:
                    path = f"{paths[above]}/{name}"
                    if number is not None:
                        paths[number] = path
                    see(path, "no name" if number is None else "name")
            case Announcement():
                seen.append(("told", step.what))
    return seen


def disagreement(one: list[Seen], other: list[Seen]) -> str | None:
    """Return the first step on which the recordings differ; None when they agree."""
    for number, (here, there) in enumerate(zip_longest(one, other)):
        if here != there:
            return f"step {number} of the store: {_short(here)} and {_short(there)}"
    return None


def _short(seen: Seen | None) -> str:
    return "nothing" if seen is None else " ".join(str(each)[:60] for each in seen)
