"""Comparison of followers: all must see one order of changes, and time must allow that order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prove.concurrency.history import Operation, format_operations

Change = tuple[int, str, str | None, str]


@dataclass(frozen=True)
class FollowerReport:
    """The changes that the followers of a round saw, and the first contradiction among them."""

    changes: int
    wrong: str = ""


def read_changes(folder: Path) -> dict[str, list[Change]]:
    """Return the changes that each follower saw, including followers that were killed."""
    return {path.stem: _read(path) for path in sorted(folder.glob("*.changes"))}


def _read(path: Path) -> list[Change]:
    whole = (line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n"))
    return [tuple(json.loads(line)) for line in whole]


def compare_followers(seen: dict[str, list[Change]], operations: Sequence[Operation]) -> FollowerReport:
    """Compare the followers with each other and with the operations on conversations, whose messages they report."""
    longest = max(seen.values(), key=len, default=[])
    cursors = [change[0] for change in longest]
    wrong = "" if cursors == sorted(set(cursors)) else "A follower saw changes out of the order of their cursors."
    for name, changes in seen.items():
        for one, other in zip(changes, longest, strict=False):
            if one != other:
                wrong = wrong or f"Follower {name} saw {one} where another one saw {other}."
    return FollowerReport(
        len(longest), wrong or _find_missing(longest, operations) or _find_disorder(longest, operations)
    )


def _find_missing(changes: Sequence[Change], operations: Sequence[Operation]) -> str:
    appended = {change[3] for change in changes if change[1] == "message.appended"}
    lost = [operation for operation in operations if any(id not in appended for id in _ids(operation))]
    return f"No follower has seen the message of {format_operations(lost[:1])}" if lost else ""


def _find_disorder(changes: Sequence[Change], operations: Sequence[Operation]) -> str:
    """Return a pair that is out of order: an operation that returned before another was called must precede it."""
    writers = {id: operation for operation in operations for id in _ids(operation)}
    latest: Operation | None = None
    for change in changes:
        operation = writers.get(change[3])
        if operation is None or operation.returned is None:
            continue
        if latest is not None and operation.returned < latest.called:
            return f"Followers see the second of these first:\n{format_operations([operation, latest])}"
        if latest is None or operation.called > latest.called:
            latest = operation
    return ""


def _ids(operation: Operation) -> list[str]:
    """Return the id of the message that an operation created, if its answer named one."""
    if operation.name not in ("say", "turn", "ask") or not operation.known:
        return []
    outcome, answer = operation.answer
    made: Any = answer if outcome == "ok" and not answer[2] else None
    return [made[1].split()[0]] if made else []
