"""Operations on grants: the permissions of other users to read a shared space."""

from __future__ import annotations

from longmind.errors import InvalidInput
from longmind.memory.service_base import MemoryBase
from longmind.models.binding import EVERYBODY
from longmind.models.grant import SpaceGrant
from longmind.models.space import MemorySpace
from longmind.models.value import Page
from longmind.scope import ReaderScope, validate_identity
from longmind.store.tables import grants as store
from longmind.store.tables import spaces
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import LIMIT, Identity, Limit, SpaceId


class Grants(MemoryBase):
    """The current user's shared spaces, and the spaces of others that the user may read."""

    def grant_space(self, memory_space_id: SpaceId, reader: Identity) -> SpaceGrant:
        """Allow a user of the same tenant and app, or all of them with `*`, to read a space of the kind `shared`.

        Only the owner may grant, and only the owner writes to the space. Granting again returns the existing grant.

        memory_space_id: the id or the name of the space. reader: the id of the user who may read it, or `*`.
        """
        reader = _validate_reader(reader)
        # `*` includes the owner, and is granted all the same.
        if reader == self._scope.user_id:
            raise InvalidInput(f"{reader!r} is the owner of the space.", hint="Name another user.")
        space_id = self._find_space(memory_space_id)
        return self._database.write(self._scope, store.grant, self._scope, space_id, reader, self._clock())

    def revoke_space(self, memory_space_id: SpaceId, reader: Identity) -> None:
        """Revoke a grant: the reader's next call, in any process, no longer finds the space.

        A grant is revoked as it was given: revoking one user leaves a grant to `*` in place. Revoking a grant that does
        not exist is no error.

        memory_space_id: the id or the name of the space. reader: the user, or `*`, that the grant names.
        """
        checked = _validate_reader(reader)
        space_id = self._find_space(memory_space_id)
        self._database.write(self._scope, store.revoke, self._scope, space_id, checked, self._clock())

    def list_grants(self, memory_space_id: SpaceId) -> list[SpaceGrant]:
        """List the grants of one of the user's spaces, oldest first.

        memory_space_id: the id or the name of the space.
        """
        space_id = self._find_space(memory_space_id)
        return self._database.read(self._scope, store.list_of_space, self._scope, space_id)

    def list_shared_spaces(self, *, limit: Limit = 100, cursor: str | None = None) -> Page[MemorySpace]:
        """List the spaces of other users that the user may read, oldest first.

        limit: at most that many, from 1 to 10,000. cursor: `next_cursor` of the previous page; by default the first
        page.
        """
        most = LIMIT.check("limit", limit)
        after = "" if cursor is None else validate_id("cursor", cursor)
        # A space that was deleted, or is no longer shared, leaves a gap in its page.
        granted_spaces = self._database.read(self._scope, store.list_granted, self._scope, after, most + 1)
        found = [self._read_shared_space(space_id, owner) for space_id, owner in granted_spaces[:most]]
        next_cursor = granted_spaces[most - 1][0] if len(granted_spaces) > most else None
        return Page([space for space in found if space is not None], next_cursor)

    def _read_shared_space(self, space_id: str, owner: ReaderScope) -> MemorySpace | None:
        space = self._database.read(owner, spaces.get, space_id)
        return space if space is not None and space.kind == "shared" else None


def _validate_reader(reader: object) -> str:
    return EVERYBODY if reader == EVERYBODY else validate_identity("reader", reader)
