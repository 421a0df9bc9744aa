"""Routes: the method and the path of each operation. Parameters and results follow from its signature.

To add an operation to REST, add one line to HTTP_MAPPINGS and one example to openapi/examples.py. Paths, methods and
operation ids are public and never change; a test compares the OpenAPI document with the committed one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic.alias_generators import to_camel, to_snake

from longmind.front_door.memory import Memory
from longmind.operations import INSPECTIONS, OPERATIONS, Operation

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

NOT_OVER_HTTP = frozenset(
    {"conversations.run_turn." + name for name in ("tool_handler", "on_text", "cancel")}
    | {"tools.bound.confirm", "admin.export_user_archive.target", "agents.invoke.on_text", "agents.invoke.cancel"}
    | {"front_door.export.path"}
)
"""Parameters that take functions or files of the calling process, which cannot be sent."""
_SNAKE_CASE_SERVICES = frozenset({"blocks", "tools", "events"})
"""Services whose JSON uses snake_case."""
_PREFIXES = {name: name for name in (*_SNAKE_CASE_SERVICES, "agents")} | {"front_door": "memory"}
"""Words before the names of methods that need them to be understood."""


@dataclass(frozen=True)
class HttpMapping:
    """The method and path of an operation, and the form of its request and response.

    Parameters that the path does not name are read from the body where the method has one, and else from the query.
    """

    method: Method
    path: str
    status: int = 200
    whole_body: str | None = None
    """The parameter that the whole body stands for; by default the body is an object of parameters."""
    bare: bool = False
    """True if a list is returned as a JSON array instead of an object with `items`."""
    tool: str | None = None
    """The memory tool that receives the whole body, as a model would call it."""
    of_block: bool = False
    """True if the path names one block: agent and scope are in the query, and If-Match may guard it."""


@dataclass(frozen=True)
class Route:
    """One operation with its HTTP mapping."""

    operation: Operation
    http: HttpMapping

    @property
    def is_snake_case(self) -> bool:
        """True if names in requests and responses are snake_case; all other services use camelCase."""
        return self.operation.service in _SNAKE_CASE_SERVICES

    @property
    def id(self) -> str:
        """The operationId, from which generated clients name their methods; it never changes."""
        name, prefix = self.operation.name, _PREFIXES.get(self.operation.service)
        return to_camel(f"{prefix}_{name}" if prefix else name)

    @cached_property
    def in_path(self) -> dict[str, str]:
        """The names of the path parameters, from their name in the path to their name in the signature."""
        return {name: to_snake(name) for name in re.findall(r"{(\w+)}", self.http.path)}

    @property
    def has_body(self) -> bool:
        """True if parameters that are not in the path are sent in the body instead of the query."""
        return self.http.method in ("POST", "PUT", "PATCH")

    def to_wire_name(self, parameter: str) -> str:
        """Return the name of a parameter in a request, without the underscore that avoids a Python keyword."""
        plain = parameter.rstrip("_")
        return plain if self.is_snake_case else to_camel(plain)


MEMORY_OPERATIONS: tuple[Operation, ...] = (
    *(
        Operation("front_door", name, getattr(Memory, name), "read")
        for name in ("search", "context", "facts", "profile", "history", "get", "export", "tools")
    ),
    *(
        Operation("front_door", name, getattr(Memory, name), "write")
        for name in ("add", "flush", "update", "forget", "erase", "run_tool")
    ),
)
"""The methods of `longmind.Memory`. They are made of operations of a context, and stand in no other table."""

HTTP_MAPPINGS: dict[str, HttpMapping] = {
    # The ones that are request for most come first: paths are looked for in this order.
    "memory.recall_by_topic": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/recall/topic"),
    "conversations.append_turn": HttpMapping("POST", "/ai-conversations/{conversationId}/turns", status=201),
    "working_context.build_working_context": HttpMapping("POST", "/ai-working-context/{conversationId}"),
    "working_context.build_memory_context": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/context"),
    "conversations.append_user_message": HttpMapping(
        "POST", "/ai-conversations/{conversationId}/messages/user", status=201
    ),
    "conversations.append_assistant_turn": HttpMapping(
        "POST", "/ai-conversations/{conversationId}/messages/assistant", status=201
    ),
    "conversations.append_tool_result": HttpMapping(
        "POST", "/ai-conversations/{conversationId}/messages/tool", status=201
    ),
    "conversations.append_system_message": HttpMapping(
        "POST", "/ai-conversations/{conversationId}/messages/system", status=201
    ),
    "conversations.append_messages": HttpMapping("POST", "/ai-conversations/messages", status=201),
    "conversations.find_messages": HttpMapping("POST", "/ai-conversations/messages/find"),
    "conversations.get_messages": HttpMapping("GET", "/ai-conversations/{conversationId}/messages"),
    "conversations.get_raw_turns": HttpMapping("GET", "/ai-conversations/{conversationId}/raw-turns"),
    "conversations.run_turn": HttpMapping("POST", "/ai-conversations/{conversationId}/run"),
    "conversations.create_conversation": HttpMapping("POST", "/ai-conversations", status=201),
    "conversations.list_conversations": HttpMapping("GET", "/ai-conversations"),
    "conversations.close_stale": HttpMapping("POST", "/ai-conversations/close-stale"),
    "conversations.get_conversation": HttpMapping("GET", "/ai-conversations/{conversationId}"),
    "conversations.close_conversation": HttpMapping("POST", "/ai-conversations/{conversationId}/close"),
    "conversations.refresh_rolling_summary": HttpMapping("POST", "/ai-conversations/{conversationId}/rolling-summary"),
    "memory.recall_by_entity": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/recall/entity"),
    "memory.recall_timeline": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/recall/timeline"),
    "memory.get_history": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}/history"),
    "memory.get_profile": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}/profile"),
    # Memory in three lines.
    "front_door.add": HttpMapping("POST", "/v1/memory/add", status=201),
    "front_door.search": HttpMapping("POST", "/v1/memory/search"),
    "front_door.context": HttpMapping("POST", "/v1/memory/context"),
    "front_door.facts": HttpMapping("GET", "/v1/memory/facts"),
    "front_door.profile": HttpMapping("GET", "/v1/memory/profile"),
    "front_door.history": HttpMapping("GET", "/v1/memory/history"),
    "front_door.get": HttpMapping("GET", "/v1/memory/facts/{id}"),
    "front_door.update": HttpMapping("PUT", "/v1/memory/facts/{id}"),
    "front_door.forget": HttpMapping("POST", "/v1/memory/forget"),
    "front_door.flush": HttpMapping("POST", "/v1/memory/flush"),
    "front_door.tools": HttpMapping("GET", "/v1/memory/tools"),
    "front_door.run_tool": HttpMapping("POST", "/v1/memory/tools/run"),
    "front_door.export": HttpMapping("GET", "/v1/memory/export"),
    "front_door.erase": HttpMapping("DELETE", "/v1/memory"),
    # Memory spaces and who may read them.
    "memory.create_memory_space": HttpMapping("POST", "/ai-memory/spaces", status=201),
    "memory.open_default_space": HttpMapping("POST", "/ai-memory/default-space"),
    "memory.list_memory_spaces": HttpMapping("GET", "/ai-memory/spaces"),
    "memory.list_shared_spaces": HttpMapping("GET", "/ai-memory/shared-spaces"),
    "memory.get_memory_space": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}"),
    "memory.delete_memory_space": HttpMapping("DELETE", "/ai-memory/spaces/{memorySpaceId}"),
    "memory.list_grants": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}/grants"),
    "memory.grant_space": HttpMapping("PUT", "/ai-memory/spaces/{memorySpaceId}/grants/{reader}"),
    "memory.revoke_space": HttpMapping("DELETE", "/ai-memory/spaces/{memorySpaceId}/grants/{reader}"),
    # Atoms: one fact each.
    "memory.add_atom": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/atoms", status=201, whole_body="atom"),
    "memory.list_atoms": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}/atoms"),
    "memory.add_atoms": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/atoms/batch", status=201),
    "memory.get_atom": HttpMapping("GET", "/ai-memory/atoms/{atomId}"),
    "memory.delete_atom": HttpMapping("DELETE", "/ai-memory/atoms/{atomId}"),
    "memory.forget_messages": HttpMapping("POST", "/ai-memory/forget-messages"),
    "memory.supersede_atom": HttpMapping("POST", "/ai-memory/atoms/{atomId}/supersede", status=201, whole_body="atom"),
    "memory.archive_atom": HttpMapping("POST", "/ai-memory/atoms/{atomId}/archive"),
    "memory.restore_atom": HttpMapping("POST", "/ai-memory/atoms/{atomId}/restore"),
    "memory.why_not": HttpMapping("POST", "/ai-memory/atoms/{atomId}/why-not"),
    # Decisions: what extraction has changed, and why.
    "memory.list_decisions": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}/decisions"),
    "memory.undo_decision": HttpMapping("POST", "/ai-memory/decisions/{decisionId}/undo"),
    # Entities: the people and things that atoms mention.
    "memory.create_entity": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/entities", status=201),
    "memory.search_entities": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}/entities"),
    "memory.find_entity_by_name": HttpMapping("GET", "/ai-memory/spaces/{memorySpaceId}/entities/by-name"),
    "memory.get_entity": HttpMapping("GET", "/ai-memory/entities/{entityId}"),
    "memory.merge_entities": HttpMapping("POST", "/ai-memory/entities/{canonicalId}/merge"),
    # Bindings decide which conversations are extracted into which spaces.
    "memory.create_binding": HttpMapping("POST", "/ai-memory/bindings", status=201),
    "memory.list_bindings": HttpMapping("GET", "/ai-memory/bindings"),
    "memory.get_binding": HttpMapping("GET", "/ai-memory/bindings/{bindingId}"),
    "memory.update_binding": HttpMapping("PATCH", "/ai-memory/bindings/{bindingId}"),
    "memory.delete_binding": HttpMapping("DELETE", "/ai-memory/bindings/{bindingId}"),
    "memory.run_extraction_for_conversation": HttpMapping("POST", "/ai-memory/conversations/{conversationId}/extract"),
    "memory.mine_patterns": HttpMapping("POST", "/ai-memory/spaces/{memorySpaceId}/patterns"),
    "memory.agent_tools": HttpMapping("POST", "/ai-memory/agent-tools"),
    # The paths of blocks, tools and events are those of the interfaces that they implement.
    "blocks.list": HttpMapping("GET", "/api/v1/memory/blocks", bare=True),
    "blocks.get": HttpMapping("GET", "/api/v1/memory/blocks/{block_type}", of_block=True),
    "blocks.update": HttpMapping("PUT", "/api/v1/memory/blocks/{block_type}", of_block=True),
    "blocks.delete": HttpMapping("DELETE", "/api/v1/memory/blocks/{block_type}", of_block=True),
    "blocks.revisions": HttpMapping("GET", "/api/v1/memory/blocks/{block_type}/revisions", bare=True, of_block=True),
    "blocks.restore": HttpMapping("POST", "/api/v1/memory/blocks/{block_type}/restore", of_block=True),
    "blocks.recall": HttpMapping("POST", "/api/v1/memory/recall", bare=True),
    "blocks.user_memory": HttpMapping("POST", "/api/v1/memory/user-memory"),
    "blocks.reminders": HttpMapping("POST", "/api/v1/memory/reminders", bare=True),
    "blocks.tools": HttpMapping("GET", "/api/v1/memory/tools", bare=True),
    "blocks.get_sleep_time": HttpMapping("GET", "/api/v1/memory/sleep-time"),
    "blocks.set_sleep_time": HttpMapping("PUT", "/api/v1/memory/sleep-time"),
    "tools.bound": HttpMapping("GET", "/tools", bare=True),
    "tools.session_brief": HttpMapping("GET", "/tools/session-brief"),
    "tools.audit": HttpMapping("GET", "/tools/audit"),
    # Fixed tool names come before {tool_name}, which would match them too.
    "tools.memory_store": HttpMapping("POST", "/tools/memory_store", tool="memory_store"),
    "tools.memory_search": HttpMapping("POST", "/tools/memory_search", tool="memory_search"),
    "tools.memory_brief": HttpMapping("POST", "/tools/memory_brief", tool="memory_brief"),
    "tools.memory_delete": HttpMapping("POST", "/tools/memory_delete", tool="memory_delete"),
    "tools.invoke": HttpMapping("POST", "/tools/{tool_name}", whole_body="arguments"),
    "events.recent": HttpMapping("GET", "/events/recent", bare=True),
    "events.recent_persisted": HttpMapping("GET", "/events/persisted", bare=True),
    "events.recent_chat": HttpMapping("GET", "/events/chat", bare=True),
    "events.record_chat": HttpMapping("POST", "/events/chat", status=201),
    "events.record_chat_user": HttpMapping("POST", "/events/chat/user", status=201),
    "events.record_chat_assistant": HttpMapping("POST", "/events/chat/assistant", status=201),
    "events.record_chat_system": HttpMapping("POST", "/events/chat/system", status=201),
    "events.recent_tool_results": HttpMapping("GET", "/events/tool-results", bare=True),
    "events.record_tool_result": HttpMapping("POST", "/events/tool-results", status=201),
    "events.search": HttpMapping("POST", "/events/search", bare=True),
    "events.search_state": HttpMapping("POST", "/events/states/search", bare=True),
    "events.load_recent_summaries": HttpMapping("GET", "/events/summaries", bare=True),
    "events.load_last_summary": HttpMapping("GET", "/events/summaries/last"),
    "events.distill_long_term": HttpMapping("POST", "/events/distill"),
    "events.distill_meta_summary": HttpMapping("POST", "/events/distill-meta"),
    "events.soft_hydrate_last_summary": HttpMapping("POST", "/events/hydrate"),
    "events.chat_history_for_llm": HttpMapping("POST", "/events/chat-history"),
    "events.build_prompt_segments": HttpMapping("POST", "/events/prompt-segments"),
    "events.record_state": HttpMapping("POST", "/events/states", status=201),
    "events.latest_state": HttpMapping("GET", "/events/states/{key}"),
    "events.state_history": HttpMapping("GET", "/events/states/{key}/history", bare=True),
    "events.usage": HttpMapping("GET", "/events/usage", bare=True),
    "events.scope_info": HttpMapping("GET", "/events/scope"),
    "events.record": HttpMapping("POST", "/events", status=201),
    "events.record_raw": HttpMapping("POST", "/events/raw", status=201),
    "events.record_many": HttpMapping("POST", "/events/batch", status=201, bare=True),
    # Last of all GETs below /events, since {event_id} matches every name above.
    "events.get_event": HttpMapping("GET", "/events/{event_id}"),
    # Whole users: export, import and erasure.
    "admin.export_user_data": HttpMapping("POST", "/ai-admin/export"),
    "admin.export_user_archive": HttpMapping("POST", "/ai-admin/export-archive"),
    "admin.import_user_data": HttpMapping("POST", "/ai-admin/import"),
    "admin.delete_user_data": HttpMapping("POST", "/ai-admin/delete"),
    "admin.verify_receipt": HttpMapping("POST", "/ai-admin/verify-receipt", whole_body="receipt"),
    # Agents of the app.
    "agents.list": HttpMapping("GET", "/ai-agents"),
    "agents.register": HttpMapping("POST", "/ai-agents", status=201, whole_body="definition"),
    "agents.get": HttpMapping("GET", "/ai-agents/{name}"),
    "agents.remove": HttpMapping("DELETE", "/ai-agents/{name}"),
    "agents.invoke": HttpMapping("POST", "/ai-agents/{name}/invoke"),
    "jobs.enqueue": HttpMapping("POST", "/jobs", status=201),
    "jobs.list_jobs": HttpMapping("GET", "/jobs"),
    "jobs.get_job": HttpMapping("GET", "/jobs/{jobId}"),
    "jobs.retry_job": HttpMapping("POST", "/jobs/{jobId}/retry"),
    "jobs.run_job": HttpMapping("POST", "/jobs/{jobId}/run"),
}


def make_routes() -> tuple[Route, ...]:
    """Return the routes of all operations, in the order in which paths are compared."""
    operations = {operation.path: operation for operation in (*OPERATIONS, *INSPECTIONS, *MEMORY_OPERATIONS)}
    return tuple(Route(operations[name], mapping) for name, mapping in HTTP_MAPPINGS.items())
