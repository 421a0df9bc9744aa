"""Verification of the audit: every line is as it was written, in its place, and none is missing.

A verification may run while lines are added and while old ones are moved to files: it reads on until it has met the end
that it read before, and starts over when the beginning of a chain moved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from longmind.audit import chain as chains
from longmind.clock import to_iso
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.store.tables.audit import NO_ANCHOR, AuditChain, AuditLine, ChainAnchor, ChainHead

_AT_ONCE = 1_000
BEFORE_ALL = -(2**63)
"""A number below that of any line, also of one that somebody has put in front."""
NOBODY = "(unknown owner)"


@dataclass(frozen=True)
class ChainProblem:
    """A place where a chain is not as it was written."""

    owner: str
    group: str
    seq: int | None
    """The number of the line; None where the chain as a whole is meant."""
    what: str


@dataclass
class VerificationReport:
    """The chains and lines that were read, and the problems found in them."""

    chains: int = 0
    lines: int = 0
    problems: list[ChainProblem] = field(default_factory=list)

    def add(self, other: VerificationReport) -> None:
        """Add the figures and problems of another report."""
        self.chains += other.chains
        self.lines += other.lines
        self.problems += other.problems

    def as_json(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        return {"chains": self.chains, "lines": self.lines, "problems": [vars(each) for each in self.problems]}


class ChainChecker:
    """A reader of one chain, line by line, that reports what does not fit. It is used for databases and files alike."""

    def __init__(self, report: VerificationReport, scope_id: str, owner: str, group: str, key: str) -> None:
        self._report = report
        self._scope_id = scope_id
        self._owner = owner
        self._group = group
        self._key = key
        self._seq = 0
        self._hash = ""
        report.chains += 1

    def begin(self, anchor: ChainAnchor) -> None:
        """Start after an anchor, up to which the lines were moved to a file."""
        if anchor == NO_ANCHOR:
            return
        if not chains.is_sealed(self._key, self._scope_id, self._group, anchor):
            self.report(None, "its beginning, or the name of the file with its earlier lines, was changed")
        self._seq, self._hash = anchor.seq, anchor.hash

    def check_line(self, seq: int, body: str, hash: str) -> None:
        """Check the next line against the one before it."""
        self._report.lines += 1
        if seq <= self._seq:
            self.report(seq, f"follows line {self._seq}: the order was changed")
            return
        if seq > self._seq + 1:
            missing = f"line {seq - 1} is" if seq == self._seq + 2 else f"lines {self._seq + 1} to {seq - 1} are"
            self.report(seq, f"{missing} missing before it")
        elif chains.hash_line(self._key, self._scope_id, self._group, seq, body, self._hash) != hash:
            self.report(seq, "was changed, or does not follow the line before it")
        # Go on from what is there, so that one bad line is one problem.
        self._seq, self._hash = seq, hash

    def end(self, head: ChainHead | None) -> None:
        """Compare the last line with the head of the chain."""
        if head is None:
            self.report(None, "its head is missing: owner and end are unknown")
        elif head.seq > self._seq:
            self.report(head.seq, f"the chain ends at line {self._seq}: the lines after it are missing")
        elif (head.seq, head.hash, head.seal) != (self._seq, self._hash, self._seal_head()):
            self.report(self._seq, "is not the end of the chain")

    def end_file(self, seq: int, hash: str, seal: str) -> None:
        """Compare the last line with the end of a file of moved lines; the chain itself goes on elsewhere."""
        expected = chains.seal_moved(self._key, self._scope_id, self._group, self._seq, self._hash)
        if (seq, hash, seal) != (self._seq, self._hash, expected):
            self.report(self._seq, "is not the last line that was moved to the file")

    def report(self, seq: int | None, what: str) -> None:
        """Add a problem to the report."""
        self._report.problems.append(ChainProblem(self._owner, self._group, seq, what))

    def _seal_head(self) -> str:
        return chains.seal_head(self._key, self._scope_id, self._group, self._seq, self._hash)


def verify(database: Database, key: str) -> VerificationReport:
    """Check the chains of all users."""
    report = VerificationReport()
    for chain in database.read(None, audit.list_chains):
        report.add(verify_chain(database, chain, key))
    return report


def verify_chain(database: Database, chain: AuditChain, key: str) -> VerificationReport:
    """Check one chain."""
    while True:
        report = VerificationReport()
        checker = ChainChecker(report, chain.scope_id, name_owner(chain.owner), chain.group, key)
        if chain.owner is None:
            checker.end(None)
            return report
        if chain.owner.id != chain.scope_id:
            checker.report(None, "its owner was changed")
            return report
        anchor = read_anchor(database, chain.owner, chain.group)
        checker.begin(anchor)
        try:
            _check_lines(checker, database, chain.owner, chain.group)
        except UnicodeDecodeError:
            checker.report(None, "has a line that is not text")
        # A rotation at the same time removes lines before they are read: then start over from the new beginning.
        if anchor == read_anchor(database, chain.owner, chain.group):
            return report


def read_anchor(database: Database, owner: Scope, group: str) -> ChainAnchor:
    """Return the anchor that a chain begins after."""
    head = database.read(owner, audit.read_head, group)
    return NO_ANCHOR if head is None else head.anchor


def read_lines(database: Database, owner: Scope, group: str, after: int) -> Iterator[AuditLine]:
    """Yield the lines of a chain after a number, some at a time, each read in a transaction of its own."""
    while found := database.read(owner, audit.list_lines, group, after=after, limit=_AT_ONCE):
        yield from found
        after = found[-1].seq


def name_owner(scope: Scope | None) -> str:
    """Return the name of an owner for a report."""
    return NOBODY if scope is None else f"{scope.tenant_id}/{scope.app_id}/{scope.user_id}"


def _check_lines(checker: ChainChecker, database: Database, owner: Scope, group: str) -> None:
    head: ChainHead | None = None
    last = BEFORE_ALL
    while True:
        start = last
        for line in read_lines(database, owner, group, start):
            checker.check_line(line.seq, line.body, line.hash)
            if not _has_matching_columns(line):
                checker.report(line.seq, "differs from the columns by which it is found")
            last = line.seq
        # The chain may have grown. A line before the end that was read must be there by now.
        if head is not None and last == start:
            break
        head = database.read(owner, audit.read_head, group)
        if head is None or head.seq <= last:
            break
    checker.end(head)


def _has_matching_columns(line: AuditLine) -> bool:
    """Return whether the columns that lines are looked up by say the same as the text that was hashed."""
    try:
        entry = json.loads(line.body)
        hashed = (entry["timestamp"], entry["correlation"], entry["topic"], entry["outcome"])
        return hashed == (to_iso(line.at), line.correlation, line.topic, line.outcome)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return False
