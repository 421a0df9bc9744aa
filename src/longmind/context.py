"""A scope bound to an engine, and the services that work in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from longmind.admin import Admin
from longmind.agents import Agents
from longmind.blocks import Blocks
from longmind.conversations import Conversations
from longmind.events import Events
from longmind.jobs import Jobs
from longmind.memory import Memory
from longmind.scope import Scope
from longmind.tools import Tools
from longmind.working_context import WorkingContexts


class Services(Protocol):
    """Makes the services of a scope; `ServiceFactory` of the engine is one."""

    def make_conversations(self, scope: Scope) -> Conversations: ...

    def make_memory(self, scope: Scope) -> Memory: ...

    def make_working_context(self, scope: Scope) -> WorkingContexts: ...

    def make_blocks(self, scope: Scope) -> Blocks: ...

    def make_tools(self, scope: Scope) -> Tools: ...

    def make_events(self, scope: Scope) -> Events: ...

    def make_agents(self, scope: Scope) -> Agents: ...

    def make_jobs(self, scope: Scope) -> Jobs: ...

    def make_admin(self, scope: Scope) -> Admin: ...


class Context:
    """Everything one user of one app of one tenant can do. Nothing is read or written without a context.

    Each service is made on first use: a request or a job seldom needs more than one. A context may be shared by
    threads and outlives a fork.
    """

    scope: Scope
    conversations: Conversations
    memory: Memory
    working_context: WorkingContexts
    blocks: Blocks
    tools: Tools
    events: Events
    agents: Agents
    jobs: Jobs
    admin: Admin

    def __init__(self, scope: Scope, services: Services) -> None:
        self.scope = scope
        self._services = services

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Called only while the service is not made yet. No lock: it would have to be renewed after a fork.
            if name not in SERVICE_NAMES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__.setdefault(name, getattr(self._services, f"make_{name}")(self.scope))

    def __repr__(self) -> str:
        return f"Context({self.scope!r})"


SERVICE_NAMES = tuple(name for name in Context.__annotations__ if name != "scope")
"""The names of the services of a context."""
