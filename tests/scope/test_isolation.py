"""Nobody sees, changes or counts anything of anybody else: the whole table of operations is tried."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

import longmind
from longmind.context import SERVICE_NAMES
from longmind.models.space import SpaceKind
from longmind.models.value import Value
from longmind.operations import OPERATIONS, Operation
from longmind.providers.language_model import BoundTool
from longmind.providers.testing import ScriptedModel
from longmind.store.tables import conversations as store
from tests.embedder import WordsEmbedder
from tests.scope.identities import LEGAL

OWNER: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}
SECRET = "The secret of Ada"
ID = re.compile(r"\b(?:(conv|msg|turn|evt|job|ms|atom|ent|bind|blk|call|dec|ses|era)_[0-9a-f]{32}|mem-[0-9a-f-]{36})")


@dataclass(frozen=True)
class Things:
    """What somebody has, and what a stranger could get hold of."""

    conversation_id: str
    closed_id: str
    cursor: str
    dead_job_id: str
    queued_job_id: str
    job_cursor: str
    message_id: str
    space_id: str
    spare_space_id: str
    deleted_space_id: str
    atom_id: str
    superseded_id: str
    archived_id: str
    entity_id: str
    other_entity_id: str
    merged_entity_id: str
    binding_id: str
    shared_space_id: str
    entry_id: str
    superseded_entry_id: str
    event_id: str
    decision_id: str
    default_space_id: str


EVERYBODY = {"namespace": "bound", "userId": "*"}
TOOL = {"type": "RECALL_BY_TOPIC", "name": "recallMemory", "memorySpaceId": "$userMemorySpaceId"}
LONG_AGO = "2020-01-01T00:00:00Z"
NEW_ATOM: dict[str, Any] = {"text": "Let me in.", "category": {"name": "notes", "kind": "FACT"}}
KEY = "flat"
"""The app's own name for a fact of everybody."""


