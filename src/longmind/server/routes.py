"""Where each operation is found: its method and its path. All the rest is read off its signature."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic.alias_generators import to_camel, to_snake

from longmind.operations import OPERATIONS, Operation

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

NOT_OVER_HTTP = frozenset(
    {"conversations.run_turn." + name for name in ("tools", "tool_handler", "on_text", "cancel")}
    | {"tools.bound.confirm", "admin.export_user_archive.target"}
)
"""Parameters that take functions and files of the caller's, which nobody can send."""
_SNAKE_SERVICES = frozenset({"blocks", "tools", "events"})
"""Their JSON has been in snake_case from the start, and their methods have names that say little without them."""


@dataclass(frozen=True)
class Place:
    """Where an operation is, and in which form it is asked and answered."""

    method: Method
    path: str
    status: int = 200
    whole_body: str | None = None
    """The parameter that the body is, where it is not an object of parameters."""
    bare: bool = False
    """Whether a list is answered as a JSON array, and not as an object with `items`."""
    tool: str | None = None
    """The memory tool that is called with the whole body, as a model would call it."""
    of_block: bool = False
    """Whether one block is meant: its agent and its scope are in the query, and If-Match may guard it."""


@dataclass(frozen=True)
class Route:
    """One operation over HTTP."""

    operation: Operation
    place: Place

    @property
    def snake(self) -> bool:
        return self.operation.service in _SNAKE_SERVICES

    @property
    def id(self) -> str:
        """The name that clients made from the description call it by; it never changes."""
        name = self.operation.name
        return to_camel(f"{self.operation.service}_{name}" if self.snake else name)

    @cached_property
    def in_path(self) -> dict[str, str]:
        """The parameters that are part of the path, by what they are called there."""
        return {name: to_snake(name) for name in re.findall(r"{(\w+)}", self.place.path)}

    @property
    def has_body(self) -> bool:
        return self.place.method in ("POST", "PUT", "PATCH")

    def outer_name(self, parameter: str) -> str:
        """What a parameter is called outside. A name that Python keeps for itself ends with an underscore inside."""
        plain = parameter.rstrip("_")
        return plain if self.snake else to_camel(plain)


