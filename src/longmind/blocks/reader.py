"""The blocks of a scope as prompts have them: which of them, for which agent, and as of when."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from longmind.blocks.validation import validate_agent
from longmind.clock import Clock, Micros
from longmind.models.block import Block, BlockLine, MemoryPolicy
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import blocks as store

if TYPE_CHECKING:
    from longmind.blocks.line_search import LineRetriever


class BlockReader:
    """Reads anew each time, so that what was written is in the next prompt; or as it was at an instant."""

    def __init__(self, database: Database, scope: Scope, clock: Clock, retriever: Callable[[], LineRetriever]) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._retriever = retriever

    def active(self, agent_id: str | None) -> str | None:
        """The agent that a prompt is for: the one that is named, else the context's."""
        return self._scope.agent_id if agent_id is None else validate_agent(agent_id)

    def core(self, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None) -> list[Block]:
        """The core blocks that the policy lets into a prompt, the user's first."""
        return self._database.read(
            self._scope,
            store.list_all,
            users=policy.include_user_core,
            agents=policy.include_agent_core and agent_id is not None,
            agent_id=agent_id,
            block_type="core",
            known_at=known_at,
        )

    def reminding(
        self, text: str, agent_id: str | None, policy: MemoryPolicy, known_at: Micros | None = None
    ) -> list[BlockLine]:
        """What archival memory has to say to a text without being asked, best first: nothing unless by the policy."""
        if policy.archival_mode != "auto" or not text.strip():
            return []
        least = policy.archival_min_score or 0.0
        return [line for line in self.find(text, agent_id, policy.archival_limit, known_at) if line.score >= least]

    def find(self, query: str, agent_id: str | None, limit: int, known_at: Micros | None = None) -> list[BlockLine]:
        """Lines of the user's archival block and the agent's that are about a query, best first."""
        found = self._database.read(
            self._scope,
            store.list_all,
            users=True,
            agents=agent_id is not None,
            agent_id=agent_id,
            block_type="archival",
            known_at=known_at,
        )
        now = self._clock() if known_at is None else known_at
        return self._retriever().find(self._scope, found, query, limit, now) if found else []