# What to ask with somebody's things in hand. An operation that is added to the table is added here.
ARGUMENTS: dict[str, list[Callable[[Things], dict[str, Any]]]] = {
    "conversations.get_conversation": [
        lambda things: {"conversation_id": things.conversation_id},
        lambda things: {"conversation_id": things.closed_id},
    ],
    "conversations.list_conversations": [
        lambda _: {},
        lambda _: {"namespace": "daily-checkin", "status": "open", "limit": 1},
        lambda things: {"cursor": things.cursor},
    ],
    "conversations.get_messages": [
        lambda things: {"conversation_id": things.conversation_id, "include_internal": True},
        lambda things: {"conversation_id": things.closed_id, "limit": 1, "before": 2},
    ],
    "working_context.build_memory_context": [
        lambda things: {"memory_space_id": things.space_id, "query": "Hello"},
        lambda things: {"memory_space_id": things.shared_space_id, "query": "Hello"},
        lambda things: {"memory_space_id": things.deleted_space_id, "query": "Hello"},
        lambda _: {"memory_space_id": "personal", "query": SECRET, "memory_policy": {"archival_mode": "auto"}},
    ],
    "working_context.build_working_context": [
        lambda things: {"conversation_id": things.conversation_id, "memory_space_id": things.space_id},
        lambda things: {
            "conversation_id": things.closed_id,
            "memory_space_id": things.space_id,
            "recall_query": "Hello",
            "always_on_category_names": ["home"],
        },
        lambda things: {
            "conversation_id": things.conversation_id,
            "memory_space_id": things.space_id,
            "recall_query": SECRET,
            "memory_policy": {"archival_mode": "auto"},
            "agent_id": "planner",
        },
    ],
    "conversations.get_raw_turns": [
        lambda things: {"conversation_id": things.conversation_id, "include_hidden": True},
        lambda things: {"conversation_id": things.conversation_id, "latest_attempts": True},
    ],
    "conversations.create_conversation": [
        lambda _: {"namespace": "daily-checkin", "title": "A new one", "session_id": "session-1"},
    ],
    "events.recent": [lambda _: {}, lambda _: {"kinds": ["note", "chat.turn"], "level": "org", "return_event": False}],
    "events.recent_persisted": [
        lambda _: {},
        lambda _: {"tags": ["private"], "since": LONG_AGO, "level": "user", "offset": 1},
    ],
    "events.get_event": [
        lambda things: {"event_id": things.event_id},
        lambda things: {"event_id": things.message_id},
    ],
    "events.recent_chat": [
        lambda _: {},
        lambda _: {"roles": ["user"], "tags": ["private"], "level": "org", "use_persistence": True},
    ],
    "events.recent_tool_results": [lambda _: {"tool": "search"}],
    "events.latest_state": [
        lambda _: {"key": "planner"},
        lambda _: {"key": "planner", "level": "user", "use_persistence": True},
    ],
    "events.state_history": [lambda _: {"key": "planner", "level": "org", "use_persistence": True}],
    "events.search": [
        lambda _: {"query": SECRET},
        lambda _: {"query": SECRET, "mode": "hybrid", "level": "org", "time_window": "7d"},
        lambda _: {"tags": ["private"]},
    ],
    "events.search_state": [lambda _: {"query": SECRET}, lambda _: {"query": "", "key": "planner", "top_k": 100}],
    "events.usage": [lambda _: {}, lambda _: {"since": LONG_AGO}],
    "events.record_raw": [
        lambda _: {"base": {"kind": "note"}, "text": "Let me in."},
        lambda _: {"base": {"kind": "note", "user_id": "ada"}, "text": "I am she."},
        lambda _: {"base": {"kind": "note", "org_id": "acme", "scope_id": "org:acme:user:ada"}},
    ],
    "events.record": [lambda _: {"kind": "note", "data": {"words": "Let me in."}}],
    "events.record_many": [lambda _: {"events": [{"kind": "note", "text": "Let me in."}] * 2}],
    "events.record_chat": [lambda _: {"role": "user", "text": "Let me in."}],
    "events.record_chat_user": [lambda _: {"text": "Let me in."}],
    "events.record_chat_assistant": [lambda _: {"text": "Let me in."}],
    "events.record_chat_system": [lambda _: {"text": "Let me in."}],
    "events.record_tool_result": [lambda _: {"tool": "search", "message": "Let me in."}],
    "events.record_state": [lambda _: {"key": "planner", "value": "Let me in."}],
    "conversations.append_user_message": [
        lambda things: {"conversation_id": things.conversation_id, "content": "Let me in."},
        # The key that the owner has used, with the same words and with others.
        lambda things: {"conversation_id": things.conversation_id, "content": "Hello.", "idempotency_key": "key-1"},
        lambda things: {"conversation_id": things.conversation_id, "content": "Bye.", "idempotency_key": "key-1"},
        lambda things: {"conversation_id": things.closed_id, "content": "Let me in."},
    ],
    "conversations.append_assistant_turn": [
        lambda things: {"conversation_id": things.conversation_id, "content": "Let me in."},
        lambda things: {"conversation_id": things.closed_id, "content": "Let me in."},
    ],
    "conversations.append_tool_result": [
        lambda things: {"conversation_id": things.conversation_id, "tool_use_id": "call-1", "content": "Let me in."},
        lambda things: {"conversation_id": things.closed_id, "tool_use_id": "call-1", "content": "Let me in."},
    ],
    "conversations.append_system_message": [
        lambda things: {"conversation_id": things.conversation_id, "content": "Let me in."},
        lambda things: {"conversation_id": things.closed_id, "content": "Let me in."},
    ],
    "conversations.append_turn": [
        lambda things: {
            "conversation_id": things.conversation_id,
            "user_content": "Hello.",
            "assistant": {"content": "Hello!"},
            "idempotency_key": "key-1",
        },
        lambda things: {
            "conversation_id": things.closed_id,
            "user_content": "Hello.",
            "assistant": {"content": "Hello!"},
        },
    ],
    "conversations.append_messages": [
        lambda things: {
            "conversation_id": things.conversation_id,
            "messages": [{"role": "user", "content": "I am in."}],
        },
        lambda things: {"conversation_id": things.closed_id, "messages": [{"role": "user", "content": "I am in."}]},
        lambda _: {
            "namespace": "chat",
            "messages": [{"role": "user", "content": "I am in."}],
            "extract": True,
            "fact_metadata": {"from": "a stranger"},
        },
    ],
    "conversations.find_messages": [lambda things: {"message_ids": [things.message_id]}],
    "conversations.run_turn": [
        lambda things: {
            "conversation_id": things.conversation_id,
            "user_text": "Hello.",
            "model": ScriptedModel(["Hello!"]),
            "idempotency_key": "key-1",
        },
        lambda things: {
            "conversation_id": things.closed_id,
            "user_text": "Hello.",
            "model": ScriptedModel(["Hello!"]),
        },
    ],
    "conversations.close_conversation": [
        lambda things: {"conversation_id": things.conversation_id},
        lambda things: {"conversation_id": things.closed_id},
    ],
    "conversations.close_stale": [
        lambda _: {"idle": 0},
        lambda _: {"idle": timedelta(0), "namespace": "daily-checkin"},
    ],
    "conversations.refresh_rolling_summary": [
        lambda things: {"conversation_id": things.conversation_id},
        lambda things: {"conversation_id": things.closed_id},
    ],
    "memory.get_memory_space": [
        lambda things: {"memory_space_id": things.space_id},
        lambda things: {"memory_space_id": things.deleted_space_id},
        lambda things: {"memory_space_id": things.shared_space_id},
        lambda things: {"memory_space_id": things.default_space_id},
        lambda _: {"memory_space_id": "personal"},
    ],
    "memory.list_memory_spaces": [lambda _: {}],
    "memory.open_default_space": [lambda _: {}],
    "memory.list_shared_spaces": [lambda _: {}, lambda things: {"limit": 1, "cursor": things.space_id}],
    "memory.list_grants": [
        lambda things: {"memory_space_id": things.space_id},
        lambda things: {"memory_space_id": things.shared_space_id},
    ],
    "memory.grant_space": [
        lambda things: {"memory_space_id": things.shared_space_id, "reader": "*"},
        lambda things: {"memory_space_id": things.shared_space_id, "reader": "somebody"},
        lambda things: {"memory_space_id": things.space_id, "reader": "*"},
        lambda things: {"memory_space_id": things.deleted_space_id, "reader": "zoe"},
    ],
    "memory.revoke_space": [
        lambda things: {"memory_space_id": things.shared_space_id, "reader": "zoe"},
        lambda things: {"memory_space_id": things.space_id, "reader": "*"},
    ],
    "memory.get_atom": [
        lambda things: {"atom_id": things.atom_id},
        lambda things: {"atom_id": things.superseded_id},
        lambda things: {"atom_id": things.archived_id},
    ],
    "memory.list_atoms": [
        lambda things: {"memory_space_id": things.space_id, "status": None},
        lambda things: {"memory_space_id": things.space_id, "limit": 1, "cursor": "3"},
        lambda things: {"memory_space_id": things.deleted_space_id},
        lambda things: {"memory_space_id": things.space_id, "metadata": {"about": SECRET}, "tags": [SECRET]},
        lambda _: {"memory_space_id": "personal", "metadata": {"about": SECRET}, "status": None},
    ],
    "memory.get_entity": [
        lambda things: {"entity_id": things.entity_id},
        lambda things: {"entity_id": things.merged_entity_id},
    ],
    "memory.find_entity_by_name": [
        lambda things: {"memory_space_id": things.space_id, "type": "PLACE", "name": "graz"},
    ],
    "memory.search_entities": [
        lambda things: {"memory_space_id": things.space_id, "query": ""},
        lambda things: {"memory_space_id": things.space_id, "query": "graz", "type": "PLACE", "limit": 1},
    ],
    "memory.recall_by_topic": [
        lambda things: {"memory_space_id": things.space_id, "query": SECRET, "explain": True},
        lambda things: {"memory_space_id": things.space_id, "query": "", "entity": things.entity_id},
        lambda things: {"memory_space_id": things.spare_space_id, "query": "Graz", "entity": things.entity_id},
        lambda things: {"memory_space_id": things.deleted_space_id, "query": SECRET},
        lambda things: {"memory_space_id": things.shared_space_id, "query": SECRET},
        lambda things: {"memory_space_id": things.space_id, "query": SECRET, "metadata": {"about": SECRET}},
        lambda _: {"memory_space_id": "personal", "query": SECRET, "metadata": {"about": SECRET}},
    ],
    "memory.recall_by_entity": [
        lambda things: {"memory_space_id": things.space_id, "entity_id_or_name": things.entity_id},
        lambda things: {"memory_space_id": things.space_id, "entity_id_or_name": things.merged_entity_id},
        lambda things: {"memory_space_id": things.space_id, "entity_id_or_name": "Graz"},
    ],
    "memory.recall_timeline": [
        lambda things: {"memory_space_id": things.space_id},
        lambda things: {"memory_space_id": things.space_id, "entity_id_or_name": things.entity_id},
        lambda things: {"memory_space_id": things.space_id, "query": SECRET, "to": "2027-01-01T00:00:00Z"},
    ],
    "memory.why_not": [
        lambda things: {"atom_id": things.atom_id, "query": SECRET},
        lambda things: {"atom_id": things.superseded_id, "query": SECRET},
        lambda things: {"atom_id": things.archived_id, "query": SECRET, "entity": things.entity_id},
    ],
    "memory.agent_tools": [
        lambda things: {"definitions": [{**TOOL, "memorySpaceId": things.space_id}]},
        lambda things: {"definitions": TOOL, "arguments": {"userMemorySpaceId": things.space_id}},
    ],
    "memory.create_memory_space": [
        lambda _: {"name": "personal", "metadata": {"from": "a stranger"}},
        lambda _: {"name": "a new one"},
        lambda _: {"name": "shared", "kind": "shared"},
        lambda _: {},
    ],
    "memory.delete_memory_space": [
        lambda things: {"memory_space_id": things.spare_space_id},
        lambda things: {"memory_space_id": things.deleted_space_id},
    ],
    "memory.add_atom": [
        lambda things: {"memory_space_id": things.space_id, "atom": NEW_ATOM},
        lambda things: {"memory_space_id": things.deleted_space_id, "atom": NEW_ATOM},
        lambda things: {"memory_space_id": things.shared_space_id, "atom": NEW_ATOM},
        lambda things: {
            "memory_space_id": things.space_id,
            "atom": {**NEW_ATOM, "entity_ids": [things.entity_id], "source_message_ids": [things.message_id]},
        },
        # The key that the owner has used, in a space of hers and in one's own of the same name.
        lambda things: {"memory_space_id": things.space_id, "atom": NEW_ATOM, "key": KEY},
        lambda _: {"memory_space_id": "personal", "atom": NEW_ATOM, "key": KEY, "metadata": {"from": "me"}},
    ],
    "memory.add_atoms": [
        lambda things: {"memory_space_id": things.space_id, "atoms": [NEW_ATOM, NEW_ATOM]},
        lambda things: {
            "memory_space_id": things.space_id,
            "atoms": [NEW_ATOM, {**NEW_ATOM, "source_conversation_id": things.conversation_id}],
        },
    ],
    "memory.supersede_atom": [
        lambda things: {"atom_id": things.atom_id, "atom": NEW_ATOM},
        lambda things: {"atom_id": things.superseded_id, "atom": NEW_ATOM},
        lambda things: {"atom_id": things.atom_id, "atom": NEW_ATOM, "key": KEY, "tags": ["a stranger's"]},
    ],
    "memory.list_decisions": [
        lambda things: {"memory_space_id": things.spare_space_id},
        lambda things: {"memory_space_id": things.spare_space_id, "atom_id": things.atom_id, "cursor": "99-0"},
        lambda things: {"memory_space_id": things.deleted_space_id},
    ],
    "memory.undo_decision": [
        lambda things: {"decision_id": things.decision_id},
        lambda things: {"decision_id": things.decision_id, "take_back": True},
    ],
    "memory.restore_atom": [
        lambda things: {"atom_id": things.superseded_id},
        lambda things: {"atom_id": things.atom_id},
    ],
    "memory.archive_atom": [
        lambda things: {"atom_id": things.atom_id},
        lambda things: {"atom_id": things.archived_id},
    ],
    "memory.delete_atom": [
        lambda things: {"atom_id": things.atom_id},
        lambda things: {"atom_id": things.superseded_id},
        lambda things: {"atom_id": things.archived_id},
    ],
    "memory.forget_messages": [lambda things: {"message_ids": [things.message_id]}],
    "memory.create_entity": [
        lambda things: {"memory_space_id": things.space_id, "type": "PLACE", "canonical_name": "Graz"},
        lambda things: {"memory_space_id": things.space_id, "type": "PERSON", "canonical_name": "Eve"},
    ],
    "memory.merge_entities": [
        lambda things: {"canonical_id": things.entity_id, "alias_id": things.merged_entity_id},
        lambda things: {"canonical_id": things.entity_id, "alias_id": things.other_entity_id},
    ],
    "memory.get_binding": [lambda things: {"binding_id": things.binding_id}],
    "memory.list_bindings": [lambda _: {}, lambda things: {"limit": 1, "cursor": things.binding_id}],
    "memory.create_binding": [
        lambda things: {"conversation_scope": EVERYBODY, "memory_space_ids": [things.space_id]},
        lambda things: {"conversation_scope": {**EVERYBODY, "userId": "ada"}, "memory_space_ids": [things.space_id]},
        lambda things: {"conversation_scope": EVERYBODY, "memory_space_ids": [things.shared_space_id]},
    ],
    "memory.update_binding": [
        lambda things: {"binding_id": things.binding_id, "enabled": False},
        lambda things: {"binding_id": things.binding_id, "extraction_policy": {"extractionVersion": "v2"}},
    ],
    "memory.delete_binding": [lambda things: {"binding_id": things.binding_id}],
    "memory.run_extraction_for_conversation": [
        lambda things: {"conversation_id": things.conversation_id},
        lambda things: {"conversation_id": things.closed_id, "dry_run": True},
    ],
    "memory.get_profile": [
        lambda things: {"memory_space_id": things.space_id},
        lambda things: {"memory_space_id": things.shared_space_id},
        lambda things: {"memory_space_id": things.deleted_space_id},
        lambda things: {"memory_space_id": things.space_id, "entity_id": things.entity_id},
        lambda things: {"memory_space_id": things.spare_space_id, "entity_id": things.entity_id},
    ],
    "memory.get_history": [
        lambda things: {"memory_space_id": things.space_id, "attribute": "home"},
        lambda things: {"memory_space_id": things.shared_space_id, "attribute": "home"},
        lambda things: {"memory_space_id": things.deleted_space_id, "attribute": "home"},
    ],
    "memory.mine_patterns": [
        lambda things: {"memory_space_id": things.space_id},
        lambda things: {"memory_space_id": things.deleted_space_id},
    ],
    "blocks.get": [
        lambda _: {"block_type": "core"},
        lambda _: {"block_type": "archival", "agent_id": "planner"},
        lambda _: {"block_type": "core", "agent_id": "ada"},
    ],
    "blocks.list": [
        lambda _: {},
        lambda _: {"scope": "agent", "agent_id": "planner"},
        lambda _: {"scope": "user"},
    ],
    "blocks.recall": [
        lambda _: {"query": SECRET},
        lambda _: {"query": "", "agent_id": "planner", "limit": 100},
    ],
    "blocks.revisions": [lambda _: {"block_type": "core"}],
    "blocks.user_memory": [lambda _: {}, lambda _: {"agent_id": "planner"}],
    "blocks.reminders": [lambda _: {"text": SECRET, "agent_id": "planner", "policy": {"archival_mode": "auto"}}],
    "blocks.tools": [lambda _: {"agent_id": "planner"}],
    "blocks.get_sleep_time": [lambda _: {}, lambda _: {"agent_id": "planner"}],
    "blocks.update": [
        lambda _: {"block_type": "core", "content": "Let me in.", "expected_updated_at": None},
        lambda _: {
            "block_type": "archival",
            "content": "Let me in.",
            "expected_updated_at": LONG_AGO,
            "agent_id": "planner",
        },
        lambda _: {"block_type": "core", "content": "A new one", "expected_updated_at": None, "agent_id": "newcomer"},
    ],
    "blocks.restore": [
        lambda _: {"block_type": "core", "revision": 1, "expected_updated_at": LONG_AGO},
    ],
    "blocks.set_sleep_time": [lambda _: {"enabled": False, "agent_id": "planner"}],
    "blocks.delete": [
        lambda _: {"block_type": "core", "expected_updated_at": LONG_AGO},
        lambda _: {"block_type": "core", "agent_id": "newcomer"},
        lambda _: {"block_type": "core", "agent_id": "nobody"},
    ],
    "tools.memory_store": [
        lambda _: {"type": "fact", "content": "Let me in."},
        lambda things: {"type": "fact", "content": "Let me in.", "supersedes": things.entry_id},
        lambda things: {"type": "fact", "content": "Let me in.", "supersedes": things.superseded_entry_id},
    ],
    "tools.memory_search": [
        lambda _: {"query": SECRET, "include_superseded": True},
        lambda _: {"tags": [SECRET]},
        lambda _: {},
    ],
    "tools.memory_brief": [lambda _: {"include_provenance": True}],
    "tools.memory_delete": [
        lambda things: {"id": things.entry_id},
        lambda things: {"id": things.superseded_entry_id},
    ],
    "tools.invoke": [
        lambda things: {"tool_name": "memory_delete", "arguments": {"id": things.entry_id}},
        lambda _: {"tool_name": "memory_search", "arguments": {"query": SECRET}},
    ],
    "tools.session_brief": [lambda _: {}],
    "tools.bound": [lambda _: {}],
    "tools.audit": [lambda _: {}, lambda _: {"topic": "tool.invoke.memory_store", "limit": 1}],
    "events.distill_long_term": [
        lambda _: {},
        lambda _: {"scope_id": "org:acme:user:ada", "summary_tag": "told"},
        lambda _: {"scope_id": SECRET, "include_tags": [SECRET]},
        lambda _: {"use_llm": True},
    ],
    "events.distill_meta_summary": [lambda _: {"use_llm": False}, lambda _: {"scope_id": "org:acme", "use_llm": False}],
    "events.load_recent_summaries": [lambda _: {}, lambda _: {"scope_id": "org:acme:user:ada"}],
    "events.load_last_summary": [lambda _: {}, lambda _: {"scope_id": "org:acme:user:ada", "level": "user"}],
    "events.soft_hydrate_last_summary": [lambda _: {}, lambda _: {"scope_id": "org:acme:user:ada"}],
    "events.chat_history_for_llm": [lambda _: {}, lambda _: {"summary_scope_id": "org:acme:user:ada"}],
    "events.build_prompt_segments": [lambda _: {"include_recent_tools": True}, lambda _: {"tool": SECRET}],
    # What one may do with one's own data, and with that of others, is tried with the tests of administration.
    "admin.export_user_data": [lambda _: {"user_id": "zed"}],
    "admin.export_user_archive": [lambda _: {"target": io.BytesIO(), "user_id": "zed"}],
    "admin.import_user_data": [lambda _: {"source": {}}],
    "admin.delete_user_data": [lambda _: {}, lambda _: {"user_id": "zed", "confirm": True}],
    "admin.verify_receipt": [lambda things: {"receipt": {"id": things.message_id}}],
    # Agents are those of the app, so only their invocation could reach what belongs to a user.
    "agents.get": [lambda _: {"name": "helper"}],
    "agents.list": [lambda _: {}, lambda _: {"limit": 1}],
    "agents.register": [lambda _: {"definition": {"name": "helper", "model": "scripted:model"}}],
    "agents.remove": [lambda _: {"name": "helper"}],
    "agents.invoke": [
        lambda things: {
            "name": "helper",
            "arguments": {"userMessage": "Hello.", "userMemorySpaceId": things.space_id},
            "conversation_id": things.conversation_id,
            "model": ScriptedModel(["Hello!"]),
        },
    ],
    "jobs.get_job": [
        lambda things: {"job_id": things.dead_job_id},
        lambda things: {"job_id": things.queued_job_id},
    ],
    "jobs.list_jobs": [
        lambda _: {},
        lambda _: {"status": "dead", "kind": "fail", "limit": 1},
        lambda things: {"cursor": things.job_cursor},
    ],
    "jobs.enqueue": [
        lambda _: {"kind": "wait", "payload": {"from": "a stranger"}},
        lambda _: {"kind": "wait", "payload": {"from": "a stranger"}, "unique_key": "once"},
    ],
    "jobs.run_job": [
        lambda things: {"job_id": things.dead_job_id},
        lambda things: {"job_id": things.queued_job_id},
    ],
    "jobs.retry_job": [
        lambda things: {"job_id": things.dead_job_id},
        lambda things: {"job_id": things.queued_job_id},
    ],
}

