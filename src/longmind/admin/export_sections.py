"""The parts of an export that a person reads: what the other services would give, and what they would not."""

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
    sleep_rules,
    spaces,
    summaries,
)
from longmind.validation.text import decode_json

Item = dict[str, Any]
Section = Callable[[Transaction, Scope], Iterator[Item]]


def _told(values: Iterable[Value]) -> Iterator[Item]:
    return (value.model_dump(mode="json") for value in values)


def _events(run: Transaction, scope: Scope) -> Iterator[Item]:
    """What stands in the ledger beside the messages."""
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
            "tags": _read(tags),
            "data": _read(data),
            "metrics": _read(metrics),
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
            "inputs": _read(inputs),
            "outputs": _read(outputs),
            "embedding": _read(embedding),
            "piiFlags": _read(pii_flags),
            "version": version,
        }


def _summaries(run: Transaction, scope: Scope) -> Iterator[Item]:
    for conversation_id, until, text, made_by, created_at in summaries.read_every_version(run):
        yield {
            "conversationId": conversation_id,
            "untilSeq": until,
            "text": text,
            "madeBy": made_by,
            "createdAt": to_iso(created_at),
        }


def _grants(run: Transaction, scope: Scope) -> Iterator[Item]:
    for space_id, owner_id, user_id, created_at in grants.read_every(run, scope):
        yield {"memorySpaceId": space_id, "ownerId": owner_id, "userId": user_id, "createdAt": to_iso(created_at)}


def _quotas(run: Transaction, scope: Scope) -> Iterator[Item]:
    for group, session_id, stores, supersedes, deletes, updated_at in quotas.read_every(run):
        counted = {"stores": stores, "supersedes": supersedes, "deletes": deletes}
        yield {"group": group, "sessionId": session_id, **counted, "updatedAt": to_iso(updated_at)}


def _sleep_time(run: Transaction, scope: Scope) -> Iterator[Item]:
    for agent_id, enabled, idle, updated_at in sleep_rules.read_every(run):
        yield {
            "agentId": agent_id or None,
            "enabled": bool(enabled),
            "idleSeconds": idle / 1_000_000,
            "updatedAt": to_iso(updated_at),
        }


def _audit(run: Transaction, scope: Scope) -> Iterator[Item]:
    for group, seq, body, hash in audit.read_every_line(run):
        yield {"group": group, "seq": seq, "entry": _read(body), "hash": hash}


def _read(text: str | None) -> Any:
    return None if text is None else decode_json(text, object)


SECTIONS: dict[str, Section] = {
    "conversations": lambda run, scope: _told(conversations.read_every(run)),
    "messages": lambda run, scope: _told(messages.read_every(run)),
    "spaces": lambda run, scope: _told(spaces.read_every(run)),
    "atoms": lambda run, scope: _told(atoms.read_every(run)),
    "entities": lambda run, scope: _told(entities.read_every(run)),
    "bindings": lambda run, scope: _told(bindings.read_every(run, scope)),
    "grants": _grants,
    "blocks": lambda run, scope: _told(blocks.read_every(run)),
    "block_revisions": lambda run, scope: _told(blocks.read_every_revision(run)),
    "events": _events,
    "summaries": _summaries,
    "jobs": lambda run, scope: _told(jobs.read_every(run)),
    "quotas": _quotas,
    "sleep_time": _sleep_time,
    "audit": _audit,
}


def nested(sections: dict[str, list[Item]]) -> dict[str, list[Item]]:
    """Messages with their conversations and revisions with their blocks, for who has all of it in memory."""
    messages = {
        key: list(group) for key, group in groupby(sections.pop("messages"), lambda each: each["conversationId"])
    }
    for conversation in sections["conversations"]:
        conversation["messages"] = messages.get(conversation["id"], [])
    revisions = sections.pop("block_revisions")
    for block in sections["blocks"]:
        block["revisions"] = [each for each in revisions if _of(each) == _of(block)]
    return sections


def _of(block: Item) -> tuple[Any, Any]:
    return block.get("agent_id", block.get("agentId")), block.get("block_type", block.get("blockType"))


def canonical(value: Any) -> bytes:
    """The one way to write JSON, so that it can be hashed again by who has read it."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
