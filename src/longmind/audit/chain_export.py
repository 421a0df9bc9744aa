"""The audit as a file to keep elsewhere, and the check of such a file without the database.

Each chain ends with a line that says where it ends, and the file with one that covers the ends of all chains, so that a
chain which is missing as a whole is noticed too. A chain whose oldest lines were moved to a file begins with a line
that says so; that file is written in the same way, and ends with where it was cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from longmind.audit.verification import BEFORE_ALL, NOBODY, Checker, Problem, Report, anchor_of, lines_of, owner_name
from longmind.errors import Conflict, InvalidIdentity
from longmind.scope import Scope, make_owner_scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.store.tables.audit import FROM_THE_FIRST, Anchor, Head, Line
from longmind.validation.text import Json

_WHOSE = {"tenantId": str, "appId": str, "userId": str, "group": str}
_LINE = {**_WHOSE, "seq": int, "entry": dict, "hash": str}
_ANCHOR = {**_WHOSE, "anchor": int, "hash": str, "file": str, "digest": str, "seal": str}
_MOVED = {**_WHOSE, "moved": int, "hash": str, "seal": str}
_CHAIN_END = {**_WHOSE, "head": int, "hash": str, "seal": str}
_FILE_END = {"chains": int, "seal": str}
_SHAPES = (_LINE, _ANCHOR, _MOVED, _CHAIN_END, _FILE_END)


def export(database: Database, key: str) -> Iterator[dict[str, Json]]:
    """All lines as JSON, chain after chain."""
    seals = []
    for chain in database.read(None, audit.chains):
        # The end first: lines that are added meanwhile belong to the next export.
        head = None if chain.owner is None else database.read(chain.owner, audit.head, chain.group)
        if chain.owner is None or head is None:
            # It was tampered with, and cannot be told whose it is. It is counted, so that the file is not whole.
            seals.append("")
            continue
        owner = chain.owner
        whose = _whose(owner, chain.group)
        if head.anchor != FROM_THE_FIRST:
            yield {**whose, **_anchor(head.anchor)}
        try:
            for line in lines_of(database, owner, chain.group, BEFORE_ALL):
                if line.seq <= head.seq:
                    yield {**whose, **_line(line)}
        except UnicodeDecodeError:
            # Somebody has made a line of it what is no text. It is missing in the file, and missed there.
            pass
        yield {**whose, "head": head.seq, "hash": head.hash, "seal": head.seal}
        if anchor_of(database, owner, chain.group) != head.anchor:
            raise Conflict("Lines of the audit were moved to a file meanwhile.", hint="Export it again.")
        seals.append(head.seal)
    yield {"chains": len(seals), "seal": _sealed(key, seals)}


def moved(owner: Scope, group: str, before: Anchor, lines: Iterable[Line], key: str) -> Iterator[dict[str, Json]]:
    """Lines that follow an anchor as JSON, for a file that they are moved to."""
    whose = _whose(owner, group)
    if before != FROM_THE_FIRST:
        yield {**whose, **_anchor(before)}
    seq, hash = before.seq, before.hash
    for line in lines:
        yield {**whose, **_line(line)}
        seq, hash = line.seq, line.hash
    seal = audit.sealed_in_file(key, owner.id, group, seq, hash)
    yield {**whose, "moved": seq, "hash": hash, "seal": seal}
    yield {"chains": 1, "seal": _sealed(key, [seal])}


def verify_exported(lines: Iterable[str], key: str) -> Report:
    """Check what was exported, without a database."""
    file = _File(key)
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            file.take(read_line(text))
        except (ValueError, RecursionError, InvalidIdentity):
            file.problem(f"line {number} of the file cannot be read")
    file.end()
    return file.report


class _File:
    """Follows all chains of a file."""

    def __init__(self, key: str) -> None:
        self.report = Report()
        self._key = key
        self._checkers: dict[tuple[str, str], Checker] = {}
        self._seals: dict[tuple[str, str], str] = {}
        self._ended = False

    def take(self, told: dict[str, Any]) -> None:
        if self._ended:
            self.problem("something stands after its end")
        if "chains" in told:
            self._ended = True
            if (told["chains"], told["seal"]) != (len(self._seals), _sealed(self._key, self._seals.values())):
                self.problem("a chain is missing as a whole, or was added")
            return
        owner, group = owner_of(told), told["group"]
        chain = (owner.id, group)
        begun = chain in self._checkers
        if not begun:
            self._checkers[chain] = Checker(self.report, owner.id, owner_name(owner), group, self._key)
        checker = self._checkers[chain]
        if chain in self._seals:
            checker.problem(told.get("seq"), "stands after the end of its chain")
        if "anchor" in told:
            if begun:
                checker.problem(told["anchor"], "the chain begins a second time")
            checker.begin(anchor_in(told))
        elif "moved" in told:
            checker.end_of_file(told["moved"], told["hash"], told["seal"])
            self._seals[chain] = told["seal"]
        elif "head" in told:
            checker.end(Head(told["head"], told["hash"], told["seal"]))
            self._seals[chain] = told["seal"]
        else:
            checker.line(told["seq"], audit.written(told["entry"]), told["hash"])

    def end(self) -> None:
        for chain, checker in self._checkers.items():
            if chain not in self._seals:
                checker.end(None)
        if not self._ended:
            self.problem("its end is missing")

    def problem(self, what: str) -> None:
        self.report.problems.append(Problem(NOBODY, "", None, what))


def read_line(text: str) -> dict[str, Any]:
    """A line of the file, if it is one that was exported: nothing may stand in it that no hash covers."""
    told = json.loads(text, object_pairs_hook=_without_repetition)
    if not isinstance(told, dict) or {name: type(value) for name, value in told.items()} not in _SHAPES:
        raise ValueError
    # Half characters can be written in JSON, and cannot be hashed.
    audit.written(told).encode()
    return told


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    told = dict(pairs)
    if len(told) != len(pairs):
        raise ValueError
    return told


def owner_of(told: dict[str, Any]) -> Scope:
    return make_owner_scope(told["tenantId"], told["appId"], told["userId"])


def anchor_in(told: dict[str, Any]) -> Anchor:
    return Anchor(told["anchor"], told["hash"], told["file"], told["digest"], told["seal"])


def _whose(owner: Scope, group: str) -> dict[str, Json]:
    return {"tenantId": owner.tenant_id, "appId": owner.app_id, "userId": owner.user_id, "group": group}


def _anchor(anchor: Anchor) -> dict[str, Json]:
    told = {"anchor": anchor.seq, "hash": anchor.hash, "file": anchor.file}
    return {**told, "digest": anchor.digest, "seal": anchor.seal}


def _line(line: Line) -> dict[str, Json]:
    return {"seq": line.seq, "entry": _entry(line), "hash": line.hash}


def _entry(line: Line) -> Json:
    try:
        entry: Json = json.loads(line.body)
    except (ValueError, RecursionError):
        # It was changed: it is shown as it is, and the check of the file says so.
        return {"damaged": line.body}
    return entry


def _sealed(key: str, seals: Iterable[str]) -> str:
    text = "\n".join(seals)
    return audit.chained(key, "", "", 0, "end of the file", hashlib.sha256(text.encode()).hexdigest())
