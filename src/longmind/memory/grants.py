"""Operations on grants: who may read a shared space beside its owner."""

from __future__ import annotations

from longmind.errors import InvalidInput
from longmind.memory.base import MemoryBase
from longmind.models.binding import EVERYBODY
from longmind.models.grant import SpaceGrant
from longmind.models.space import MemorySpace
from longmind.models.value import Page
from longmind.scope import ReaderScope, validate_identity
from longmind.store.tables import grants as store
from longmind.store.tables import spaces
from longmind.validation.annotated import LIMIT, Identity, Limit, SpaceId
from longmind.validation.identifiers import validate_id


class Grants(MemoryBase):
    """What others may read of the current user's memory, and the user of theirs."""

    def grant_space(self, memory_space_id: SpaceId, reader: Identity) -> SpaceGrant:
        """Let a user of the same tenant and app read a space of the kind `shared`; `*` lets all of them.

        Only its owner may do so, and only its owner writes to it. Who has the grant already keeps it as it is.
        """
        space_id = validate_id("memory_space_id", memory_space_id)
        reader = _validate_reader(reader)
        if reader == self._scope.user_id:
            raise InvalidInput(f"{reader!r} is the one who would grant it.", hint="An owner needs no grant.")
        return self._database.write(self._scope, store.grant, self._scope, space_id, reader, self._clock())

    def revoke_space(self, memory_space_id: SpaceId, reader: Identity) -> None:
        """Take a grant back: the very next call of the user, in any process, finds the space no more.

        Grants are taken back as they were given: that of one user leaves `*` as it is. To take back what was not given
        is no error.
        """
        space_id = validate_id("memory_space_id", memory_space_id)
        self._database.write(self._scope, store.revoke, self._scope, space_id, _validate_reader(reader), self._clock())

    def list_grants(self, memory_space_id: SpaceId) -> list[SpaceGrant]:
        """Who may read a space of the user's, in the order in which they were let."""
        return self._database.read(
            self._scope, store.list_of_space, self._scope, validate_id("memory_space_id", memory_space_id)
        )

    def list_shared_spaces(self, *, limit: Limit = 100, cursor: str | None = None) -> Page[MemorySpace]:
        """The spaces of others that the user may read, oldest first."""
        most = LIMIT.check("limit", limit)
        after = "" if cursor is None else validate_id("cursor", cursor)
        held = self._database.read(self._scope, store.list_held, self._scope, after, most + 1)
        found = [self._read_shared_space(space_id, owner) for space_id, owner in held[:most]]
        next_cursor = held[most - 1][0] if len(held) > most else None
        return Page([space for space in found if space is not None], next_cursor)

    def _read_shared_space(self, space_id: str, owner: ReaderScope) -> MemorySpace | None:
        space = self._database.read(owner, spaces.get, space_id)
        return space if space is not None and space.kind == "shared" else None


def _validate_reader(reader: object) -> str:
    return EVERYBODY if reader == EVERYBODY else validate_identity("reader", reader)
