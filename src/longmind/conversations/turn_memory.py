"""The memory of a running turn: core blocks in its system prompt, and reminders next to the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from longmind.clock import Micros
from longmind.models.block import MemoryPolicy
from longmind.models.content import decode_content, encode_content, extract_words
from longmind.store.tables.messages import NewMessage


class PromptBlocks(Protocol):
    """The operations on memory blocks that a turn needs."""

    def user_memory(self, agent_id: str | None = None, policy: MemoryPolicy | None = None) -> str: ...

    def reminders(
        self, text: str, *, agent_id: str | None = None, policy: MemoryPolicy | None = None
    ) -> Sequence[str]: ...


@dataclass(frozen=True)
class TurnMemory:
    """The memory blocks of one turn, read again for each model call."""

    blocks: PromptBlocks
    policy: MemoryPolicy
    agent_id: str | None

    def system_prompt(self, own: str | None) -> str | None:
        """Return the app's system prompt followed by core memory as it is now, since a tool may have changed it.

        None if both are empty.
        """
        section = self.blocks.user_memory(self.agent_id, self.policy)
        return "\n\n".join(part for part in (own, section) if part) or None

    def list_reminders(self, user: NewMessage, now: Micros) -> list[NewMessage]:
        """Return the rows to store next to a user's message, for the model's eyes only."""
        # Images and blocks of tools say nothing that archival lines could match.
        question = extract_words(decode_content(user.content))
        return [
            NewMessage(
                role="system",
                content=encode_content(reminder),
                visibility="internal",
                at=max(user.at, now),
                trace_id=user.trace_id,
            )
            for reminder in self.blocks.reminders(question, agent_id=self.agent_id, policy=self.policy)
        ]