# Each takes the name of a stranger, and says who that is.
STRANGERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "another user": lambda name: {**OWNER, "user_id": name},
    "the same user of another tenant": lambda name: {**OWNER, "tenant_id": name},
    "the same user of another app": lambda name: {**OWNER, "app_id": name},
}


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=WordsEmbedder()) as engine:
        yield engine


def test_every_operation_of_the_table_is_tried() -> None:
    assert ARGUMENTS.keys() == {operation.path for operation in OPERATIONS}


def test_the_table_has_every_public_method_of_every_service_and_no_other() -> None:
    with longmind.open("sqlite:///:memory:") as engine:
        context = engine.context(**OWNER)
        services = {name: getattr(context, name) for name in SERVICE_NAMES}
    methods = {
        f"{name}.{method}": function
        for name, service in services.items()
        for method, function in inspect.getmembers(type(service), callable)
        # What waits for nothing tells only where one is.
        if not method.startswith("_") and method not in getattr(type(service), "plain", ())
    }
    assert {operation.path: operation.method for operation in OPERATIONS} == methods
    assert len(OPERATIONS) == len(methods)


def questions() -> Iterator[tuple[Operation, Callable[[Things], dict[str, Any]]]]:
    for operation in OPERATIONS:
        for arguments_of in ARGUMENTS[operation.path]:
            yield operation, arguments_of


