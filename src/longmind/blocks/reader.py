"""Reads of the blocks that a prompt shows: by policy, for an agent, and as of an instant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from longmind.blocks.prompt_text import build_reminder, build_user_memory
from longmind.blocks.validation import validate_agent
from longmind.clock import Clock, Micros
from longmind.models.block import Block, BlockLine, MemoryPolicy
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import blocks as store

if TYPE_CHECKING:
    from longmind.blocks.line_search import LineRetriever


class BlockReader:
    """Reads the blocks of a scope from the database each time, so that every write is in the next prompt."""

    def __init__(self, database: Database, scope: Scope, clock: Clock, retriever: Callable[[], LineRetriever]) -> None:
        self._database = database
        self._scope = scope
        self._owner = scope.block_owner
        self._clock = clock
        self._retriever = retriever

    def choose_agent(self, agent_id: str | None) -> str | None:
        """Return the agent that a prompt is for: the given one, or else that of the context; None if neither is set."""
        return self._scope.agent_id if agent_id is None else validate_agent(agent_id)

    def read_core(self, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None) -> list[Block]:
        """Return the core blocks that the policy admits, the user's first; `known_at` reads them as of an instant."""
        return self._database.read(
            self._owner,
            store.list_all,
            users=policy.include_user_core,
            agents=policy.include_agent_core and agent_id is not None,
            agent_id=agent_id,
            block_type="core",
            known_at=known_at,
        )

    def read_section(self, agent_id: str | None, policy: MemoryPolicy, prompt: str = "") -> str:
        """Return the core blocks as a section of a prompt, without those that the prompt states already."""
        return build_user_memory(self.read_core(agent_id, policy), prompt)

    def list_reminders(self, text: str, agent_id: str | None, policy: MemoryPolicy) -> list[str]:
        """Return archival lines about a text as a note for the model; empty without lines."""
        reminder = build_reminder(self.find_reminders(text, agent_id, policy))
        return [reminder] if reminder else []

    def find_reminders(
        self, text: str, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None
    ) -> list[BlockLine]:
        """Return archival lines about a text, best first; none unless the policy's `archival_mode` is `auto`."""
        if policy.archival_mode != "auto" or not text.strip():
            return []
        # Filtered after the limit, which loses nothing: the lines come best first.
        min_score = policy.archival_min_score or 0.0
        return [line for line in self.find(text, agent_id, policy.archival_limit, known_at) if line.score >= min_score]

    def find(self, query: str, agent_id: str | None, limit: int, known_at: Micros | None = None) -> list[BlockLine]:
        """Return lines of the user's and the agent's archival blocks that are about a query, best first."""
        blocks = self._database.read(
            self._owner,
            store.list_all,
            users=True,
            agents=agent_id is not None,
            agent_id=agent_id,
            block_type="archival",
            known_at=known_at,
        )
        now = self._clock() if known_at is None else known_at
        return self._retriever().find(self._owner, blocks, query, limit, now) if blocks else []
