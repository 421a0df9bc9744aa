"""The log of an app: a chain of the audit that records exports, imports and erasures of users' data.

It names nobody. The acting user and the user whose data it was stand there as hashes, keyed where the host has set an
audit key; with the ids, and the key, the same hashes can be made again to find the lines. So the log survives the
erasure of the users that it is about.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from longmind.audit import chain
from longmind.audit.chain import NewAuditLine
from longmind.clock import Micros, to_iso
from longmind.models.tool import Outcome
from longmind.scope import AppScope, Scope
from longmind.store.database import Transaction
from longmind.store.tables import audit

GROUP = "admin"
TOPIC = "admin."


def pseudonym(key: str, scope: Scope) -> str:
    """Return the hash that stands for a user in the log."""
    text = scope.id.encode()
    return hmac.new(key.encode(), text, "sha256").hexdigest() if key else hashlib.sha256(text).hexdigest()


def to_log_owner(scope: Scope) -> Scope:
    """Return the app of a user as the owner of its log."""
    return replace(AppScope.from_scope(scope), group=GROUP)


def record(
    run: Transaction,
    key: str,
    actor: Scope,
    operation: str,
    correlation: str,
    details: Mapping[str, Any],
    now: Micros,
    outcome: Outcome = "routed",
) -> dict[str, Any]:
    """Add a line to the log of the actor's app, and return it with its number and hash: a receipt.

    actor: the user who asked for the operation.
    correlation: the id of the receipt.
    details: further fields, which must not name anybody.
    """
    line = NewAuditLine(
        source=pseudonym(key, actor),
        topic=f"{TOPIC}{operation}",
        correlation=correlation,
        stage=1,
        outcome=outcome,
        details=details,
    )
    owner = to_log_owner(actor)
    with run.bind_scope(owner) as log:
        chain.append(log, owner, [line], key, now)
        (logged_line,) = audit.list_lines(log, GROUP, correlation=correlation, topic=line.topic, limit=1)
    return {"id": correlation, "at": to_iso(now), **details, "seq": logged_line.seq, "hash": logged_line.hash}


def is_proven(run: Transaction, key: str, owner: Scope, receipt: Mapping[str, Any]) -> bool:
    """Return whether a receipt stands in the log word for word, and its line is chained to the one before."""
    # A receipt comes from outside, so none of its fields is believed.
    found = audit.list_lines(run, GROUP, correlation=str(receipt.get("id")), limit=1)
    if not found:
        return False
    line = found[0]
    before = audit.read_hash(run, GROUP, line.seq - 1)
    head = audit.read_head(run, GROUP)
    hash_before = before or (head.anchor.hash if head is not None and head.anchor.seq == line.seq - 1 else "")
    entry = json.loads(line.body)
    logged = {
        "id": line.correlation,
        "at": to_iso(line.at),
        **entry.get("details", {}),
        "seq": line.seq,
        "hash": line.hash,
    }
    whole = chain.hash_line(key, owner.id, GROUP, line.seq, line.body, hash_before) == line.hash
    return whole and all(logged.get(name) == value for name, value in receipt.items())
