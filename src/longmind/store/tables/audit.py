"""Units of work on the audit of the memory tools: lines are chained by their hashes, one chain for each group.

The hash of a line covers whose it is, its number, its text and the hash before it, with a secret key where the host has
one. Where the chain ends is kept apart and hashed in the same way, so that lines missing from its end are noticed too;
and so is where it begins, once its oldest lines were moved to a file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from longmind.clock import Micros, to_iso
from longmind.errors import Conflict, InvalidIdentity
from longmind.models.tool import AuditEntry, Outcome
from longmind.scope import Scope, make_owner_scope
from longmind.store.database import Row, Transaction
from longmind.validation.text import damaged, decode_json


@dataclass(frozen=True)
class NewLine:
    """What is to be noted. Nothing of it may come from memory, or from what a caller has said."""

    source: str
    topic: str
    correlation: str
    stage: int
    outcome: Outcome
    reason: str | None = None
    field_paths: tuple[str, ...] = ()
    error: str | None = None
    phase: str | None = None
    details: Mapping[str, Any] | None = None
    """More of it, where the log is that of an app."""


@dataclass(frozen=True)
class Line:
    """A line as it is kept: `body` is the JSON that was hashed, the rest is for looking it up."""

    seq: int
    at: Micros
    correlation: str
    topic: str
    outcome: str
    body: str
    hash: str


@dataclass(frozen=True)
class Anchor:
    """The last line that was moved to a file, and the name and the SHA-256 of the file; the seal covers all of it."""

    seq: int = 0
    hash: str = ""
    file: str = ""
    digest: str = ""
    seal: str = ""


FROM_THE_FIRST = Anchor()
"""Nothing was moved."""


@dataclass(frozen=True)
class Head:
    """The number and the hash of the last line, and the hash of these two: who has no key cannot name another end."""

    seq: int
    hash: str
    seal: str
    anchor: Anchor = FROM_THE_FIRST


@dataclass(frozen=True)
class Chain:
    scope_id: str
    group: str
    owner: Scope | None
    """Nobody, where its head is missing or names nobody: the owner is known from there."""


def append(run: Transaction, scope: Scope, lines: list[NewLine], key: str, now: Micros) -> None:
    """Add lines at the end of the scope's chain. It is held until the transaction ends, so this comes last in it."""
    group = scope.group or ""
    end = _hold(run, scope, group)
    seq, hash = end.seq, end.hash
    if seq and end.seal != sealed(key, scope.id, group, seq, hash):
        # Somebody has moved the end. What follows does not fit to it, so that this is found at any later time.
        hash = ""
    for line in lines:
        seq += 1
        body = written(_entry(line, group, now))
        hash = chained(key, scope.id, group, seq, body, hash)
        run.send(
            "insert_audit",
            group=group,
            seq=seq,
            at=now,
            correlation=line.correlation,
            topic=line.topic,
            outcome=line.outcome,
            body=body,
            hash=hash,
        )
    run.send("move_audit_head", group=group, seq=seq, hash=hash, seal=sealed(key, scope.id, group, seq, hash))


def find(
    run: Transaction,
    group: str,
    *,
    correlation: str | None = None,
    topic: str | None = None,
    outcome: str | None = None,
    since: Micros | None = None,
    until: Micros | None = None,
    after: int = 0,
    limit: int,
) -> list[Line]:
    """Lines in their order; the instants are part of the range."""
    rows = run.all(
        "list_audit",
        group=group,
        correlation=correlation,
        topic=topic,
        outcome=outcome,
        since=since,
        until=until,
        after=after,
        limit=limit,
    )
    return [Line(*row) for row in rows]


def head(run: Transaction, group: str) -> Head | None:
    row = run.one("audit_head", group=group)
    if row is None:
        return None
    seq, hash, seal, *anchor = row
    return Head(seq, hash, seal, Anchor(*anchor))


def read_hash(run: Transaction, group: str, seq: int) -> str | None:
    """Return the hash of one line of a chain; None when it was moved to a file, or never was."""
    row = run.one("audit_line_before", group=group, seq=seq)
    return None if row is None else row[0]


