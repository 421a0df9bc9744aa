"""What a turn that is run has of memory blocks: a section of its system prompt, and reminders beside the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from longmind.clock import Micros
from longmind.models.block import MemoryPolicy
from longmind.models.content import decode_content, encode_content, extract_words
from longmind.store.tables.messages import NewMessage


class BlockMemory(Protocol):
    """Memory blocks, as a turn sees them."""

    def user_memory(self, agent_id: str | None = None, policy: MemoryPolicy | None = None) -> str: ...

    def reminders(
        self, text: str, *, agent_id: str | None = None, policy: MemoryPolicy | None = None
    ) -> Sequence[str]: ...


@dataclass(frozen=True)
class TurnMemory:
    blocks: BlockMemory
    policy: MemoryPolicy
    agent_id: str | None

    def system_prompt(self, own: str | None) -> str | None:
        """The app's system prompt with core memory behind it, as it is now: a tool may have written it."""
        section = self.blocks.user_memory(self.agent_id, self.policy)
        return "\n\n".join(part for part in (own, section) if part) or None

    def list_reminders(self, user: NewMessage, now: Micros) -> list[NewMessage]:
        """The rows that stand beside a user's message, for the model's eyes only."""
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
