"""The memory of a running turn: core blocks and the brief in its system prompt, reminders next to the question."""

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

    def read_section(self, agent_id: str | None, policy: MemoryPolicy, prompt: str) -> str: ...

    def list_reminders(self, text: str, agent_id: str | None, policy: MemoryPolicy) -> Sequence[str]: ...


class PromptBrief(Protocol):
    """The brief of the memory tools, as a part of a prompt."""

    def read_brief(self, prompt: str) -> str: ...


@dataclass(frozen=True)
class TurnMemory:
    """The memory of one turn, read again for each model call."""

    blocks: PromptBlocks
    brief: PromptBrief
    policy: MemoryPolicy
    agent_id: str | None

    def system_prompt(self, own: str | None) -> str | None:
        """Return the app's system prompt followed by core memory and the brief, as a tool may have changed them.

        What the prompt states already, such as that of a working context, is not repeated. None if all are empty.
        """
        prompt = own or ""
        section = self.blocks.read_section(self.agent_id, self.policy, prompt)
        prompt = "\n\n".join(part for part in (prompt, section) if part)
        brief = self.brief.read_brief(prompt) if self.policy.include_brief else ""
        return "\n\n".join(part for part in (prompt, brief) if part) or None

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
            for reminder in self.blocks.list_reminders(question, self.agent_id, self.policy)
        ]
