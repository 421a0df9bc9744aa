"""Operations on memory spaces."""

from __future__ import annotations

from typing import Any

from recollect.clock import Micros
from recollect.memory.bound import Bound
from recollect.memory.checks import checked_name
from recollect.models.checks import checked_id, checked_metadata
from recollect.models.space import MemorySpace
from recollect.scope import Scope
from recollect.store import bindings
from recollect.store import spaces as store
from recollect.store.database import Transaction


class Spaces(Bound):
    """Named partitions of the current user's memory."""

    def create_memory_space(self, name: str | None = None, *, metadata: dict[str, Any] | None = None) -> MemorySpace:
        """Make a space. If the user has a live one of that name, that one is given back as it is."""
        checked = None if name is None else checked_name("name", name)
        return self._database.write(
            self._scope, store.create, self._scope, checked, "user", checked_metadata(metadata), self._clock()
        )

    def get_memory_space(self, memory_space_id: str) -> MemorySpace | None:
        """Look a space up; None when there is none with this id, it was deleted, or it is not this user's."""
        return self._database.read(self._scope, store.get, checked_id("memory_space_id", memory_space_id))

    def list_memory_spaces(self) -> list[MemorySpace]:
        """The user's spaces, oldest first."""
        return self._database.read(self._scope, store.list_all)

    def delete_memory_space(self, memory_space_id: str) -> None:
        """Put a space away: it and its memory are found no more, and nothing is extracted into it.

        Erasing the user removes them for good.
        """
        space_id = checked_id("memory_space_id", memory_space_id)
        self._database.write(self._scope, _delete, self._scope, space_id, self._clock())


def _delete(run: Transaction, scope: Scope, space_id: str, now: Micros) -> None:
    store.delete(run, scope, space_id, now)
    bindings.rest(run, scope, space_id)