@pytest.mark.patient
@pytest.mark.conforms("A0.3", "A0.4", "A2.2", "A3.10", "A4.4")
@pytest.mark.parametrize("who", STRANGERS)
def test_a_strangers_thing_is_like_one_that_is_not_there(who: str, engine: longmind.Engine) -> None:
    ada = engine.context(**OWNER)
    eve, mallory = (engine.context(**STRANGERS[who](name)) for name in ("eve", "mallory"))
    hers = furnish(engine, ada, SECRET)
    furnish(engine, eve, "My own")
    furnish(engine, mallory, "My own")
    before = state_of(engine, ada)
    private = {SECRET, *(match[0] for match in ID.finditer(repr(before)))}
    assert len(private) > 20
    for operation in OPERATIONS:
        for arguments_of in ARGUMENTS[operation.path]:
            # One asks for what Ada has, the other for what nobody has, and both are told the same.
            given, made_up = arguments_of(hers), arguments_of(missing(hers))
            answer = told(ask(eve, operation, given), hers)
            nothing = told(ask(mallory, operation, made_up), missing(hers))
            assert anonymous(answer) == anonymous(nothing), (operation, given)
            assert not [word for word in private if word in answer], (operation, given)
        # To look at everything takes long, so it is done once for each operation.
        assert anonymous(told(state_of(engine, eve))) == anonymous(told(state_of(engine, mallory))), operation
        assert state_of(engine, ada) == before, operation


