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

from longmind.audit import chain as chains
from longmind.audit.verification import (
    BEFORE_ALL,
    NOBODY,
    ChainChecker,
    ChainProblem,
    VerificationReport,
    name_owner,
    read_anchor,
    read_lines,
)
from longmind.errors import Conflict, InvalidIdentity
from longmind.scope import Scope, make_owner_scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.store.tables.audit import NO_ANCHOR, AuditLine, ChainAnchor, ChainHead
from longmind.validation.text import Json

_OWNER = {"tenantId": str, "appId": str, "userId": str, "group": str}
_LINE = {**_OWNER, "seq": int, "entry": dict, "hash": str}
_ANCHOR = {**_OWNER, "anchor": int, "hash": str, "file": str, "digest": str, "seal": str}
_MOVED = {**_OWNER, "moved": int, "hash": str, "seal": str}
_CHAIN_END = {**_OWNER, "head": int, "hash": str, "seal": str}
_FILE_END = {"chains": int, "seal": str}
_SHAPES = (_LINE, _ANCHOR, _MOVED, _CHAIN_END, _FILE_END)
"""The fields of each kind of line that a file may have, with their types."""


def export(database: Database, key: str) -> Iterator[dict[str, Json]]:
    """Yield all lines as JSON, chain after chain, without holding up the writers."""
    seals = []
    for chain in database.read(None, audit.list_chains):
        # The end first: lines that are added after this belong to the next export.
        head = None if chain.owner is None else database.read(chain.owner, audit.read_head, chain.group)
        if chain.owner is None or head is None:
            # The head was tampered with, and says no owner. The chain is counted, so that the file is not whole.
            seals.append("")
            continue
        owner = chain.owner
        owner_fields = _encode_owner(owner, chain.group)
        if head.anchor != NO_ANCHOR:
            yield {**owner_fields, **_encode_anchor(head.anchor)}
        try:
            for line in read_lines(database, owner, chain.group, BEFORE_ALL):
                if line.seq <= head.seq:
                    yield {**owner_fields, **_encode_line(line)}
        except UnicodeDecodeError:
            # The line was replaced by bytes that are no text. It is left out, and missed when the file is checked.
            pass
        yield {**owner_fields, "head": head.seq, "hash": head.hash, "seal": head.seal}
        if read_anchor(database, owner, chain.group) != head.anchor:
            raise Conflict("Lines of the audit were moved to a file during the export.", hint="Export it again.")
        seals.append(head.seal)
    yield {"chains": len(seals), "seal": _seal_file(key, seals)}


def encode_moved(
    owner: Scope, group: str, before: ChainAnchor, lines: Iterable[AuditLine], key: str
) -> Iterator[dict[str, Json]]:
    """Yield the lines that follow an anchor as JSON, for the file that they are moved to."""
    owner_fields = _encode_owner(owner, group)
    if before != NO_ANCHOR:
        yield {**owner_fields, **_encode_anchor(before)}
    seq, hash = before.seq, before.hash
    for line in lines:
        yield {**owner_fields, **_encode_line(line)}
        seq, hash = line.seq, line.hash
    seal = chains.seal_moved(key, owner.id, group, seq, hash)
    yield {**owner_fields, "moved": seq, "hash": hash, "seal": seal}
    yield {"chains": 1, "seal": _seal_file(key, [seal])}


def verify_exported(lines: Iterable[str], key: str) -> VerificationReport:
    """Check the lines of an export, or of a file of moved lines, without a database."""
    file = _FileChecker(key)
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            file.check(read_line(text))
        except (ValueError, RecursionError, InvalidIdentity):
            file.report_problem(f"line {number} of the file cannot be read")
    file.end()
    return file.report


