"""A scope bound to an engine, and the services that work in it."""

from __future__ import annotations

from recollect.admin import Admin
from recollect.blocks import Blocks
from recollect.conversations import Conversations
from recollect.events import Events
from recollect.jobs import Jobs
from recollect.memory import Memory
from recollect.scope import Scope
from recollect.tools import Tools
from recollect.working_context import WorkingContexts


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