@pytest.mark.patient
@pytest.mark.conforms("A0.4")
@pytest.mark.parametrize("who", STRANGERS)
def test_an_answer_is_the_same_whether_or_not_there_are_others(who: str, engine: longmind.Engine) -> None:
    furnish(engine, engine.context(**OWNER), SECRET)
    with longmind.open("sqlite:///:memory:", embedder=WordsEmbedder()) as lonely:
        among_others, alone = (each.context(**STRANGERS[who]("eve")) for each in (engine, lonely))
        things = furnish(engine, among_others, "My own")
        same_things = furnish(lonely, alone, "My own")
        for operation, arguments_of in questions():
            answer = anonymous(told(ask(among_others, operation, arguments_of(things)), things))
            assert answer == anonymous(told(ask(alone, operation, arguments_of(same_things)), same_things)), operation
        assert anonymous(told(state_of(engine, among_others))) == anonymous(told(state_of(lonely, alone)))


# What to ask with a space and an entity of one's own, and something of somebody else.
MIXED: list[tuple[str, Callable[[Things, Things], dict[str, Any]]]] = [
    (
        "add_atom",
        lambda mine, theirs: {
            "memory_space_id": mine.space_id,
            "atom": {**NEW_ATOM, "entity_ids": [mine.entity_id, theirs.entity_id]},
        },
    ),
    (
        "add_atom",
        lambda mine, theirs: {
            "memory_space_id": mine.space_id,
            "atom": {**NEW_ATOM, "source_message_ids": [mine.message_id, theirs.message_id]},
        },
    ),
    (
        "add_atom",
        lambda mine, theirs: {
            "memory_space_id": mine.space_id,
            "atom": {**NEW_ATOM, "source_conversation_id": theirs.conversation_id},
        },
    ),
    (
        "supersede_atom",
        lambda mine, theirs: {"atom_id": mine.atom_id, "atom": {**NEW_ATOM, "entity_ids": [theirs.entity_id]}},
    ),
    ("merge_entities", lambda mine, theirs: {"canonical_id": mine.entity_id, "alias_id": theirs.entity_id}),
    ("merge_entities", lambda mine, theirs: {"canonical_id": theirs.entity_id, "alias_id": mine.entity_id}),
    (
        "recall_by_entity",
        lambda mine, theirs: {"memory_space_id": mine.space_id, "entity_id_or_name": theirs.entity_id},
    ),
    (
        "recall_timeline",
        lambda mine, theirs: {"memory_space_id": mine.space_id, "entity_id_or_name": theirs.merged_entity_id},
    ),
    (
        "recall_by_topic",
        lambda mine, theirs: {"memory_space_id": mine.space_id, "query": SECRET, "entity": theirs.entity_id},
    ),
    (
        "why_not",
        lambda mine, theirs: {"atom_id": mine.atom_id, "query": SECRET, "entity": theirs.entity_id},
    ),
]


