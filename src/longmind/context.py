"""A scope bound to an engine, and the services that work in it."""

from __future__ import annotations

from longmind.admin import Admin
from longmind.blocks import Blocks
from longmind.conversations import Conversations
from longmind.events import Events
from longmind.jobs import Jobs
from longmind.memory import Memory
from longmind.scope import Scope
from longmind.tools import Tools
from longmind.working_context import WorkingContexts


class Context:
    """What one user of one app of one tenant can do. Nothing is read or written without one."""

    def __init__(
        self,
        scope: Scope,
        *,
        conversations: Conversations,
        memory: Memory,
        working_context: WorkingContexts,
        blocks: Blocks,
        tools: Tools,
        events: Events,
        jobs: Jobs,
        admin: Admin,
    ) -> None:
        self.scope = scope
        self.conversations = conversations
        self.memory = memory
        self.working_context = working_context
        self.blocks = blocks
        self.tools = tools
        self.events = events
        self.jobs = jobs
        self.admin = admin

    def __repr__(self) -> str:
        return f"Context({self.scope!r})"
