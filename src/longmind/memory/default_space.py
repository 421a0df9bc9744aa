"""The default space of a user, and the binding that leads from chats into it.

The facade, the CLI, `ipc`, MCP, REST in single-user mode and imports all use this space where a call names none, so
they share one memory whichever of them is used first.
"""

from __future__ import annotations

from collections.abc import Iterable

from longmind.clock import Micros
from longmind.errors import InvalidInput
from longmind.models.binding import ConversationScope, ExtractionPolicy
from longmind.models.space import MemorySpace, SpaceKind
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import bindings, spaces
from longmind.store.tables.bindings import NewBinding

DEFAULT_SPACE = "default"
"""The name of the space to use when a user has several and names none."""
DEFAULT_GROUP = "default"
"""The group of the memory tools where the host names none; it shares the default space."""
DEFAULT_NAMESPACE = "chat"
"""The namespace of conversations that the default binding covers."""

_OF_CONVERSATIONS: tuple[SpaceKind, ...] = ("user", "shared")


def choose_default(own: Iterable[MemorySpace], group: str | None) -> MemorySpace | None:
    """Return the space to use if none is named, or None if there is no memory yet.

    That is the user's only space of the kinds `user` and `shared`, or of several the one called `default`. A user with
    none of these gets the space of the group that the memory tools write to. Raises InvalidInput if several spaces are
    left and none is called `default`.
    """
    spaces = list(own)
    candidates = [space for space in spaces if space.kind in _OF_CONVERSATIONS]
    if not candidates:
        candidates = [space for space in spaces if space.kind == "group" and space.name == (group or DEFAULT_SPACE)]
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    called = [space for space in candidates if space.name == DEFAULT_SPACE]
    if called:
        return called[0]
    raise InvalidInput(
        f"The user has {len(candidates)} memory spaces, and the call names none.", hint=list_names(candidates)
    )


def list_names(spaces: list[MemorySpace]) -> str:
    """Return a hint that lists the names of spaces."""
    names = [space.name or space.id for space in spaces]
    return f"Name one of these: {', '.join(names)}." if names else "Create a memory space first."


def find_bound_default(run: Transaction, scope: Scope) -> MemorySpace | None:
    """Return the default space if a binding leads from chats into it; None if either has to be created."""
    space = choose_default(spaces.list_all(run), scope.group)
    return space if space is not None and bindings.is_bound(run, scope, DEFAULT_NAMESPACE, space.id) else None


def open_default(run: Transaction, scope: Scope, now: Micros) -> MemorySpace:
    """Return the default space; create it, and the binding that leads from chats into it, where they are missing.

    Raises NotFound if another transaction deletes the space. This one has to end then, because it holds the bindings.
    """
    space = choose_default(spaces.list_all(run), scope.group)
    if space is None:
        space = spaces.create(run, scope, DEFAULT_SPACE, "user", "{}", now)
    # Holds the app's bindings until the transaction ends, so of two that find none only the first creates one.
    bindings.raise_revision(run)
    if not bindings.is_bound(run, scope, DEFAULT_NAMESPACE, space.id):
        chats = ConversationScope(namespace=DEFAULT_NAMESPACE, user_id=scope.user_id)
        bindings.create(run, scope, NewBinding(chats, (space.id,), ExtractionPolicy()), now)
    return space


def find_tools_space(run: Transaction, scope: Scope) -> MemorySpace | None:
    """Return the space of the memory tools, or None if it has to be created.

    A group that the host has named has a space of its own. Without one it is the default space, so that the notes of an
    agent and all other memory are found together. A user whose tools wrote to a space of their own before keeps it, and
    so does one with several spaces of which none is the default.
    """
    own = spaces.list_all(run)
    return _find_own_of_tools(own, scope) if _has_own_space(own, scope) else choose_default(own, scope.group)


def open_tools_space(run: Transaction, scope: Scope, now: Micros) -> MemorySpace:
    """Return the space of the memory tools; create it if it does not exist."""
    found = find_tools_space(run, scope)
    if found is not None:
        return found
    if _has_own_space(spaces.list_all(run), scope):
        return spaces.create(run, scope, scope.group or DEFAULT_GROUP, "group", "{}", now)
    return open_default(run, scope, now)


def _has_own_space(own: list[MemorySpace], scope: Scope) -> bool:
    """Return whether the memory tools of a scope write to a space of their own, which may not exist yet."""
    if scope.group not in (None, DEFAULT_GROUP) or _find_own_of_tools(own, scope) is not None:
        return True
    several = [space for space in own if space.kind in _OF_CONVERSATIONS]
    return len(several) > 1 and all(space.name != DEFAULT_SPACE for space in several)


def _find_own_of_tools(own: list[MemorySpace], scope: Scope) -> MemorySpace | None:
    name = scope.group or DEFAULT_GROUP
    return next((space for space in own if space.kind == "group" and space.name == name), None)