@pytest.mark.patient
@pytest.mark.conforms("A0.4", "A2.5", "A3.6")
@pytest.mark.parametrize("who", STRANGERS)
def test_a_strangers_thing_beside_ones_own_is_like_one_that_is_not_there(who: str, engine: longmind.Engine) -> None:
    ada, eve = engine.context(**OWNER), engine.context(**STRANGERS[who]("eve"))
    hers, mine = furnish(engine, ada, SECRET), furnish(engine, eve, "My own")
    before, own_before = state_of(engine, ada), state_of(engine, eve)
    operations = {operation.path: operation for operation in OPERATIONS}
    for name, arguments_of in MIXED:
        operation = operations[f"memory.{name}"]
        answer = told(ask(eve, operation, arguments_of(mine, hers)), hers)
        nothing = told(ask(eve, operation, arguments_of(mine, missing(hers))), missing(hers))
        assert anonymous(answer) == anonymous(nothing), name
        assert SECRET not in answer, name
        assert state_of(engine, ada) == before, name
        assert state_of(engine, eve) == own_before, name


def fail(run: longmind.JobRun) -> None:
    raise RuntimeError(f"{run.job.payload['words']} went wrong.")


def furnish(engine: longmind.Engine, context: longmind.Context, words: str, kind: SpaceKind = "user") -> Things:
    """Give somebody a bit of everything, the same for all but for their words."""
    engine.register_job("fail", fail)
    chat = context.conversations
    first = chat.create_conversation("daily-checkin", title=words, session_id="session-1", metadata={"about": words})
    greeting = chat.append_user_message(first.id, "Hello.", idempotency_key="key-1")
    chat.append_assistant_turn(first.id, f"Hello! {words}?")
    chat.append_tool_result(first.id, "call-1", words)
    chat.append_system_message(first.id, words)
    chat.append_user_message(first.id, f"{words}, hidden.", visibility="hidden")
    chat.append_turn(first.id, user_content=words, assistant={"content": "Noted."}, idempotency_key="key-2")
    chat.append_turn(first.id, user_content=words, assistant={"content": "Noted again."}, idempotency_key="key-2")
    second = chat.create_conversation("support-chat")
    chat.append_user_message(second.id, words)
    chat.close_conversation(second.id)
    chat.create_conversation("daily-checkin")
    dead = context.jobs.enqueue("fail", {"words": words}, max_attempts=1)
    assert engine.work().dead == 1
    queued = context.jobs.enqueue("wait", {"words": words}, unique_key="once")
    cursor = chat.list_conversations(limit=1).next_cursor
    job_cursor = context.jobs.list_jobs(limit=1).next_cursor
    assert cursor
    assert job_cursor
    of_jobs = (dead.id, queued.id, job_cursor)
    return Things(first.id, second.id, cursor, *of_jobs, greeting.id, *remember(context, words, greeting, kind))


