"""Rows of the audit: lines in chains, one chain for each group of a scope, and a head row for each chain.

These functions move rows and check nothing. `longmind.audit.chain` computes the hashes and seals that stand in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from longmind.clock import Micros
from longmind.errors import InvalidIdentity
from longmind.scope import Scope, make_owner_scope
from longmind.store.database import Row, Transaction


@dataclass(frozen=True)
class AuditLine:
    """A line as it is stored: `body` is the JSON that was hashed, the other columns are for looking it up."""

    seq: int
    at: Micros
    correlation: str
    topic: str
    outcome: str
    body: str
    hash: str


@dataclass(frozen=True)
class ChainAnchor:
    """The last line that was moved to a file, and the name and the SHA-256 of that file; the seal covers all of it."""

    seq: int = 0
    hash: str = ""
    file: str = ""
    digest: str = ""
    seal: str = ""


NO_ANCHOR = ChainAnchor()
"""The anchor of a chain of which no line was moved."""


@dataclass(frozen=True)
class ChainHead:
    """The end of a chain: number and hash of its last line, the seal of both, and the anchor that it begins after."""

    seq: int
    hash: str
    seal: str
    anchor: ChainAnchor = NO_ANCHOR


@dataclass(frozen=True)
class AuditChain:
    """A chain as its rows name it: its scope and group, and its owner if the head says whose it is."""

    scope_id: str
    group: str
    owner: Scope | None
    """None where the head is missing or names nobody: only the head says whose chain it is."""


def hold_head(run: Transaction, scope: Scope, group: str) -> ChainHead:
    """Return the end of a chain, without its anchor, and keep others from appending until the transaction ends.

    The row is made if the chain has no line yet.
    """
    row = run.one("hold_audit_head", group=group, tenant_id=scope.tenant_id, app_id=scope.app_id, user_id=scope.user_id)
    return ChainHead(*(row or (0, "", "")))


def read_head(run: Transaction, group: str) -> ChainHead | None:
    """Return the end of a chain with its anchor; None when the chain has no head."""
    row = run.one("audit_head", group=group)
    if row is None:
        return None
    seq, hash, seal, *anchor = row
    return ChainHead(seq, hash, seal, ChainAnchor(*anchor))


def insert(run: Transaction, group: str, line: AuditLine) -> None:
    """Add a line. The caller holds the head of its chain."""
    run.send("insert_audit", group=group, **vars(line))


def move_head(run: Transaction, group: str, seq: int, hash: str, seal: str) -> None:
    """Let a chain end at another line. The caller holds the head."""
    run.send("move_audit_head", group=group, seq=seq, hash=hash, seal=seal)


def list_lines(
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
) -> list[AuditLine]:
    """Return lines of a chain in their order; the instants are part of the range."""
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
    return [AuditLine(*row) for row in rows]


def read_hash(run: Transaction, group: str, seq: int) -> str | None:
    """Return the hash of one line of a chain; None when it was moved to a file, or never was."""
    row = run.one("audit_line_before", group=group, seq=seq)
    return None if row is None else row[0]


def count_until(run: Transaction, group: str, last: int) -> int:
    """Return how many lines of a chain there are up to a number, that line included."""
    row = run.one("count_audit", group=group, last=last)
    return int(row[0]) if row else 0


def remove_until(run: Transaction, group: str, anchor: ChainAnchor) -> None:
    """Remove the lines up to an anchor, and let the chain begin there."""
    run.send("remove_audit", group=group, last=anchor.seq)
    run.send("anchor_audit", group=group, **vars(anchor))


def list_chains(run: Transaction) -> list[AuditChain]:
    """Return the chains of all users, those without a head included."""
    return [_to_chain(row) for row in run.all("audit_chains")]


def list_ends(run: Transaction) -> list[tuple[int, str, str]]:
    """Return the number and hash of the last line of each chain of a user, and the file that older lines are in."""
    return [(seq, hash, file) for seq, hash, file in run.all("audit_ends")]


def read_every_line(run: Transaction) -> Iterator[tuple[str, int, str, str]]:
    """Yield group, number, body and hash of each line of a user. Only inside of `read_snapshot`."""
    yield from run.each("every_audit_line")


def _to_chain(row: Row) -> AuditChain:
    tenant_id, app_id, user_id, group, scope_id = row
    try:
        return AuditChain(scope_id, group, None if tenant_id is None else make_owner_scope(tenant_id, app_id, user_id))
    except InvalidIdentity:
        return AuditChain(scope_id, group, None)
