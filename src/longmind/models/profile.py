"""Profiles: who the user, or another entity, is, in a few cited lines."""

from __future__ import annotations

from longmind.models.value import Value


class ProfileLine(Value):
    """A line of a profile. Its number in the text is its place in the list, counted from 1."""

    text: str
    atom_ids: list[str]
    """The facts that it states."""
    behavioral: bool
    """True for a rule or a preference, which stands in the text under a notice that it is a suggestion."""


class Profile(Value):
    """The stable facts about the user, or about an entity, for every prompt: at most 150 tokens.

    It is computed from the facts that hold when it is asked for, and stored nowhere.
    """

    memory_space_id: str
    entity_id: str | None
    """The entity that it is about; None for the user."""
    text: str
    """The lines for a prompt, sanitised; empty if nothing stable is known."""
    lines: list[ProfileLine]
    # Counted over the text with its title and numbers, as a prompt shows it.
    tokens_estimated: int
    built_at: str
    """The instant of the memory in it; pass it as `known_at` to get the same profile again."""

    def __str__(self) -> str:
        """Return the text for a prompt."""
        return self.text