def remember(context: longmind.Context, words: str, source: longmind.Message, kind: SpaceKind) -> tuple[str, ...]:
    """Give somebody memory of every kind: live, superseded, archived and deleted, with entities, one of them merged."""
    memory = context.memory
    space = memory.create_memory_space("personal", kind=kind, metadata={"about": words})
    spare = memory.create_memory_space("spare", kind=kind)
    deleted = memory.create_memory_space("deleted", kind=kind, metadata={"about": words})
    graz = memory.create_entity(space.id, "PLACE", "Graz", description=words, aliases=["the capital of Styria"])
    other = memory.create_entity(space.id, "PERSON", "Ada", attributes={"about": words})
    merged = memory.create_entity(space.id, "PLACE", "Gratz")
    fact = {"category": {"name": "notes", "kind": "FACT"}, "valid_from": "2026-01-01T00:00:00Z", "tags": [words]}
    linked = {**fact, "entity_ids": [graz.id, merged.id], "source_message_ids": [source.id]}
    old = memory.add_atom(space.id, {"text": f"{words}: a flat in Graz", **linked})
    new = memory.supersede_atom(
        old.id, {"text": f"{words}: a house in Graz", **linked, "valid_from": "2026-02-01T00:00:00Z"}
    )
    archived, gone = memory.add_atoms(
        space.id, [{"text": f"{words}: a garden", **fact}, {"text": f"{words}: a boat", **fact}]
    )
    memory.archive_atom(archived.id)
    memory.delete_atom(gone.id)
    memory.merge_entities(graz.id, merged.id)
    memory.add_atom(spare.id, {"text": words, **fact})
    episode = {"text": "The user cancelled the Tuesday meeting.", "category": {"name": words, "kind": "EPISODE"}}
    memory.add_atoms(spare.id, [{**episode, "valid_from": f"2026-01-{day:02}"} for day in (6, 13, 20)])
    memory.mine_patterns(spare.id)
    (decision,) = memory.list_decisions(spare.id)
    memory.add_atom(deleted.id, {"text": words, **fact})
    memory.delete_memory_space(deleted.id)
    memory.add_atom(space.id, f"{words}: the third floor", key=KEY, metadata={"about": words})
    default = memory.create_memory_space("default", kind=kind)
    assert memory.open_default_space().id == default.id
    memory.add_atom(default.id, {"text": words, **fact}, metadata={"about": words})
    bound = {"namespace": "bound", "userId": context.scope.user_id}
    binding = memory.create_binding(bound, [space.id])
    shared = memory.create_memory_space("shared", kind="shared")
    memory.add_atom(shared.id, {"text": words, **fact})
    memory.grant_space(shared.id, "zoe")
    note(context, words)
    old_entry = context.tools.memory_store("preference", f"{words}: tea", tags=["drinks"])
    entry = context.tools.memory_store("preference", f"{words}: coffee", tags=["drinks"], supersedes=old_entry.id)
    ids = (space.id, spare.id, deleted.id, new.id, old.id, archived.id, graz.id, other.id, merged.id, binding.id)
    return (*ids, shared.id, entry.id, old_entry.id, happen(context, words), decision.id, default.id)


def happen(context: longmind.Context, words: str) -> str:
    """Give somebody events of every kind."""
    context.events.record_chat_user(words, tags=["private"])
    context.events.record_tool_result(tool="search", outputs=[{"found": words}], message=words)
    context.events.record_state("planner", {"about": words})
    return context.events.record("note", {"about": words}, tags=["private"]).event_id


def note(context: longmind.Context, words: str) -> None:
    """Give somebody blocks of both scopes, one with a revision, and sleep-time memory."""
    blocks = context.blocks
    first = blocks.update("core", f"{words} before", None)
    for agent_id in (None, "planner"):
        blocks.update("archival", f"{words}\n{words} again", None, agent_id=agent_id)
    blocks.set_sleep_time(True, agent_id="planner")
    blocks.update("core", words, first.updated_at)


def missing(things: Things) -> Things:
    """Things that look the same, but that nobody has: the last digit of each id is another one."""
    return Things(*(value[:-1] + ("0" if value[-1] != "0" else "1") for value in vars(things).values()))


def ask(context: longmind.Context, operation: Operation, arguments: dict[str, Any]) -> object:
    """What the operation answers, or the error it raises, in a form that can be compared."""
    try:
        return plain(getattr(getattr(context, operation.service), operation.name)(**arguments))
    except longmind.LongmindError as error:
        return (type(error).__name__, error.status, error.message, error.hint)


def plain(answer: object) -> object:
    match answer:
        case longmind.Page():
            return settled([plain(item) for item in answer]), answer.next_cursor
        case list():
            return [plain(item) for item in answer]
        case Value():
            return answer.model_dump()
        case BoundTool():
            return answer.tool
        case _:
            return answer


def settled(listed: list[Any]) -> list[Any]:
    """A list as it is, but jobs that were queued together, whose ids do not say in which order, by their kind."""
    if not (listed and isinstance(listed[0], dict) and "uniqueKey" in listed[0]):
        return listed
    return sorted(listed, key=lambda job: (job["createdAt"], job["kind"]), reverse=True)


def state_of(engine: longmind.Engine, context: longmind.Context) -> object:
    """All that somebody has: conversations, messages with the hidden ones, jobs, memory, and what has happened."""
    found = context.conversations.list_conversations()
    messages = [context.conversations.get_raw_turns(each.id, limit=1000, include_hidden=True) for each in found]
    whose = (context.scope.tenant_id, context.scope.app_id, context.scope.user_id)
    changes = [change for change in engine.follow() if (change.tenant_id, change.app_id, change.user_id) == whose]
    jobs = context.jobs.list_jobs(limit=1000)
    return [plain(each) for each in (found, messages, jobs, *memory_of(context, changes), changes)]


def memory_of(context: longmind.Context, changes: list[longmind.Change]) -> tuple[object, ...]:
    """Spaces, their atoms of any status and version, and entities, also those that were merged into others."""
    spaces = context.memory.list_memory_spaces()
    atoms = [context.memory.list_atoms(space.id, status=None, limit=1000) for space in spaces]
    made = [change.data["entityId"] for change in changes if change.kind == "entity.created"]
    bindings = context.memory.list_bindings(limit=1000)
    grants = [context.memory.list_grants(space.id) for space in spaces]
    blocks = context.blocks.list()
    before = [context.blocks.revisions(each.block_type, agent_id=each.agent_id) for each in blocks]
    asleep = [context.blocks.get_sleep_time(agent_id=agent_id) for agent_id in (None, "planner")]
    entities = [context.memory.get_entity(entity_id) for entity_id in made]
    return spaces, atoms, entities, bindings, blocks, before, asleep, *map(plain, grants)


