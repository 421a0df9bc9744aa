"""Sections of an export for people to read: what the other services return, and what they do not show.

Every section is read from one snapshot, row by row, and in an order that does not depend on the engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from longmind.clock import to_iso
from longmind.models.value import Value
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import (
    atom_decisions,
    atoms,
    audit,
    bindings,
    blocks,
    conversations,
    entities,
    events,
    grants,
    jobs,
    messages,
    quotas,
    sleep_time_rules,
    spaces,
    summaries,
)
from longmind.validation.text import decode_json

Item = dict[str, Any]
Section = Callable[[Transaction, Scope], Iterator[Item]]


def _dump(values: Iterable[Value]) -> Iterator[Item]:
    return (value.model_dump(mode="json") for value in values)


def _export_events(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield the rows of the ledger that are no messages."""
    for (
        id, ts, kind, stage, text, tags, data, metrics, topic, severity, signal, timeline_id, conversation_id,
        session_id, agent_id, run_id, client_id, graph_id, node_id, inputs, outputs, embedding, pii_flags, version,
    ) in events.read_every_row(run):  # fmt: skip
        yield {
            "id": id,
            "at": to_iso(ts),
            "kind": kind,
            "stage": stage,
            "text": text,
            "tags": _decode(tags),
            "data": _decode(data),
            "metrics": _decode(metrics),
            "topic": topic,
            "severity": severity,
            "signal": signal,
            "timelineId": timeline_id,
            "conversationId": conversation_id,
            "sessionId": session_id,
            "agentId": agent_id,
            "runId": run_id,
            "clientId": client_id,
            "graphId": graph_id,
            "nodeId": node_id,
            "inputs": _decode(inputs),
            "outputs": _decode(outputs),
            "embedding": _decode(embedding),
            "piiFlags": _decode(pii_flags),
            "version": version,
        }


def _export_summaries(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield every version of every rolling summary."""
    for conversation_id, until, text, made_by, created_at in summaries.read_every_version(run):
        yield {
            "conversationId": conversation_id,
            "untilSeq": until,
            "text": text,
            "madeBy": made_by,
            "createdAt": to_iso(created_at),
        }


def _export_grants(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield the grants that the user gave and those that the user has."""
    for space_id, owner_id, user_id, created_at in grants.read_every(run, scope):
        yield {"memorySpaceId": space_id, "ownerId": owner_id, "userId": user_id, "createdAt": to_iso(created_at)}


def _export_quotas(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield how often each session has used the memory tools."""
    for group, session_id, stores, supersedes, deletes, updated_at in quotas.read_every(run):
        counted = {"stores": stores, "supersedes": supersedes, "deletes": deletes}
        yield {"group": group, "sessionId": session_id, **counted, "updatedAt": to_iso(updated_at)}


def _export_sleep_time(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield the rules of sleep-time memory."""
    for agent_id, enabled, idle, updated_at in sleep_time_rules.read_every(run):
        yield {
            "agentId": agent_id or None,
            "enabled": bool(enabled),
            "idleSeconds": idle / 1_000_000,
            "updatedAt": to_iso(updated_at),
        }


def _export_audit(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield the lines of the audit with their hashes, which a reader can check."""
    for group, seq, body, hash in audit.read_every_line(run):
        yield {"group": group, "seq": seq, "entry": _decode(body), "hash": hash}


def _decode(text: str | None) -> Any:
    return None if text is None else decode_json(text, object)


# The order of the sections is that of the document, and part of its bytes.
SECTIONS: dict[str, Section] = {
    "conversations": lambda run, scope: _dump(conversations.read_every(run)),
    "messages": lambda run, scope: _dump(messages.read_every(run)),
    "spaces": lambda run, scope: _dump(spaces.read_every(run)),
    "atoms": lambda run, scope: _dump(atoms.read_every(run)),
    "decisions": lambda run, scope: _dump(atom_decisions.read_every(run)),
    "entities": lambda run, scope: _dump(entities.read_every(run)),
    "bindings": lambda run, scope: _dump(bindings.read_every(run, scope)),
    "grants": _export_grants,
    "blocks": lambda run, scope: _dump(blocks.read_every(run)),
    "block_revisions": lambda run, scope: _dump(blocks.read_every_revision(run)),
    "events": _export_events,
    "summaries": _export_summaries,
    "jobs": lambda run, scope: _dump(jobs.read_every(run)),
    "quotas": _export_quotas,
    "sleep_time": _export_sleep_time,
    "audit": _export_audit,
}


def _export_tenant_blocks(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield the blocks that the app shares with others of the tenant."""
    with run.bind_scope(scope.block_owner) as owner_run:
        yield from _dump(blocks.read_every(owner_run))


def _export_tenant_revisions(run: Transaction, scope: Scope) -> Iterator[Item]:
    """Yield the revisions of these blocks."""
    with run.bind_scope(scope.block_owner) as owner_run:
        yield from _dump(blocks.read_every_revision(owner_run))


TENANT_SECTIONS: dict[str, Section] = {
    "tenant_blocks": _export_tenant_blocks,
    "tenant_block_revisions": _export_tenant_revisions,
}


def list_sections(scope: Scope) -> dict[str, Section]:
    """Return the sections of a user's export; those of the tenant only where the app shares blocks."""
    return SECTIONS if scope.block_owner is scope else {**SECTIONS, **TENANT_SECTIONS}


def nest_sections(sections: dict[str, list[Item]]) -> dict[str, list[Item]]:
    """Put messages into their conversations, and revisions into their blocks, for a document that is all in memory."""
    messages = {
        key: list(group) for key, group in groupby(sections.pop("messages"), lambda each: each["conversationId"])
    }
    for conversation in sections["conversations"]:
        conversation["messages"] = messages.get(conversation["id"], [])
    for place in ("blocks", "tenant_blocks"):
        revisions = sections.pop(f"{place[:-1]}_revisions", [])
        for block in sections.get(place, []):
            block["revisions"] = [each for each in revisions if _identify(each) == _identify(block)]
    return sections


def _identify(block: Item) -> tuple[Any, Any]:
    # A section has the names of the model, or those of JSON.
    return block.get("agent_id", block.get("agentId")), block.get("block_type", block.get("blockType"))


def encode_canonical(value: Any) -> bytes:
    """Return the one way to write a value as JSON, so that a reader can hash it again."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
