"""Resolves a memory space from an optional name, for the CLI and for agents."""

from __future__ import annotations

from longmind.errors import InvalidInput, NotFound
from longmind.memory.service import Memory
from longmind.models.space import MemorySpace, SpaceKind

DEFAULT_SPACE = "default"
"""The name of the space to use when a user has several and names none."""

_MEANT_FIRST: tuple[SpaceKind, ...] = ("user", "shared", "agent", "group")
_OF_CONVERSATIONS: tuple[SpaceKind, ...] = ("user", "shared")


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
    missing.hint = _list_names([*own, *others])
    raise missing


def find_default_space(memory: Memory, group: str | None = None) -> MemorySpace | None:
    """Return the space to use if none is named, or None if there is no memory yet.

    That is the user's only space of the kinds `user` and `shared`, or of several the one called `default`. A user with
    none of these gets the space of the group that the memory tools write to. Raises InvalidInput if several spaces are
    left and none is called `default`.
    """
    own = memory.list_memory_spaces()
    candidates = [space for space in own if space.kind in _OF_CONVERSATIONS]
    if not candidates:
        candidates = [space for space in own if space.kind == "group" and space.name == (group or DEFAULT_SPACE)]
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    called = [space for space in candidates if space.name == DEFAULT_SPACE]
    if called:
        return called[0]
    raise InvalidInput(
        f"The user has {len(candidates)} memory spaces, and the call names none.", hint=_list_names(candidates)
    )


def _list_names(spaces: list[MemorySpace]) -> str:
    names = [space.name or space.id for space in spaces]
    return f"Name one of these: {', '.join(names)}." if names else "Create a memory space first."
