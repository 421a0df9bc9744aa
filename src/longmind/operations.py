"""The table of all operations of a context, and who may call them.

REST, the CLI, MCP and the reference read it, so an operation that is missing here is on no surface. Signature and
docstring of the method are the description of an operation everywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from longmind.admin import Admin
from longmind.agents import Agents
from longmind.blocks import Blocks
from longmind.conversations import Conversations
from longmind.events import Events
from longmind.jobs import Jobs
from longmind.memory import Memory
from longmind.scope import Capability
from longmind.tools import Tools
from longmind.working_context import WorkingContexts


@dataclass(frozen=True)
class Operation:
    """A method of one of a context's services. Its signature and its docstring are its description."""

    service: str
    name: str
    method: Callable[..., Any]
    access: Literal["read", "write"]
    needs: Capability | None = None

    @property
    def path(self) -> str:
        """The service and the name, such as `memory.add_atom`."""
        return f"{self.service}.{self.name}"

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring on one line."""
        return (inspect.getdoc(self.method) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def signature(self) -> inspect.Signature:
        """The parameters as a caller passes them, with annotations evaluated."""
        # Without `self`.
        full = inspect.signature(self.method, eval_str=True)
        return full.replace(parameters=list(full.parameters.values())[1:])


def _operations(
    service: str, of: type, *, reads: list[str], writes: list[str], admin_writes: Sequence[str] = ()
) -> list[Operation]:
    return [
        *(Operation(service, name, getattr(of, name), "read") for name in reads),
        *(Operation(service, name, getattr(of, name), "write") for name in writes),
        *(Operation(service, name, getattr(of, name), "write", needs="admin") for name in admin_writes),
    ]


OPERATIONS: tuple[Operation, ...] = (
    *_operations(
        "conversations",
        Conversations,
        reads=["get_conversation", "list_conversations", "get_messages", "find_messages", "get_raw_turns"],
        writes=[
            "create_conversation",
            "append_user_message",
            "append_assistant_turn",
            "append_tool_result",
            "append_system_message",
            "append_turn",
            "append_messages",
            "run_turn",
            "close_conversation",
            "close_stale",
            "refresh_rolling_summary",
        ],
    ),
    *_operations(
        "memory",
        Memory,
        reads=[
            "get_memory_space",
            "list_memory_spaces",
            "list_shared_spaces",
            "list_grants",
            "get_atom",
            "list_atoms",
            "list_decisions",
            "get_entity",
            "find_entity_by_name",
            "search_entities",
            "get_binding",
            "list_bindings",
            "recall_by_topic",
            "recall_by_entity",
            "recall_timeline",
            "why_not",
            "get_profile",
            "get_history",
            "agent_tools",
        ],
        writes=[
            "create_memory_space",
            "open_default_space",
            "delete_memory_space",
            "grant_space",
            "revoke_space",
            "add_atom",
            "add_atoms",
            "supersede_atom",
            "archive_atom",
            "delete_atom",
            "forget_messages",
            "undo_decision",
            "create_entity",
            "merge_entities",
            "create_binding",
            "update_binding",
            "delete_binding",
            "run_extraction_for_conversation",
            "mine_patterns",
        ],
        admin_writes=["restore_atom"],
    ),
    *_operations(
        "working_context", WorkingContexts, reads=["build_working_context", "build_memory_context"], writes=[]
    ),
    *_operations(
        "blocks",
        Blocks,
        reads=["get", "list", "recall", "revisions", "user_memory", "reminders", "tools", "get_sleep_time"],
        writes=["update", "delete", "restore", "set_sleep_time"],
    ),
    *_operations(
        "tools",
        Tools,
        reads=["memory_search", "memory_brief", "session_brief", "bound", "audit"],
        writes=["memory_store", "memory_delete", "invoke"],
    ),
    *_operations(
        "events",
        Events,
        reads=[
            "recent",
            "recent_persisted",
            "get_event",
            "recent_chat",
            "recent_tool_results",
            "latest_state",
            "state_history",
            "search",
            "search_state",
            "usage",
            "load_recent_summaries",
            "load_last_summary",
            "chat_history_for_llm",
            "build_prompt_segments",
        ],
        writes=[
            "record_raw",
            "record",
            "record_many",
            "record_chat",
            "record_chat_user",
            "record_chat_assistant",
            "record_chat_system",
            "record_tool_result",
            "record_state",
            "distill_long_term",
            "distill_meta_summary",
            "soft_hydrate_last_summary",
        ],
    ),
    *_operations(
        "admin",
        Admin,
        reads=["export_user_data", "export_user_archive", "verify_receipt"],
        writes=["delete_user_data"],
        admin_writes=["import_user_data"],
    ),
    *_operations("agents", Agents, reads=["get", "list"], writes=["invoke"], admin_writes=["register", "remove"]),
    *_operations("jobs", Jobs, reads=["get_job", "list_jobs"], writes=["enqueue", "retry_job", "run_job"]),
)

INSPECTIONS: tuple[Operation, ...] = tuple(_operations("events", Events, reads=["scope_info"], writes=[]))
"""Methods that read no database, and so stay synchronous in the asynchronous twin, but that REST offers too."""
