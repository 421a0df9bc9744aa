"""A scope bound to an engine, and the services that work in it."""

from __future__ import annotations

from recollect.conversations import Conversations
from recollect.jobs import Jobs
from recollect.memory import Memory
from recollect.scope import Scope


class Context:
    """What one user of one app of one tenant can do. Nothing is read or written without one."""

    def __init__(self, scope: Scope, *, conversations: Conversations, memory: Memory, jobs: Jobs) -> None:
        self.scope = scope
        self.conversations = conversations
        self.memory = memory
        self.jobs = jobs

    def __repr__(self) -> str:
        return f"Context({self.scope!r})"
