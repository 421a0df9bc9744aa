"""Examples of requests: one for each operation, shown in the OpenAPI document.

Each entry may have `path`, `query` and `body`. A test validates every example against the schema of its operation, and
`./dev trace` sends them; ids are well formed but unknown.
"""

from __future__ import annotations

from typing import Any

_CONVERSATION = {"conversationId": "conv_0190a1b2c3d4e5f60718293a4b5c6d7e"}
_SPACE = {"memorySpaceId": "ms_0190a1b2c3d4e5f60718293a4b5c6d7e"}
_ATOM = {"atomId": "atom_0190a1b2c3d4e5f60718293a4b5c6d7e"}
_BINDING = {"bindingId": "bind_0190a1b2c3d4e5f60718293a4b5c6d7e"}
_JOB = {"jobId": "job_0190a1b2c3d4e5f60718293a4b5c6d7e"}
_CORE = {"block_type": "core"}
_FACT = {
    "text": "Ada prefers meetings on Tuesday mornings.",
    "category": {"name": "meetings", "kind": "PREFERENCE"},
    "importance": 4,
    "confidence": 0.9,
    "validFrom": "2026-03-01T09:30:00Z",
}

EXAMPLES: dict[str, dict[str, Any]] = {
    # Memory in three lines
    "front_door.add": {"body": {"content": "I live in Vienna and I'm allergic to peanuts."}},
    "front_door.search": {"body": {"query": "What can't I eat?", "limit": 5}},
    "front_door.context": {"body": {"query": "Plan a dinner.", "tokens": 800}},
    "front_door.facts": {"query": {"category": "diet", "limit": 20}},
    "front_door.profile": {},
    "front_door.history": {"query": {"attribute": "home"}},
    "front_door.get": {"path": {"id": _ATOM["atomId"]}},
    "front_door.update": {"path": {"id": _ATOM["atomId"]}, "body": {"text": "User lives in Graz."}},
    "front_door.forget": {"body": {"query": "my old job", "preview": True}},
    "front_door.flush": {},
    "front_door.tools": {"query": {"shape": "anthropic"}},
    "front_door.run_tool": {
        "body": {
            "call": {"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": {"query": "What to eat"}}
        }
    },
    "front_door.export": {},
    "front_door.erase": {},
    # Conversations
    "conversations.get_conversation": {"path": _CONVERSATION},
    "conversations.list_conversations": {"query": {"namespace": "daily-checkin", "status": "open", "limit": 20}},
    "conversations.get_messages": {"path": _CONVERSATION, "query": {"limit": 20}},
    "conversations.get_raw_turns": {"path": _CONVERSATION, "query": {"limit": 20}},
    "conversations.create_conversation": {"body": {"namespace": "daily-checkin", "title": "Monday"}},
    "conversations.append_user_message": {
        "path": _CONVERSATION,
        "body": {"content": "I prefer meetings on Tuesday mornings.", "idempotencyKey": "message-1"},
    },
    "conversations.append_assistant_turn": {
        "path": _CONVERSATION,
        "body": {
            "content": [{"type": "text", "text": "Noted."}],
            "stopReason": "end_turn",
            "usage": {"inputTokens": 12, "outputTokens": 3, "latencyMs": 420},
        },
    },
    "conversations.append_tool_result": {
        "path": _CONVERSATION,
        "body": {"toolUseId": "call-1", "toolName": "calendar", "content": "Tuesday is free."},
    },
    "conversations.append_system_message": {"path": _CONVERSATION, "body": {"content": "Ada is in Graz today."}},
    "conversations.append_turn": {
        "path": _CONVERSATION,
        "body": {
            "userContent": "I prefer meetings on Tuesday mornings.",
            "assistant": {"content": "Got it!"},
            "idempotencyKey": "turn-1",
        },
    },
    "conversations.append_messages": {
        "body": {
            "namespace": "daily-checkin",
            "messages": [
                {"role": "user", "content": "I live in Graz."},
                {"role": "assistant", "content": "Noted."},
            ],
            "extract": True,
        }
    },
    "conversations.find_messages": {"body": {"messageIds": ["msg_0190a1b2c3d4e5f60718293a4b5c6d7e"]}},
    "conversations.run_turn": {
        "path": _CONVERSATION,
        "body": {
            "provider": "anthropic",
            "model": "claude-haiku-4-5",
            "userText": "When shall we meet?",
            "options": {"systemPrompt": "You are brief."},
            "tools": [
                "lookup_refund",
                {"type": "RECALL_BY_TOPIC", "name": "recallMemory", "memorySpaceId": "$userMemorySpaceId"},
            ],
            "toolArguments": {"userMemorySpaceId": _SPACE["memorySpaceId"]},
        },
    },
    "conversations.close_conversation": {"path": _CONVERSATION},
    "conversations.close_stale": {"body": {"idle": 3600, "namespace": "daily-checkin"}},
    "conversations.refresh_rolling_summary": {"path": _CONVERSATION},
    # Memory
    "memory.get_memory_space": {"path": _SPACE},
    "memory.list_memory_spaces": {},
    "memory.list_shared_spaces": {"query": {"limit": 20}},
    "memory.list_grants": {"path": _SPACE},
    "memory.get_atom": {"path": _ATOM},
    "memory.list_atoms": {"path": _SPACE, "query": {"category": "meetings", "limit": 20}},
    "memory.list_decisions": {"path": _SPACE, "query": {**_ATOM, "limit": 20}},
    "memory.get_entity": {"path": {"entityId": "ent_0190a1b2c3d4e5f60718293a4b5c6d7e"}},
    "memory.find_entity_by_name": {"path": _SPACE, "query": {"type": "PERSON", "name": "Ada"}},
    "memory.search_entities": {"path": _SPACE, "query": {"query": "Ada", "limit": 5}},
    "memory.get_binding": {"path": _BINDING},
    "memory.list_bindings": {"query": {"limit": 20}},
    "memory.recall_by_topic": {"path": _SPACE, "body": {"query": "When does Ada like to meet?", "limit": 5}},
    "memory.recall_by_entity": {"path": _SPACE, "body": {"entityIdOrName": "Ada", "limit": 5}},
    "memory.recall_timeline": {
        "path": _SPACE,
        "body": {"query": "meetings", "from": "2026-01-01T00:00:00Z", "to": "2026-12-31T00:00:00Z"},
    },
    "memory.why_not": {"path": _ATOM, "body": {"query": "When does Ada like to meet?"}},
    "memory.agent_tools": {
        "body": {
            "definitions": [{"type": "RECALL_BY_TOPIC", "name": "recallMemory", "memorySpaceId": "$userMemorySpaceId"}],
            "arguments": {"userMemorySpaceId": _SPACE["memorySpaceId"]},
        }
    },
    "memory.create_memory_space": {"body": {"name": "personal"}},
    "memory.open_default_space": {},
    "memory.delete_memory_space": {"path": _SPACE},
    "memory.grant_space": {"path": {**_SPACE, "reader": "bob"}},
    "memory.revoke_space": {"path": {**_SPACE, "reader": "bob"}},
    "memory.add_atom": {"path": _SPACE, "body": _FACT},
    "memory.add_atoms": {"path": _SPACE, "body": {"atoms": [_FACT]}},
    "memory.supersede_atom": {"path": _ATOM, "body": {**_FACT, "text": "Ada prefers meetings on Friday."}},
    "memory.archive_atom": {"path": _ATOM, "body": {"rejected": True}},
    "memory.delete_atom": {"path": _ATOM},
    "memory.forget_messages": {"body": {"messageIds": ["msg_0190a1b2c3d4e5f60718293a4b5c6d7e"]}},
    "memory.undo_decision": {
        "path": {"decisionId": "dec_0190a1b2c3d4e5f60718293a4b5c6d7e"},
        "body": {"takeBack": True},
    },
    "memory.restore_atom": {"path": _ATOM},
    "memory.create_entity": {"path": _SPACE, "body": {"type": "PERSON", "canonicalName": "Ada", "aliases": ["A. L."]}},
    "memory.merge_entities": {
        "path": {"canonicalId": "ent_0190a1b2c3d4e5f60718293a4b5c6d7e"},
        "body": {"aliasId": "ent_0190a1b2c3d4e5f60718293a4b5c6d7f"},
    },
    "memory.create_binding": {
        "body": {
            "conversationScope": {"namespace": "daily-checkin", "userId": "ada"},
            "memorySpaceIds": [_SPACE["memorySpaceId"]],
            "extractionPolicy": {"extractionVersion": "extraction-v1", "onConversationClosed": True},
        }
    },
    "memory.update_binding": {"path": _BINDING, "body": {"enabled": False}},
    "memory.delete_binding": {"path": _BINDING},
    "memory.run_extraction_for_conversation": {"path": _CONVERSATION, "body": {"dryRun": True}},
    "memory.mine_patterns": {"path": _SPACE},
    "memory.get_profile": {"path": _SPACE},
    "memory.get_history": {"path": _SPACE, "query": {"attribute": "home"}},
    # Working context
    "working_context.build_memory_context": {
        "path": _SPACE,
        "body": {"query": "When shall we meet?", "tokenBudget": 800},
    },
    "working_context.build_working_context": {
        "path": _CONVERSATION,
        "body": {
            "memorySpaceId": _SPACE["memorySpaceId"],
            "recallQuery": "When shall we meet?",
            "tokenBudget": 2000,
            "alwaysOnCategoryNames": ["rules"],
        },
    },
    # Blocks
    "blocks.get": {"path": _CORE, "query": {"scope": "agent", "agent_id": "planner"}},
    "blocks.list": {"query": {"scope": "all"}},
    "blocks.recall": {"body": {"query": "office plants", "limit": 5}},
    "blocks.revisions": {"path": _CORE, "query": {"limit": 5}},
    "blocks.user_memory": {"body": {"agent_id": "planner"}},
    "blocks.reminders": {"body": {"text": "Who waters the plants?", "policy": {"archival_mode": "auto"}}},
    "blocks.tools": {"query": {"agent_id": "planner"}},
    "blocks.get_sleep_time": {"query": {"agent_id": "planner"}},
    "blocks.update": {"path": _CORE, "body": {"content": "Ada speaks German.", "expected_updated_at": None}},
    "blocks.delete": {"path": _CORE, "query": {"agent_id": "planner"}},
    "blocks.restore": {"path": _CORE, "body": {"revision": 1, "expected_updated_at": "2026-03-01T09:30:00Z"}},
    "blocks.set_sleep_time": {"body": {"enabled": True, "idle_seconds": 600}},
    # Tools
    "tools.memory_search": {"body": {"query": "coffee", "tags": ["drinks"]}},
    "tools.memory_brief": {"body": {"include_provenance": True}},
    "tools.session_brief": {},
    "tools.bound": {},
    "tools.audit": {"query": {"outcome": "rejected", "limit": 20}},
    "tools.memory_store": {"body": {"type": "preference", "content": "Drinks coffee black.", "tags": ["drinks"]}},
    "tools.memory_delete": {"body": {"id": "mem-0c7b8f5e-3f1a-4c56-9f51-2f0f4c3a9d11"}},
    "tools.invoke": {"path": {"tool_name": "memory_search"}, "body": {"query": "coffee"}},
    # Events
    "events.recent": {"query": {"kinds": ["chat.turn"], "limit": 20}},
    "events.recent_persisted": {"query": {"tags": ["planning"], "since": "2026-03-01T00:00:00Z", "limit": 20}},
    "events.get_event": {"path": {"event_id": "evt_0190a1b2c3d4e5f60718293a4b5c6d7e"}},
    "events.recent_chat": {"query": {"roles": ["user"], "limit": 20}},
    "events.recent_tool_results": {"query": {"tool": "calendar", "limit": 5}},
    "events.latest_state": {"path": {"key": "planner"}},
    "events.state_history": {"path": {"key": "planner"}, "query": {"limit": 5}},
    "events.scope_info": {"query": {"at": "user"}},
    "events.usage": {"query": {"since": "2026-03-01T00:00:00Z"}},
    "events.record": {"body": {"kind": "note", "data": {"step": 3}, "tags": ["planning"], "text": "The plan is made."}},
    "events.record_raw": {"body": {"base": {"kind": "note", "topic": "planner"}, "text": "The plan is made."}},
    "events.record_many": {"body": {"events": [{"kind": "note", "text": "The plan is made."}]}},
    "events.record_chat": {"body": {"role": "user", "text": "When shall we meet?"}},
    "events.record_chat_user": {"body": {"text": "When shall we meet?"}},
    "events.record_chat_assistant": {"body": {"text": "On Tuesday."}},
    "events.record_chat_system": {"body": {"text": "Ada is in Graz today."}},
    "events.record_tool_result": {"body": {"tool": "calendar", "message": "Tuesday is free.", "tags": ["planning"]}},
    "events.record_state": {"body": {"key": "planner", "value": {"step": 3}}},
    "events.search": {"body": {"query": "when the plan was made", "kinds": ["note"], "time_window": "7d", "limit": 10}},
    "events.search_state": {"body": {"query": "which step", "key": "planner", "top_k": 3}},
    "events.load_recent_summaries": {"query": {"summary_tag": "session", "limit": 3}},
    "events.load_last_summary": {"query": {"summary_tag": "session"}},
    "events.distill_long_term": {"body": {"include_kinds": ["chat.turn"], "max_events": 50}},
    "events.distill_meta_summary": {"body": {"use_llm": False}},
    "events.soft_hydrate_last_summary": {"body": {"summary_tag": "session"}},
    "events.chat_history_for_llm": {"body": {"limit": 10}},
    "events.build_prompt_segments": {"body": {"recent_chat_limit": 6, "include_recent_tools": True}},
    # Admin
    "admin.export_user_data": {"body": {"userId": "ada"}},
    "admin.export_user_archive": {"body": {"userId": "ada"}},
    "admin.import_user_data": {"body": {"source": {"format": "longmind-export"}, "userId": "ada"}},
    "admin.delete_user_data": {"body": {"userId": "ada", "confirm": True}},
    "admin.verify_receipt": {"body": {"id": "era_0190a1b2c3d4e5f60718293a4b5c6d7e"}},
    # Agents
    "agents.get": {"path": {"name": "supportAgent"}},
    "agents.list": {"query": {"limit": 20}},
    "agents.register": {
        "body": {
            "name": "supportAgent",
            "model": "anthropic:claude-haiku-4-5",
            "systemPrompt": "You help customers.",
            "memory": {"memorySpaceId": "$userMemorySpaceId"},
            "tools": [
                "lookup_refund",
                {"type": "RECALL_BY_TOPIC", "name": "recallMemory", "memorySpaceId": "$userMemorySpaceId"},
            ],
        }
    },
    "agents.remove": {"path": {"name": "supportAgent"}},
    "agents.invoke": {
        "path": {"name": "supportAgent"},
        "body": {
            "arguments": {"userMemorySpaceId": _SPACE["memorySpaceId"], "userMessage": "Where is my refund?"},
            **_CONVERSATION,
            "idempotencyKey": "turn-1",
        },
    },
    # Jobs
    "jobs.get_job": {"path": _JOB},
    "jobs.list_jobs": {"query": {"status": "dead", "limit": 20}},
    "jobs.enqueue": {"body": {"kind": "mail.send", "payload": {"to": "ada"}, "uniqueKey": "mail-1"}},
    "jobs.retry_job": {"path": _JOB},
    "jobs.run_job": {"path": _JOB},
}
