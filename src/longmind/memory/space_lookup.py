"""Resolves a memory space from an optional name, for the CLI and for agents."""

from __future__ import annotations

from longmind.errors import NotFound
from longmind.memory.default_space import choose_default, list_names
from longmind.memory.service import Memory
from longmind.models.space import MemorySpace, SpaceKind

_MEANT_FIRST: tuple[SpaceKind, ...] = ("user", "shared", "agent", "group")


def find_space(memory: Memory, id_or_name: str) -> MemorySpace:
    """Return the space with an id or, if there is none, with a name; raise NotFound, whose hint lists the names.

    The user's own spaces come first, then the oldest 100 of those that are shared with the user.
    """
    own = sorted(memory.list_memory_spaces(), key=lambda space: _MEANT_FIRST.index(space.kind))
    others = memory.list_shared_spaces()
    for space in (*own, *others):
        if space.id == id_or_name:
            return space
    for space in (*own, *others):
        if space.name == id_or_name:
            return space
    missing = NotFound("memory space", id_or_name)
    missing.hint = list_names([*own, *others])
    raise missing


def find_default_space(memory: Memory, group: str | None = None) -> MemorySpace | None:
    """Return the space to use if none is named, as `choose_default` does, without creating one."""
    return choose_default(memory.list_memory_spaces(), group)