class _FileChecker:
    """A reader of all chains of a file, which may be mixed."""

    def __init__(self, key: str) -> None:
        self.report = VerificationReport()
        self._key = key
        self._checkers: dict[tuple[str, str], ChainChecker] = {}
        self._seals: dict[tuple[str, str], str] = {}
        self._ended = False

    def check(self, fields: dict[str, Any]) -> None:
        if self._ended:
            self.report_problem("lines follow its end")
        if "chains" in fields:
            self._ended = True
            if (fields["chains"], fields["seal"]) != (len(self._seals), _seal_file(self._key, self._seals.values())):
                self.report_problem("a whole chain is missing, or one was added")
            return
        owner, group = decode_owner(fields), fields["group"]
        chain = (owner.id, group)
        begun = chain in self._checkers
        if not begun:
            self._checkers[chain] = ChainChecker(self.report, owner.id, name_owner(owner), group, self._key)
        checker = self._checkers[chain]
        # Report what stands after an end, and check it all the same: it may be the one line that was added.
        if chain in self._seals:
            checker.report(fields.get("seq"), "follows the end of its chain")
        if "anchor" in fields:
            if begun:
                checker.report(fields["anchor"], "the chain begins a second time")
            checker.begin(decode_anchor(fields))
        elif "moved" in fields:
            checker.end_file(fields["moved"], fields["hash"], fields["seal"])
            self._seals[chain] = fields["seal"]
        elif "head" in fields:
            checker.end(ChainHead(fields["head"], fields["hash"], fields["seal"]))
            self._seals[chain] = fields["seal"]
        else:
            checker.check_line(fields["seq"], chains.encode_entry(fields["entry"]), fields["hash"])

    def end(self) -> None:
        for chain, checker in self._checkers.items():
            if chain not in self._seals:
                checker.end(None)
        if not self._ended:
            self.report_problem("its end is missing")

    def report_problem(self, what: str) -> None:
        self.report.problems.append(ChainProblem(NOBODY, "", None, what))


def read_line(text: str) -> dict[str, Any]:
    """Return the fields of a line of a file; raise ValueError if it has anything that no hash covers."""
    # Of a name that comes twice only the last would be checked, and another program may read the first.
    fields = json.loads(text, object_pairs_hook=_refuse_repetition)
    if not isinstance(fields, dict) or {name: type(value) for name, value in fields.items()} not in _SHAPES:
        raise ValueError
    # Half characters can be written in JSON, and cannot be hashed.
    chains.encode_entry(fields).encode()
    return fields


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError
    return fields


def decode_owner(fields: dict[str, Any]) -> Scope:
    """Return the owner that a line of a file names; raise InvalidIdentity if that cannot be one."""
    return make_owner_scope(fields["tenantId"], fields["appId"], fields["userId"])


def decode_anchor(fields: dict[str, Any]) -> ChainAnchor:
    """Return the anchor that a chain of a file begins with."""
    return ChainAnchor(fields["anchor"], fields["hash"], fields["file"], fields["digest"], fields["seal"])


def _encode_owner(owner: Scope, group: str) -> dict[str, Json]:
    return {"tenantId": owner.tenant_id, "appId": owner.app_id, "userId": owner.user_id, "group": group}


def _encode_anchor(anchor: ChainAnchor) -> dict[str, Json]:
    return {
        "anchor": anchor.seq,
        "hash": anchor.hash,
        "file": anchor.file,
        "digest": anchor.digest,
        "seal": anchor.seal,
    }


def _encode_line(line: AuditLine) -> dict[str, Json]:
    return {"seq": line.seq, "entry": _decode_body(line), "hash": line.hash}


def _decode_body(line: AuditLine) -> Json:
    try:
        entry: Json = json.loads(line.body)
    except (ValueError, RecursionError):
        # It was changed: it is exported as it is, and the check of the file finds it.
        return {"damaged": line.body}
    return entry


def _seal_file(key: str, seals: Iterable[str]) -> str:
    text = "\n".join(seals)
    return chains.hash_line(key, "", "", 0, "end of the file", hashlib.sha256(text.encode()).hexdigest())
