"""Checks the audit: is every line as it was written, in its place, and none missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from longmind.clock import to_iso
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.store.tables.audit import FROM_THE_FIRST, Anchor, Chain, Head, Line

_AT_ONCE = 1_000
BEFORE_ALL = -(2**63)
"""A number below that of any line, also of one that somebody has put in front."""
NOBODY = "(its owner is not known)"


@dataclass(frozen=True)
class Problem:
    """Where a chain is not as it was written."""

    owner: str
    group: str
    seq: int | None
    what: str


@dataclass
class Report:
    chains: int = 0
    lines: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.chains += other.chains
        self.lines += other.lines
        self.problems += other.problems

    def as_json(self) -> dict[str, Any]:
        return {"chains": self.chains, "lines": self.lines, "problems": [vars(each) for each in self.problems]}


class Checker:
    """Follows one chain, line by line."""

    def __init__(self, report: Report, scope_id: str, owner: str, group: str, key: str) -> None:
        self._report = report
        self._scope_id = scope_id
        self._owner = owner
        self._group = group
        self._key = key
        self._seq = 0
        self._hash = ""
        report.chains += 1

    def begin(self, anchor: Anchor) -> None:
        """The lines up to the anchor were moved to a file."""
        if anchor == FROM_THE_FIRST:
            return
        if not audit.is_anchored(self._key, self._scope_id, self._group, anchor):
            self.problem(None, "where it begins was changed, or which file has the lines before")
        self._seq, self._hash = anchor.seq, anchor.hash

    def line(self, seq: int, body: str, hash: str) -> None:
        self._report.lines += 1
        if seq <= self._seq:
            self.problem(seq, f"stands after line {self._seq}: the order was changed")
            return
        if seq > self._seq + 1:
            missing = f"line {seq - 1} is" if seq == self._seq + 2 else f"lines {self._seq + 1} to {seq - 1} are"
            self.problem(seq, f"{missing} missing before it")
        elif audit.chained(self._key, self._scope_id, self._group, seq, body, self._hash) != hash:
            self.problem(seq, "was changed, or does not follow the line before it")
        self._seq, self._hash = seq, hash

    def end(self, head: Head | None) -> None:
        if head is None:
            self.problem(None, "whose it is and where it ends is not known any more")
        elif head.seq > self._seq:
            self.problem(head.seq, f"the chain ends at line {self._seq}: what came after it is missing")
        elif (head.seq, head.hash, head.seal) != (self._seq, self._hash, self._sealed()):
            self.problem(self._seq, "is not where the chain ended")

    def end_of_file(self, seq: int, hash: str, seal: str) -> None:
        """Where a file of moved lines ends; the chain itself goes on elsewhere."""
        moved = audit.sealed_in_file(self._key, self._scope_id, self._group, self._seq, self._hash)
        if (seq, hash, seal) != (self._seq, self._hash, moved):
            self.problem(self._seq, "is not the last line that was moved to the file")

    def _sealed(self) -> str:
        return audit.sealed(self._key, self._scope_id, self._group, self._seq, self._hash)

    def problem(self, seq: int | None, what: str) -> None:
        self._report.problems.append(Problem(self._owner, self._group, seq, what))


def verify(database: Database, key: str) -> Report:
    """Check the chains of all users."""
    report = Report()
    for chain in database.read(None, audit.chains):
        report.add(verify_chain(database, chain, key))
    return report


def verify_chain(database: Database, chain: Chain, key: str) -> Report:
    """Check one chain."""
    while True:
        report = Report()
        checker = Checker(report, chain.scope_id, owner_name(chain.owner), chain.group, key)
        if chain.owner is None:
            checker.end(None)
            return report
        if chain.owner.id != chain.scope_id:
            checker.problem(None, "whose it is was changed")
            return report
        anchor = anchor_of(database, chain.owner, chain.group)
        checker.begin(anchor)
        try:
            _follow(checker, database, chain.owner, chain.group)
        except UnicodeDecodeError:
            checker.problem(None, "has a line that is no text")
        # Lines that were moved to a file meanwhile would be missed: then it is followed again from where it begins now.
        if anchor == anchor_of(database, chain.owner, chain.group):
            return report


def anchor_of(database: Database, owner: Scope, group: str) -> Anchor:
    head = database.read(owner, audit.head, group)
    return FROM_THE_FIRST if head is None else head.anchor


def _follow(checker: Checker, database: Database, owner: Scope, group: str) -> None:
    head: Head | None = None
    last = BEFORE_ALL
    while True:
        followed = last
        for line in lines_of(database, owner, group, followed):
            checker.line(line.seq, line.body, line.hash)
            if not _looked_up_as_written(line):
                checker.problem(line.seq, "is found by other values than it has")
            last = line.seq
        # The chain may grow meanwhile. A line that comes before the end which was read must be there by now.
        if head is not None and last == followed:
            break
        head = database.read(owner, audit.head, group)
        if head is None or head.seq <= last:
            break
    checker.end(head)


def lines_of(database: Database, owner: Scope, group: str, after: int) -> Iterator[Line]:
    while found := database.read(owner, audit.find, group, after=after, limit=_AT_ONCE):
        yield from found
        after = found[-1].seq


def _looked_up_as_written(line: Line) -> bool:
    """Whether the columns that lines are found by say the same as what was hashed."""
    try:
        entry = json.loads(line.body)
        told = (entry["timestamp"], entry["correlation"], entry["topic"], entry["outcome"])
        return told == (to_iso(line.at), line.correlation, line.topic, line.outcome)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return False


def owner_name(scope: Scope | None) -> str:
    return NOBODY if scope is None else f"{scope.tenant_id}/{scope.app_id}/{scope.user_id}"