def told(answer: object, asked_for: Things | None = None) -> str:
    """The answer as a text, with names for what was asked for."""
    text = repr(answer)
    for name, value in vars(asked_for).items() if asked_for else ():
        text = text.replace(value, f"<the {name} asked for>")
    return text


def anonymous(text: str) -> str:
    """An answer without what differs from stranger to stranger: names, ids and times."""
    text = re.sub(r"'(eve|mallory)'", "<me>", text)
    text = re.sub(r"\b(org|user):(eve|mallory)\b", r"\1:<me>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
    text = re.sub(r"'cursor': \d+", "'cursor': <number>", text)
    text = re.sub(r"atencyMs': [\d.e-]+", "atencyMs': <number>", text)
    # A moment later everything has faded a little.
    text = re.sub(r"\d\.\d{4,}(e-\d+)?", lambda number: f"{float(number[0]):.3f}", text)
    text = re.sub(r"'[0-9a-f]{64}'", "<hash>", text)
    numbers: dict[str, str] = {}
    return ID.sub(lambda match: numbers.setdefault(match[0], f"<{match[1]} {len(numbers)}>"), text)


@pytest.mark.conforms("A0.4")
def test_a_cursor_of_somebody_else_leads_to_nothing_of_theirs(engine: longmind.Engine) -> None:
    ada, bob = engine.context(**OWNER), engine.context(**{**OWNER, "user_id": "bob"})
    hers = furnish(engine, ada, SECRET)
    assert ada.conversations.list_conversations(cursor=hers.cursor) != []
    assert ada.jobs.list_jobs(cursor=hers.job_cursor) != []
    assert bob.conversations.list_conversations(cursor=hers.cursor) == []
    assert bob.jobs.list_jobs(cursor=hers.job_cursor) == []


def test_a_query_cannot_be_given_another_scope(engine: longmind.Engine) -> None:
    ada, bob = engine.context(**OWNER), engine.context(**{**OWNER, "user_id": "bob"})
    conversation = ada.conversations.create_conversation("daily-checkin")
    database = engine._database
    asked = {"id": conversation.id, "scope_id": ada.scope.id}
    assert database.read(ada.scope, lambda run: run.one("get_conversation", **asked)) is not None
    assert database.read(bob.scope, lambda run: run.one("get_conversation", **asked)) is None
    assert database.write(bob.scope, lambda run: run.all("get_conversation", **asked)) == []
    assert database.read(None, store.get, conversation.id) is None


@pytest.mark.patient
@pytest.mark.conforms("A0.3", "T25")
@pytest.mark.parametrize("field", ["tenant_id", "app_id", "user_id"])
def test_identities_that_look_alike_are_not_taken_for_one_another(field: str, engine: longmind.Engine) -> None:
    contexts = [engine.context(**{**OWNER, field: name}) for name in LEGAL]
    made = [
        context.conversations.create_conversation("daily-checkin", title=f"{at}") for at, context in enumerate(contexts)
    ]
    for context, conversation in zip(contexts, made, strict=True):
        context.conversations.append_user_message(conversation.id, f"I am {conversation.title}.")
        context.jobs.enqueue("wait", {"title": conversation.title}, unique_key="once")
        space = context.memory.create_memory_space("personal")
        context.memory.add_atom(space.id, {**NEW_ATOM, "text": f"It is {conversation.title}."})
    for at, context in enumerate(contexts):
        (found,) = context.conversations.list_conversations()
        assert (found.id, found.title, getattr(found, field)) == (made[at].id, f"{at}", LEGAL[at])
        assert [message.text for message in context.conversations.get_messages(found.id)] == [f"I am {at}."]
        assert [job.payload for job in context.jobs.list_jobs()] == [{"title": f"{at}"}]
        (space,) = context.memory.list_memory_spaces()
        hits = context.memory.recall_by_topic(space.id, "Who is it?").hits
        assert [hit.atom.text for hit in hits] == [f"It is {at}."]
        assert context.conversations.get_conversation(made[at - 1].id) is None


def test_a_job_is_done_in_the_name_of_the_one_who_queued_it(engine: longmind.Engine) -> None:
    contexts = [engine.context(**{**OWNER, "user_id": name}) for name in LEGAL]
    seen: dict[str, str] = {}

    def note(run: longmind.JobRun) -> None:
        seen[run.scope.user_id] = run.job.payload["user"]
        run.context.conversations.create_conversation("from-a-job", title=run.job.payload["user"])

    engine.register_job("note", note)
    for context in contexts:
        context.jobs.enqueue("note", {"user": context.scope.user_id})
    assert engine.work().succeeded == len(contexts)
    assert seen == {name: name for name in LEGAL}
    for context in contexts:
        (found,) = context.conversations.list_conversations()
        assert found.title == context.scope.user_id


def test_what_else_is_known_of_a_call_opens_no_other_scope(engine: longmind.Engine) -> None:
    ada = engine.context(**OWNER, agent_id="agent-1", session_id="session-1", run_id="run-1", client_id="client-1")
    conversation = ada.conversations.create_conversation("daily-checkin")
    twin = engine.context(**OWNER, agent_id="agent-2", session_id="session-2", capabilities={"admin"})
    assert [each.id for each in twin.conversations.list_conversations()] == [conversation.id]
    admin = engine.context(
        **{**OWNER, "user_id": "bob"}, agent_id="agent-1", session_id="session-1", capabilities={"admin"}
    )
    assert admin.conversations.list_conversations() == []
    assert admin.conversations.get_conversation(conversation.id) is None


def test_a_scope_that_was_copied_with_another_user_is_another_scope(engine: longmind.Engine) -> None:
    ada = engine.context(**OWNER)
    # The id is worked out once and kept; a copy must not keep the one it was copied from.
    bob = replace(ada.scope, user_id="bob")
    assert bob.id != ada.scope.id
    assert bob.id == engine.context(**{**OWNER, "user_id": "bob"}).scope.id
