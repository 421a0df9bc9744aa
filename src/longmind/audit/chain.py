"""Chains of audit lines, one for each group of a scope, in which every line is hashed together with the one before.

- The hash of a line covers whose it is, its number, its text and the hash before it. It is keyed where the host has
  set an audit key; without one, a person who can write to the database can also compute new hashes.
- The head of a chain says where it ends. Its seal is hashed in the same way, over a text that no line has, so that
  lines missing from the end are noticed too.
- The anchor says where a chain begins once its oldest lines were moved to a file, and covers the digest of that file.
- The last line of such a file is sealed over yet another text: the seal of a file never passes for that of a chain.
- Nothing of a line may come from memory or from what a caller has said: lines outlive the erasure of texts.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from longmind.clock import Micros, to_iso
from longmind.errors import Conflict
from longmind.models.tool import AuditEntry, Outcome
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import audit
from longmind.store.tables.audit import AuditLine, ChainAnchor
from longmind.validation.text import decode_json, make_damage_error


@dataclass(frozen=True)
class NewAuditLine:
    """An entry that has no place in a chain yet."""

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
    """Further fields of the entry, in the log of an app only."""


def append(run: Transaction, scope: Scope, lines: Sequence[NewAuditLine], key: str, now: Micros) -> None:
    """Add lines at the end of the scope's chain.

    The chain is held until the transaction ends, so call this last in it. A chain whose end was tampered with is not
    repaired: what is added does not fit to it, so that a verification finds the place at any later time.
    """
    group = scope.group or ""
    # From here on nobody else appends to this chain.
    end = audit.hold_head(run, scope, group)
    seq, hash = end.seq, end.hash
    if seq and end.seal != seal_head(key, scope.id, group, seq, hash):
        # No line follows the empty hash but the first, so the next line cannot pass for a continuation.
        hash = ""
    for line in lines:
        seq += 1
        body = encode_entry(_to_entry_fields(line, group, now))
        hash = hash_line(key, scope.id, group, seq, body, hash)
        audit.insert(run, group, AuditLine(seq, now, line.correlation, line.topic, line.outcome, body, hash))
    audit.move_head(run, group, seq, hash, seal_head(key, scope.id, group, seq, hash))


def cut(run: Transaction, scope: Scope, group: str, before: ChainAnchor, anchor: ChainAnchor) -> None:
    """Remove the lines between two anchors, which are in a file by now, and let the chain begin at the second.

    Raise Conflict, and remove nothing, if the chain is not the one that was written to the file.
    """
    audit.hold_head(run, scope, group)
    head = audit.read_head(run, group)
    lines = audit.count_until(run, group, anchor.seq)
    if head is None or head.anchor != before or head.seq < anchor.seq or lines != anchor.seq - before.seq:
        raise Conflict(
            f"The chain of group {group} was changed while its lines were written to {anchor.file}; none was removed.",
            hint="Verify the audit, and rotate it again.",
        )
    audit.remove_until(run, group, anchor)


def to_entry(line: AuditLine) -> AuditEntry:
    """Return a line as the operations show it; raise StoreError if its text is damaged."""
    try:
        return AuditEntry.model_validate({"seq": line.seq, **decode_json(line.body, dict), "hash": line.hash})
    except ValidationError as error:
        raise make_damage_error() from error


def encode_entry(entry: dict[str, Any]) -> str:
    """Return the one way to write an entry, so that it can be hashed again from the JSON that a reader has."""
    return json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def hash_line(key: str, scope_id: str, group: str, seq: int, body: str, before: str) -> str:
    """Return the hash of a line that follows the one with the hash `before`."""
    text = "\n".join((scope_id, group, str(seq), before, body)).encode()
    return hmac.new(key.encode(), text, "sha256").hexdigest() if key else hashlib.sha256(text).hexdigest()


def seal_head(key: str, scope_id: str, group: str, seq: int, hash: str) -> str:
    """Return the seal of where a chain ends. No line has such a text, so it is the hash of no line."""
    return hash_line(key, scope_id, group, seq, "end", hash)


def seal_moved(key: str, scope_id: str, group: str, seq: int, hash: str) -> str:
    """Return the seal for the end of a file of moved lines.

    It differs from the seal of a head. Otherwise, the seal of the file could be copied into the database, and the chain
    there would seem to end where the file ends.
    """
    return hash_line(key, scope_id, group, seq, "moved", hash)


def seal_anchor(key: str, scope_id: str, group: str, seq: int, hash: str, file: str, digest: str) -> ChainAnchor:
    """Return an anchor with its seal, which is the hash of no line and of no end."""
    return ChainAnchor(seq, hash, file, digest, hash_line(key, scope_id, group, seq, f"start\n{file}\n{digest}", hash))


def is_sealed(key: str, scope_id: str, group: str, anchor: ChainAnchor) -> bool:
    """Return whether an anchor is as it was made."""
    return anchor == seal_anchor(key, scope_id, group, anchor.seq, anchor.hash, anchor.file, anchor.digest)


def _to_entry_fields(line: NewAuditLine, group: str, now: Micros) -> dict[str, Any]:
    required = {
        "timestamp": to_iso(now),
        "group": group,
        "source": line.source,
        "topic": line.topic,
        "correlation": line.correlation,
        "stage": line.stage,
        "outcome": line.outcome,
    }
    optional = {
        "reason": line.reason,
        "fieldPaths": list(line.field_paths) or None,
        "error": line.error,
        "phase": line.phase,
        "details": None if line.details is None else dict(line.details),
    }
    return required | {name: value for name, value in optional.items() if value is not None}
