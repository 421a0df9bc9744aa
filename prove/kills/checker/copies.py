"""Imported users, compared with the export that they came from: all of it exists, or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from prove.kills.checker.observation import Observation
from prove.kills.journal import Entry, History
from prove.kills.steps.copies import template

_WHOSE = frozenset({"tenantId", "appId", "userId", "timelineId"})
"""Fields that name the owner, which an import changes."""
_NOT_BROUGHT = frozenset({"format", "version", "scope", "records", "sha256", "audit"})
"""Sections that do not belong to a user, or stay in the database that wrote them."""
_IMPORTS = ("import", "import_file")


@dataclass(frozen=True)
class Copy:
    """A user that was imported and removed repeatedly."""

    history: History
    seen: Observation
    folder: Path

    @cached_property
    def entries(self) -> list[Entry]:
        return _entries(self.history)

    @cached_property
    def possible(self) -> set[str | None]:
        """Return the exports that may be present; None stands for no export."""
        possible: set[str | None] = {None}
        for entry in self.entries:
            possible = _apply_entry(possible, entry)
        return possible

    @property
    def sections(self) -> dict[str, Any]:
        return _plain_sections(self.seen.export)


def was_copied(history: History) -> bool:
    """Return whether a copy of a user was imported or removed."""
    return bool(_entries(history))


def _entries(history: History) -> list[Entry]:
    return [each for each in history.entries if each.operation in (*_IMPORTS, "remove_copy")]


def _apply_entry(possible: set[str | None], entry: Entry) -> set[str | None]:
    if entry.operation == "remove_copy":
        return {None} if entry.state == "done" else possible | {None}
    export = entry.given["export"]
    if entry.state == "done":
        return {export}
    if entry.state == "refused":
        return possible - {None, export}
    return possible | ({export} if possible & {None, export} else set())


def wrong_copies(copy: Copy) -> Iterator[str]:
    yield from _wrong_answers(copy)
    sections = copy.sections
    nothing = not any(sections.values())
    is_there = (
        None
        if nothing
        else next((name for name in copy.possible if name and sections == _read_sections(copy, name)), "torn")
    )
    if is_there not in copy.possible:
        differing = [
            name
            for name in sections
            if not nothing and all(sections[name] != _read_sections(copy, each)[name] for each in _names(copy))
        ]
        yield f"of a copy there is {is_there} ({', '.join(differing)}), and it may be {sorted(map(str, copy.possible))}"
    elif is_there is not None:
        yield from _wrong_recall(copy)


def _names(copy: Copy) -> list[str]:
    return [name for name in copy.possible if name]


def _wrong_answers(copy: Copy) -> Iterator[str]:
    """Check that an import is refused only over another export, and adds all of its rows, or none over itself."""
    possible: set[str | None] = {None}
    for entry in copy.entries:
        if entry.operation in _IMPORTS and entry.state != "lost":
            export = entry.given["export"]
            if entry.state == "refused" and not possible - {None, export}:
                yield f"{entry.operation} {entry.number} was refused and nothing was in its way: {entry.refusal}"
            if entry.state == "done" and not possible & {None, export}:
                yield f"{entry.operation} {entry.number} was done over {possible}"
            if entry.answer and entry.answer["new"] not in _right_counts(copy, entry, possible):
                yield f"{entry.operation} {entry.number} has brought in {entry.answer['new']} rows onto {possible}"
        possible = _apply_entry(possible, entry)


def _right_counts(copy: Copy, entry: Entry, possible: set[str | None]) -> set[int]:
    export = entry.given["export"]
    counts = {_rows(copy, export)} if None in possible else set()
    return counts | ({0} if export in possible or entry.tries > 1 else set())


def _wrong_recall(copy: Copy) -> Iterator[str]:
    for atom in (copy.seen.export["atoms"][0], copy.seen.export["atoms"][-1]):
        for way, found in copy.seen.recall_texts(atom["memorySpaceId"], atom["text"]).items():
            if atom["id"] not in found:
                yield f"{way} does not find {atom['text']!r} of a copy"


def _read_sections(copy: Copy, name: str) -> dict[str, Any]:
    return _plain_sections(_document(template(copy.folder, name)))


def _rows(copy: Copy, name: str) -> int:
    """Return the number of rows of an export that are imported; those about its origin are not."""
    records = _document(template(copy.folder, name))["records"]
    left = {"tool_audit", "tool_audit_heads", "event_vectors", "running_turns"}
    return sum(len(table["rows"]) for name, table in records.items() if name not in left)


@lru_cache
def _document(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def _plain_sections(document: dict[str, Any]) -> dict[str, Any]:
    return {name: _remove_owner(content) for name, content in document.items() if name not in _NOT_BROUGHT}


def _remove_owner(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _remove_owner(each) for name, each in told.items() if name not in _WHOSE}
    return [_remove_owner(each) for each in told] if isinstance(told, list) else told
