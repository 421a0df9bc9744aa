"""Finding a space by its id or its name, for every operation that takes a space."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from longmind.errors import NotFound
from longmind.memory.default_space import list_names
from longmind.models.space import MemorySpace, SpaceKind
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import grants, spaces
from longmind.store.tables.grants import GrantedSpace
from longmind.validation.identifiers import validate_id

MEANT_FIRST: tuple[SpaceKind, ...] = ("user", "shared", "agent", "group")
"""Kinds of spaces in the order in which a name means them."""
_ID_PREFIX = "ms_"
_SHOWN_NAMES = 20


def find_space_id(database: Database, scope: Scope, given: object, where: str = "memory_space_id") -> str:
    """Return the id of the space that an id or a name stands for; what begins with `ms_` is an id.

    The user's own spaces come first, then those that are shared with the user. Raises NotFound for an unknown name;
    whether there is a space with an id, its reader finds out.
    """
    checked = validate_id(where, given)
    if checked.startswith(_ID_PREFIX):
        # Most calls have an id, which costs nothing here. A name that looks like one is not found by it.
        return checked
    found = database.read(scope, _find_own, checked)
    return found or _find_shared(database, scope, checked)


def describe_missing(given: str, known: Iterable[MemorySpace]) -> NotFound:
    """Return the error for an unknown name, whose hint suggests what was meant."""
    spaces = list(known)
    missing = NotFound("memory space", given)
    alike = get_close_matches(given, [space.name for space in spaces if space.name], 1)
    missing.hint = f"Did you mean {alike[0]!r}?" if alike else list_names(spaces[:_SHOWN_NAMES])
    return missing


def _find_own(run: Transaction, given: str) -> str | None:
    return next(filter(None, (spaces.find_id(run, given, kind) for kind in MEANT_FIRST)), None)


def _find_shared(database: Database, scope: Scope, given: str) -> str:
    granted = database.read(scope, grants.list_granted, scope)
    shared = [space for each in granted if (space := _read_granted(database, each)) is not None]
    for space in shared:
        if given == space.name:
            return space.id
    raise describe_missing(given, [*database.read(scope, spaces.list_all), *shared])


def _read_granted(database: Database, granted: GrantedSpace) -> MemorySpace | None:
    space_id, owner = granted
    space = database.read(owner, spaces.get, space_id)
    return space if space is not None and space.kind == "shared" else None
