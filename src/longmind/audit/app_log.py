"""The log of what was done to the data of users, one chain for each app, in the audit.

It names nobody: who did it and whose data it was stand there as hashes, keyed where the host has set a key. Who knows
the ids can make the same hashes and find the lines again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from longmind.clock import Micros, to_iso
from longmind.models.tool import Outcome
from longmind.scope import AppScope, Scope
from longmind.store.database import Transaction
from longmind.store.tables import audit
from longmind.store.tables.audit import NewLine

GROUP = "admin"
TOPIC = "admin."


def pseudonym(key: str, scope: Scope) -> str:
    """What stands for a user in the log."""
    text = scope.id.encode()
    return hmac.new(key.encode(), text, "sha256").hexdigest() if key else hashlib.sha256(text).hexdigest()


def owner_of(scope: Scope) -> Scope:
    """The app as the owner of its log."""
    return replace(AppScope.from_scope(scope), group=GROUP)


def note(
    run: Transaction,
    key: str,
    actor: Scope,
    operation: str,
    correlation: str,
    details: Mapping[str, Any],
    now: Micros,
    outcome: Outcome = "routed",
) -> dict[str, Any]:
    """Add a line, and give what stands in it."""
    line = NewLine(
        source=pseudonym(key, actor),
        topic=f"{TOPIC}{operation}",
        correlation=correlation,
        stage=1,
        outcome=outcome,
        details=details,
    )
    owner = owner_of(actor)
    with run.bind_scope(owner) as log:
        audit.append(log, owner, [line], key, now)
        (kept,) = audit.find(log, GROUP, correlation=correlation, topic=line.topic, limit=1)
    return {"id": correlation, "at": to_iso(now), **details, "seq": kept.seq, "hash": kept.hash}


def proves(run: Transaction, key: str, owner: Scope, receipt: Mapping[str, Any]) -> bool:
    """Whether a receipt stands in the log as it is, and the line of it is chained to the one before."""
    found = audit.find(run, GROUP, correlation=str(receipt.get("id")), limit=1)
    if not found:
        return False
    line = found[0]
    before = audit.read_hash(run, GROUP, line.seq - 1)
    head = audit.head(run, GROUP)
    hash_before = before or (head.anchor.hash if head is not None and head.anchor.seq == line.seq - 1 else "")
    entry = json.loads(line.body)
    told = {
        "id": line.correlation,
        "at": to_iso(line.at),
        **entry.get("details", {}),
        "seq": line.seq,
        "hash": line.hash,
    }
    whole = audit.chained(key, owner.id, GROUP, line.seq, line.body, hash_before) == line.hash
    return whole and all(told.get(name) == value for name, value in receipt.items())
