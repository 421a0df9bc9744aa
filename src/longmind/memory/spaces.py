"""Operations on memory spaces."""

from __future__ import annotations

import contextlib
from typing import Any

from longmind.clock import Micros
from longmind.errors import InvalidInput, NotFound
from longmind.memory.default_space import find_bound_default, open_default
from longmind.memory.service_base import MemoryBase
from longmind.memory.validation import validate_name
from longmind.models.space import MemorySpace, SpaceKind
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import bindings, grants
from longmind.store.tables import spaces as store
from longmind.validation.identifiers import validate_metadata
from longmind.validation.parameter_limits import Name, SpaceId

_MADE_BY_APPS: tuple[SpaceKind, ...] = ("user", "shared")


class Spaces(MemoryBase):
    """Named partitions of the current user's memory."""

    def create_memory_space(
        self, name: Name | None = None, *, kind: SpaceKind = "user", metadata: dict[str, Any] | None = None
    ) -> MemorySpace:
        """Create a space, or return the user's live space of that name and kind unchanged.

        name: at most 255 characters; a space may have none.
        kind: `user`, or `shared` for a space of the user's own that others may be granted to read.
        metadata: up to 64 KiB of JSON of the app's own.
        """
        checked = None if name is None else validate_name("name", name)
        if kind not in _MADE_BY_APPS:
            raise InvalidInput(f"kind is {kind!r}.", hint=f"Pass {' or '.join(_MADE_BY_APPS)}.")
        return self._database.write(
            self._scope, store.create, self._scope, checked, kind, validate_metadata(metadata), self._clock()
        )

    def open_default_space(self) -> MemorySpace:
        """Return the space to use where none is named; for a user without spaces, create it.

        It is the user's only space of the kinds `user` and `shared`, or of several the one called `default`; a user
        with neither gets that of the context's group, or a new space called `default`. A binding leads from the user's
        conversations in the namespace `chat` into it: one that was paused stays paused, one that is missing is created.
        Safe to call from many threads and processes at once.

        Raises InvalidInput if the user has several spaces and none is called `default`.
        """
        found = self._database.read(self._scope, find_bound_default, self._scope)
        while found is None:
            # Not found means that another transaction has deleted the space, so there is one to create.
            with contextlib.suppress(NotFound):
                found = self._database.write(self._scope, open_default, self._scope, self._clock())
        return found

    def get_memory_space(self, memory_space_id: SpaceId) -> MemorySpace | None:
        """Return a space, or None if it does not exist, was deleted, or is not the user's nor shared with them.

        memory_space_id: the id or the name of a space.
        """
        try:
            space_id = self._find_space(memory_space_id)
        except NotFound:
            return None
        own = self._database.read(self._scope, store.get, space_id)
        owner = self._find_owner(space_id) if own is None else None
        return own if owner is None else self._database.read(owner, store.get, space_id)

    def list_memory_spaces(self) -> list[MemorySpace]:
        """List the user's own spaces, oldest first."""
        return self._database.read(self._scope, store.list_all)

    def delete_memory_space(self, memory_space_id: SpaceId) -> None:
        """Delete a space: nobody finds it or its memory any more, and nothing is extracted into it.

        Its rows stay until the user is erased.

        memory_space_id: the id or the name of a space of the user.
        """
        space_id = self._find_space(memory_space_id)
        self._database.write(self._scope, _delete, self._scope, space_id, self._clock())


def _delete(run: Transaction, scope: Scope, space_id: str, now: Micros) -> None:
    store.delete(run, scope, space_id, now)
    bindings.mark_space_deleted(run, scope, space_id)
    grants.revoke_all(run, scope, space_id)
