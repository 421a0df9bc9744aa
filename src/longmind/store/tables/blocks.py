"""Memory blocks and their revisions.

A block is replaced as a whole, and only if it is still what the writer has read: by its instant for callers, by its
version for jobs. What it held before goes to its revisions, of which the newest are kept, and marked ones longer.

Transactions are bound to the owner of the blocks (`Scope.block_owner`). The scope that operations take besides is that
of the user of the app, whose history has their changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longmind.clock import Micros, to_iso
from longmind.errors import BlockConflict, NotFound
from longmind.ids import new_id
from longmind.models.block import Block, BlockRevision, BlockScope, BlockType, Writer, list_entries
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables.ledger import record_change
from longmind.validation.text import decode_json

REVISIONS_KEPT = 100
MARKED_REVISIONS_KEPT = 20
_USER = ""
"""The agent_id of blocks that belong to the user across all agents. It cannot be an agent's: those are not blank."""


@dataclass(frozen=True)
class BlockPlace:
    """A block of a user by its type and, if it belongs to one agent, that agent."""

    block_type: BlockType
    agent_id: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The key of its row."""
        return {"agent_id": self.agent_id or _USER, "block_type": self.block_type}

    @property
    def change_fields(self) -> dict[str, Any]:
        """The fields by which a recorded change names it."""
        return {"block_type": self.block_type, "agent_id": self.agent_id}

    @property
    def name(self) -> str:
        """Its name in messages."""
        owner = "the user" if self.agent_id is None else f"the agent {self.agent_id!r}"
        return f"{self.block_type} block of {owner}"


@dataclass(frozen=True)
class StoredBlock:
    """A block with the columns that are not shown."""

    block: Block
    updated_at: Micros
    line_times: tuple[Micros, ...]
    """The instants at which each line that is not blank was said or, if that is unknown, written."""
    written_by: Writer


def find(run: Transaction, place: BlockPlace) -> StoredBlock | None:
    """Return a block with the columns that are not shown; None when it was never written, or was deleted."""
    row = run.one("get_block", **place.columns)
    return _to_stored(row) if row else None


def hold(run: Transaction, place: BlockPlace) -> None:
    """Keep others from writing a block until the transaction ends. A block that is not there cannot be held."""
    run.one("hold_block", **place.columns)


def get(run: Transaction, place: BlockPlace) -> Block | None:
    """Return a block; None when it was never written, or was deleted."""
    kept = find(run, place)
    return kept.block if kept else None


def list_all(
    run: Transaction,
    *,
    users: bool,
    agents: bool,
    agent_id: str | None = None,
    block_type: BlockType | None = None,
    known_at: Micros | None = None,
) -> list[Block]:
    """Return blocks as they are, or as they were at an instant as far as their revisions are kept.

    users, agents: whether blocks of the user across all agents, and of single agents, are among them.
    agent_id, block_type: None lets every agent and type through.
    """
    filters = {"users": int(users), "agents": int(agents), "agent_id": agent_id, "block_type": block_type}
    if known_at is None:
        rows = run.all("list_blocks", **filters)
    else:
        rows = run.all("list_blocks_known_at", known_at=known_at, **filters)
    return [_to_stored(row).block for row in rows]


def update(
    run: Transaction, scope: Scope, place: BlockPlace, content: str, expected: Micros | None, by: Writer, now: Micros
) -> Block:
    """Replace a block that was read at an instant, or make one where there was none.

    Raise BlockConflict, which carries the block as it is now, if it was written since.
    """
    known = find(run, place)
    if (known.updated_at if known else None) != expected:
        raise _make_conflict(place, known, expected)
    written = write(run, scope, place, content, known, by, now)
    if written is not None:
        return written
    # Another writer was faster. Held, the block stays as the next look finds it.
    hold(run, place)
    return update(run, scope, place, content, expected, by, now)


def write(
    run: Transaction,
    scope: Scope,
    place: BlockPlace,
    content: str,
    known: StoredBlock | None,
    by: Writer,
    now: Micros,
    said_at: Mapping[str, Micros] | None = None,
) -> Block | None:
    """Write a block in the place of one that is known; return None, and write nothing, if it was written since.

    said_at: the instants at which lines were said, where that is known.
    """
    values = {
        **place.columns,
        "content": content,
        "line_times": json.dumps(_date_lines(content, known, said_at or {}, now), separators=(",", ":")),
        "written_by": by,
        "now": now,
    }
    if known is None:
        owner = scope.block_owner
        identity = {"tenant_id": owner.tenant_id, "app_id": owner.app_id, "user_id": owner.user_id}
        row = run.one("create_block", id=new_id("blk", now), **identity, **values)
    else:
        row = run.one("replace_block", id=known.block.id, version=known.block.version, **values)
    if row is None:
        return None
    written = _to_stored(row)
    if known is not None:
        _keep_revision(run, place, known, written, by)
    kind = "block.created" if known is None else "block.updated"
    _record_change(
        run,
        scope,
        kind,
        now,
        block_id=written.block.id,
        version=written.block.version,
        written_by=by,
        **place.change_fields,
    )
    return written.block


def delete(run: Transaction, scope: Scope, place: BlockPlace, expected: Micros | None, now: Micros) -> None:
    """Delete a block with its revisions; given an instant, only if it was not written since."""
    while True:
        # Without an instant it is deleted even if it is being written at the same time.
        hold(run, place)
        known = find(run, place)
        if known is None:
            raise NotFound("block", place.name)
        if expected is not None and known.updated_at != expected:
            raise _make_conflict(place, known, expected)
        version = known.block.version
        if run.one("delete_block", id=known.block.id, version=version, now=now, **place.columns) is not None:
            break
        # There was no row to hold, and one was made and written since. Now it can be held.
    run.send("drop_revisions", **place.columns)
    _record_change(run, scope, "block.deleted", now, block_id=known.block.id, **place.change_fields)


def list_revisions(run: Transaction, place: BlockPlace, limit: int) -> list[BlockRevision]:
    """Return what a block held before, newest first."""
    return [_to_revision(row) for row in run.all("list_revisions", limit=limit, **place.columns)]


def read_every(run: Transaction) -> Iterator[Block]:
    """Yield all blocks of a user. Only inside of `read_snapshot`."""
    return (_to_stored(row).block for row in run.each("every_block"))


def read_every_revision(run: Transaction) -> Iterator[BlockRevision]:
    """Yield what all blocks of a user held before. Only inside of `read_snapshot`."""
    return map(_to_revision, run.each("every_revision"))


def list_every_revision(run: Transaction) -> list[tuple[BlockPlace, BlockRevision]]:
    """Return what all blocks of a user held before, each with its block."""
    revisions = [_to_revision(row) for row in run.all("every_revision")]
    return [(BlockPlace(revision.block_type, revision.agent_id), revision) for revision in revisions]


def rewrite_revision(run: Transaction, place: BlockPlace, revision: int, content: str) -> None:
    """Replace the content of a revision, for what has to be forgotten."""
    run.send("rewrite_revision", version=revision, content=content, **place.columns)


def restore(
    run: Transaction, scope: Scope, place: BlockPlace, revision: int, expected: Micros | None, now: Micros
) -> Block:
    """Write what a block held before as a new version; raise NotFound if that revision is not kept."""
    row = run.one("get_revision", version=revision, **place.columns)
    if row is None:
        raise NotFound(f"revision of the {place.name}", str(revision))
    return update(run, scope, place, _to_revision(row).content, expected, "app", now)


def is_much_shorter(new: str, old: str) -> bool:
    """Return whether less than half of a text is left."""
    return 2 * len(new) < len(old)


def _record_change(run: Transaction, scope: Scope, kind: str, now: Micros, **data: Any) -> None:
    """Record a change of a block in the history of the app that made it, which its owner's is not if apps share it."""
    if run.scope_id == scope.id:
        record_change(run, scope, kind, now, **data)
        return
    with run.bind_scope(scope) as own_run:
        record_change(own_run, scope, kind, now, **data)


