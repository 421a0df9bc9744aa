"""A working context: what a model is given so that it remembers, and what it was made of."""

from __future__ import annotations

from longmind.models.atom import Atom
from longmind.models.message import Message
from longmind.models.value import Value


class ContextSection(Value):
    """A part of the context block, as it was shown."""

    name: str
    """`user_memory`, `summary`, `always_on`, `recalled` or `turns`."""
    atom_ids: list[str]
    """In the order in which they are shown, facts before suggestions."""
    message_ids: list[str]


class LeftOut(Value):
    """What the token budget had no room for."""

    turns: int
    """How many of the recent turns, the oldest ones."""
    recalled: list[str]
    """The ids of atoms that were found for the query, the best first."""
    always_on: list[str]
    """The ids of always-on atoms, the most important first."""
    summary_shortened: bool
    """Whether the rolling summary was cut short, or did not fit at all."""
    user_memory: int = 0
    """How many lines of memory blocks, the last ones."""


class WorkingContext(Value):
    context_block: str
    """For the system prompt, or the head of the user's: memory on lines of its own, harmless, with its sources."""
    messages: list[Message]
    """The recent turns once more, as messages: whole turns, oldest first, without what no model may see."""
    atoms_used: list[Atom]
    """Exactly the atoms in the block, in its order: line `[n]` is the nth of them."""
    tokens_estimated: int
    """The tokens of the block; with a template that does not show the turns, of the block and the messages."""
    sections: list[ContextSection]
    left_out: LeftOut
    rolling_summary_until_seq: int
    """The last message that the summary covers; 0 without one."""
    built_at: str
    """The instant that it tells of: to be given as `known_at` to build the same once more."""
