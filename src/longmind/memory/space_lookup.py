"""Resolves a memory space from an optional name, for the CLI and for agents."""

from __future__ import annotations

from longmind.memory.default_space import choose_default
from longmind.memory.service import Memory
from longmind.memory.space_names import MEANT_FIRST, describe_missing
from longmind.models.space import MemorySpace


def find_space(memory: Memory, id_or_name: str) -> MemorySpace:
    """Return the space with an id or, if there is none, with a name; raise NotFound, which suggests what was meant.

    The user's own spaces come first, then the oldest 100 of those that are shared with the user.
    """
    own = sorted(memory.list_memory_spaces(), key=lambda space: MEANT_FIRST.index(space.kind))
    others = memory.list_shared_spaces()
    for space in (*own, *others):
        if space.id == id_or_name:
            return space
    for space in (*own, *others):
        if space.name == id_or_name:
            return space
    raise describe_missing(id_or_name, [*own, *others])


def find_default_space(memory: Memory, group: str | None = None) -> MemorySpace | None:
    """Return the space to use if none is named, as `choose_default` does, without creating one."""
    return choose_default(memory.list_memory_spaces(), group)