def list_ends(run: Transaction) -> list[tuple[int, str, str]]:
    """Return the number and hash of the last line of each chain of a user, and the file that older lines are in."""
    return [(seq, hash, file) for seq, hash, file in run.all("audit_ends")]


def read_every_line(run: Transaction) -> Iterator[tuple[str, int, str, str]]:
    """Yield group, number, body and hash of each line of a user. Only inside of `read_at_once`."""
    yield from run.each("every_audit_line")


def cut(run: Transaction, scope: Scope, group: str, before: Anchor, anchor: Anchor) -> None:
    """Remove the lines up to an anchor, and let the chain begin there instead of where it began before."""
    _hold(run, scope, group)
    found = head(run, group)
    row = run.one("count_audit", group=group, last=anchor.seq)
    lines = row[0] if row else 0
    if found is None or found.anchor != before or found.seq < anchor.seq or lines != anchor.seq - before.seq:
        raise Conflict(
            f"The chain of group {group} was changed while its lines were written to {anchor.file}. None was removed.",
            hint="Verify the audit, and rotate it again.",
        )
    run.send("remove_audit", group=group, last=anchor.seq)
    run.send("anchor_audit", group=group, **vars(anchor))


def chains(run: Transaction) -> list[Chain]:
    """The chains of all users."""
    return [_chain(row) for row in run.all("audit_chains")]


def entry_of(line: Line) -> AuditEntry:
    try:
        return AuditEntry.model_validate({"seq": line.seq, **decode_json(line.body, dict), "hash": line.hash})
    except ValidationError as error:
        raise damaged() from error


def written(entry: dict[str, Any]) -> str:
    """The one way to write an entry, so that who has read it can hash it again."""
    return json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def chained(key: str, scope_id: str, group: str, seq: int, body: str, before: str) -> str:
    text = "\n".join((scope_id, group, str(seq), before, body)).encode()
    return hmac.new(key.encode(), text, "sha256").hexdigest() if key else hashlib.sha256(text).hexdigest()


def sealed(key: str, scope_id: str, group: str, seq: int, hash: str) -> str:
    """The hash of where a chain ends. No line is written like this, so it is the hash of no line."""
    return chained(key, scope_id, group, seq, "end", hash)


def anchored(key: str, scope_id: str, group: str, seq: int, hash: str, file: str, digest: str) -> Anchor:
    """An anchor with its seal, which is the hash of no line and of no end."""
    return Anchor(seq, hash, file, digest, chained(key, scope_id, group, seq, f"start\n{file}\n{digest}", hash))


def is_anchored(key: str, scope_id: str, group: str, anchor: Anchor) -> bool:
    """Whether an anchor is as it was made."""
    return anchor == anchored(key, scope_id, group, anchor.seq, anchor.hash, anchor.file, anchor.digest)


def sealed_in_file(key: str, scope_id: str, group: str, seq: int, hash: str) -> str:
    """The hash of where a file of moved lines ends. It is another than that of the end of a chain: whoever has the file
    could let the chain in the database end there."""
    return chained(key, scope_id, group, seq, "moved", hash)


def _hold(run: Transaction, scope: Scope, group: str) -> Head:
    whose = {"tenant_id": scope.tenant_id, "app_id": scope.app_id, "user_id": scope.user_id}
    return Head(*(run.one("hold_audit_head", group=group, **whose) or (0, "", "")))


def _entry(line: NewLine, group: str, now: Micros) -> dict[str, Any]:
    told = {
        "timestamp": to_iso(now),
        "group": group,
        "source": line.source,
        "topic": line.topic,
        "correlation": line.correlation,
        "stage": line.stage,
        "outcome": line.outcome,
    }
    known = {
        "reason": line.reason,
        "fieldPaths": list(line.field_paths) or None,
        "error": line.error,
        "phase": line.phase,
        "details": None if line.details is None else dict(line.details),
    }
    return told | {name: value for name, value in known.items() if value is not None}


def _chain(row: Row) -> Chain:
    tenant_id, app_id, user_id, group, scope_id = row
    try:
        return Chain(scope_id, group, None if tenant_id is None else make_owner_scope(tenant_id, app_id, user_id))
    except InvalidIdentity:
        return Chain(scope_id, group, None)
