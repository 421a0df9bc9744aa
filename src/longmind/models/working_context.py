"""Working contexts: prompts with memory, and the parts that they were made of."""

from __future__ import annotations

from pydantic import Field

from longmind.models.atom import Atom
from longmind.models.message import Message
from longmind.models.value import Value


class ContextSection(Value):
    """A part of the context block, as it was shown."""

    name: str
    """`profile`, `user_memory`, `summary`, `always_on`, `recalled`, `quotes` or `turns`."""
    atom_ids: list[str]
    """In the order of the prompt, facts before suggestions."""
    message_ids: list[str]


class LeftOut(Value):
    """The parts that the token budget had no room for."""

    turns: int
    """The number of recent turns, the oldest ones."""
    recalled: list[str]
    """The ids of atoms that were found for the query, the best first."""
    always_on: list[str]
    """The ids of always-on atoms, the most important first."""
    summary_shortened: bool
    """True if the rolling summary was cut short, or did not fit at all."""
    user_memory: int = 0
    """The number of lines of memory blocks, the last ones."""
    quotes: list[str] = Field(default_factory=list)
    """The ids of messages that were found for the query, the best first."""
    profile: list[str] = Field(default_factory=list)
    """The ids of facts of the profile, the first ones first.

    Those beyond its fifth of the budget are not among them: they can be recalled.
    """


class WorkingContext(Value):
    """The memory part of a prompt: the text for the model, and the atoms and messages in it."""

    context_block: str
    """Text for the system prompt, or the head of the user's: sanitised memory with its sources, one fact per line."""
    messages: list[Message]
    """The recent turns as messages: whole turns, oldest first, without hidden rows."""
    atoms_used: list[Atom]
    """The atoms in the block, in its order: line `[n]` is the nth of them."""
    # How the budget was used.
    tokens_estimated: int
    """The tokens of the block; with a template that does not show the turns, of the block and the messages."""
    sections: list[ContextSection]
    left_out: LeftOut
    rolling_summary_until_seq: int
    """The last message that the summary covers; 0 without one."""
    built_at: str
    """The instant of the memory in it; pass it as `known_at` to build the same context again."""