def _keep_revision(run: Transaction, place: BlockPlace, known: StoredBlock, written: StoredBlock, by: Writer) -> None:
    marked = by != "app" and is_much_shorter(written.block.content, known.block.content)
    run.send(
        "insert_revision",
        version=known.block.version,
        content=known.block.content,
        written_by=known.written_by,
        updated_at=known.updated_at,
        replaced_at=written.updated_at,
        shrunk=int(marked),
        **place.columns,
    )
    # Many small writes push out each other's revisions, but not the one from before a mishap.
    run.send("drop_old_revisions", until=known.block.version - REVISIONS_KEPT, **place.columns)
    if marked:
        run.send("drop_old_marked_revisions", limit=MARKED_REVISIONS_KEPT, **place.columns)


def _date_lines(content: str, known: StoredBlock | None, said_at: Mapping[str, Micros], now: Micros) -> list[Micros]:
    """Return when each line was said: as the caller says, else as known of an equal line before, else now."""
    before = dict(zip(known.block.entries, known.line_times, strict=True)) if known else {}
    return [said_at.get(line, before.get(line, now)) for line in list_entries(content)]


def _make_conflict(place: BlockPlace, known: StoredBlock | None, expected: Micros | None) -> BlockConflict:
    read_at = None if expected is None else to_iso(expected)
    return BlockConflict(place.name, known.block if known else None, read_at)


def _name_scope(agent_id: str | None) -> BlockScope:
    return "user" if agent_id is None else "agent"


def _to_stored(row: Row) -> StoredBlock:
    id, block_type, content, agent_id, created_at, updated_at, version, line_times, written_by = row
    block = Block.from_trusted(
        {
            "id": id,
            "block_type": block_type,
            "content": content,
            "scope": _name_scope(agent_id or None),
            "agent_id": agent_id or None,
            "created_at": to_iso(created_at),
            "updated_at": to_iso(updated_at),
            "version": version,
        }
    )
    return StoredBlock(block, updated_at, tuple(decode_json(line_times, list)), written_by)


def _to_revision(row: Row) -> BlockRevision:
    version, block_type, agent_id, content, written_by, updated_at, replaced_at, shrunk = row
    return BlockRevision.from_trusted(
        {
            "revision": version,
            "block_type": block_type,
            "scope": _name_scope(agent_id or None),
            "agent_id": agent_id or None,
            "content": content,
            "written_by": written_by,
            "updated_at": to_iso(updated_at),
            "replaced_at": to_iso(replaced_at),
            "shrunk": bool(shrunk),
        }
    )