PLACES: dict[str, Place] = {
    # The ones that are asked for most come first: paths are looked for in this order.
    "memory.recall_by_topic": Place("POST", "/ai-memory/spaces/{memorySpaceId}/recall/topic"),
    "conversations.append_turn": Place("POST", "/ai-conversations/{conversationId}/turns", status=201),
    "working_context.build_working_context": Place("POST", "/ai-working-context/{conversationId}"),
    "conversations.append_user_message": Place("POST", "/ai-conversations/{conversationId}/messages/user", status=201),
    "conversations.append_assistant_turn": Place(
        "POST", "/ai-conversations/{conversationId}/messages/assistant", status=201
    ),
    "conversations.append_tool_result": Place("POST", "/ai-conversations/{conversationId}/messages/tool", status=201),
    "conversations.append_system_message": Place(
        "POST", "/ai-conversations/{conversationId}/messages/system", status=201
    ),
    "conversations.get_messages": Place("GET", "/ai-conversations/{conversationId}/messages"),
    "conversations.get_raw_turns": Place("GET", "/ai-conversations/{conversationId}/raw-turns"),
    "conversations.run_turn": Place("POST", "/ai-conversations/{conversationId}/run"),
    "conversations.create_conversation": Place("POST", "/ai-conversations", status=201),
    "conversations.list_conversations": Place("GET", "/ai-conversations"),
    "conversations.close_stale": Place("POST", "/ai-conversations/close-stale"),
    "conversations.get_conversation": Place("GET", "/ai-conversations/{conversationId}"),
    "conversations.close_conversation": Place("POST", "/ai-conversations/{conversationId}/close"),
    "conversations.refresh_rolling_summary": Place("POST", "/ai-conversations/{conversationId}/rolling-summary"),
    "memory.recall_by_entity": Place("POST", "/ai-memory/spaces/{memorySpaceId}/recall/entity"),
    "memory.recall_timeline": Place("POST", "/ai-memory/spaces/{memorySpaceId}/recall/timeline"),
    "memory.create_memory_space": Place("POST", "/ai-memory/spaces", status=201),
    "memory.list_memory_spaces": Place("GET", "/ai-memory/spaces"),
    "memory.list_shared_spaces": Place("GET", "/ai-memory/shared-spaces"),
    "memory.get_memory_space": Place("GET", "/ai-memory/spaces/{memorySpaceId}"),
    "memory.delete_memory_space": Place("DELETE", "/ai-memory/spaces/{memorySpaceId}"),
    "memory.list_grants": Place("GET", "/ai-memory/spaces/{memorySpaceId}/grants"),
    "memory.grant_space": Place("PUT", "/ai-memory/spaces/{memorySpaceId}/grants/{reader}"),
    "memory.revoke_space": Place("DELETE", "/ai-memory/spaces/{memorySpaceId}/grants/{reader}"),
    "memory.add_atom": Place("POST", "/ai-memory/spaces/{memorySpaceId}/atoms", status=201, whole_body="atom"),
    "memory.list_atoms": Place("GET", "/ai-memory/spaces/{memorySpaceId}/atoms"),
    "memory.add_atoms": Place("POST", "/ai-memory/spaces/{memorySpaceId}/atoms/batch", status=201),
    "memory.get_atom": Place("GET", "/ai-memory/atoms/{atomId}"),
    "memory.delete_atom": Place("DELETE", "/ai-memory/atoms/{atomId}"),
    "memory.supersede_atom": Place("POST", "/ai-memory/atoms/{atomId}/supersede", status=201, whole_body="atom"),
    "memory.archive_atom": Place("POST", "/ai-memory/atoms/{atomId}/archive"),
    "memory.restore_atom": Place("POST", "/ai-memory/atoms/{atomId}/restore"),
    "memory.why_not": Place("POST", "/ai-memory/atoms/{atomId}/why-not"),
    "memory.create_entity": Place("POST", "/ai-memory/spaces/{memorySpaceId}/entities", status=201),
    "memory.search_entities": Place("GET", "/ai-memory/spaces/{memorySpaceId}/entities"),
    "memory.find_entity_by_name": Place("GET", "/ai-memory/spaces/{memorySpaceId}/entities/by-name"),
    "memory.get_entity": Place("GET", "/ai-memory/entities/{entityId}"),
    "memory.merge_entities": Place("POST", "/ai-memory/entities/{canonicalId}/merge"),
    "memory.create_binding": Place("POST", "/ai-memory/bindings", status=201),
    "memory.list_bindings": Place("GET", "/ai-memory/bindings"),
    "memory.get_binding": Place("GET", "/ai-memory/bindings/{bindingId}"),
    "memory.update_binding": Place("PATCH", "/ai-memory/bindings/{bindingId}"),
    "memory.delete_binding": Place("DELETE", "/ai-memory/bindings/{bindingId}"),
    "memory.run_extraction_for_conversation": Place("POST", "/ai-memory/conversations/{conversationId}/extract"),
    "memory.mine_patterns": Place("POST", "/ai-memory/spaces/{memorySpaceId}/patterns"),
    "memory.agent_tools": Place("POST", "/ai-memory/agent-tools"),
    "blocks.list": Place("GET", "/api/v1/memory/blocks", bare=True),
    "blocks.get": Place("GET", "/api/v1/memory/blocks/{block_type}", of_block=True),
    "blocks.update": Place("PUT", "/api/v1/memory/blocks/{block_type}", of_block=True),
    "blocks.delete": Place("DELETE", "/api/v1/memory/blocks/{block_type}", of_block=True),
    "blocks.revisions": Place("GET", "/api/v1/memory/blocks/{block_type}/revisions", bare=True, of_block=True),
    "blocks.restore": Place("POST", "/api/v1/memory/blocks/{block_type}/restore", of_block=True),
    "blocks.recall": Place("POST", "/api/v1/memory/recall", bare=True),
    "blocks.user_memory": Place("POST", "/api/v1/memory/user-memory"),
    "blocks.reminders": Place("POST", "/api/v1/memory/reminders", bare=True),
    "blocks.tools": Place("GET", "/api/v1/memory/tools", bare=True),
    "blocks.get_sleep_time": Place("GET", "/api/v1/memory/sleep-time"),
    "blocks.set_sleep_time": Place("PUT", "/api/v1/memory/sleep-time"),
    "tools.bound": Place("GET", "/tools", bare=True),
    "tools.session_brief": Place("GET", "/tools/session-brief"),
    "tools.audit": Place("GET", "/tools/audit"),
    "tools.memory_store": Place("POST", "/tools/memory_store", tool="memory_store"),
    "tools.memory_search": Place("POST", "/tools/memory_search", tool="memory_search"),
    "tools.memory_brief": Place("POST", "/tools/memory_brief", tool="memory_brief"),
    "tools.memory_delete": Place("POST", "/tools/memory_delete", tool="memory_delete"),
    "tools.invoke": Place("POST", "/tools/{tool_name}", whole_body="arguments"),
    "events.recent": Place("GET", "/events/recent", bare=True),
    "events.recent_persisted": Place("GET", "/events/persisted", bare=True),
    "events.recent_chat": Place("GET", "/events/chat", bare=True),
    "events.record_chat": Place("POST", "/events/chat", status=201),
    "events.record_chat_user": Place("POST", "/events/chat/user", status=201),
    "events.record_chat_assistant": Place("POST", "/events/chat/assistant", status=201),
    "events.record_chat_system": Place("POST", "/events/chat/system", status=201),
    "events.recent_tool_results": Place("GET", "/events/tool-results", bare=True),
    "events.record_tool_result": Place("POST", "/events/tool-results", status=201),
    "events.search": Place("POST", "/events/search", bare=True),
    "events.search_state": Place("POST", "/events/states/search", bare=True),
    "events.load_recent_summaries": Place("GET", "/events/summaries", bare=True),
    "events.load_last_summary": Place("GET", "/events/summaries/last"),
    "events.distill_long_term": Place("POST", "/events/distill"),
    "events.distill_meta_summary": Place("POST", "/events/distill-meta"),
    "events.soft_hydrate_last_summary": Place("POST", "/events/hydrate"),
    "events.chat_history_for_llm": Place("POST", "/events/chat-history"),
    "events.build_prompt_segments": Place("POST", "/events/prompt-segments"),
    "events.record_state": Place("POST", "/events/states", status=201),
    "events.latest_state": Place("GET", "/events/states/{key}"),
    "events.state_history": Place("GET", "/events/states/{key}/history", bare=True),
    "events.usage": Place("GET", "/events/usage", bare=True),
    "events.record": Place("POST", "/events", status=201),
    "events.record_raw": Place("POST", "/events/raw", status=201),
    "events.record_many": Place("POST", "/events/batch", status=201, bare=True),
    "events.get_event": Place("GET", "/events/{event_id}"),
    "admin.export_user_data": Place("POST", "/ai-admin/export"),
    "admin.export_user_archive": Place("POST", "/ai-admin/export-archive"),
    "admin.import_user_data": Place("POST", "/ai-admin/import"),
    "admin.delete_user_data": Place("POST", "/ai-admin/delete"),
    "admin.verify_receipt": Place("POST", "/ai-admin/verify-receipt", whole_body="receipt"),
    "jobs.enqueue": Place("POST", "/jobs", status=201),
    "jobs.list_jobs": Place("GET", "/jobs"),
    "jobs.get_job": Place("GET", "/jobs/{jobId}"),
    "jobs.retry_job": Place("POST", "/jobs/{jobId}/retry"),
}


def make_routes() -> tuple[Route, ...]:
    """The routes of all operations that have a place, in the order in which paths are compared."""
    operations = {operation.path: operation for operation in OPERATIONS}
    return tuple(Route(operations[name], place) for name, place in PLACES.items())
