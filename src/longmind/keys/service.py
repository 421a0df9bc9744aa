"""The operations on access keys, for the host of the server.

Only a hash of a token is stored. Every check reads the key's row: a cache could not know which keys another server of
the same database has revoked.
"""

from __future__ import annotations

import re

from longmind.clock import Clock, Instant, Micros, to_iso, to_micros
from longmind.errors import InvalidInput, NotFound, Unauthenticated
from longmind.keys.last_use import KeyUseLog
from longmind.keys.token import new_token, read_token
from longmind.models.key import AccessKey, KeyAccess, MadeKey
from longmind.models.value import Page
from longmind.scope import IDENTITY_LIMIT, validate_identity
from longmind.store.database import Database
from longmind.store.tables import keys
from longmind.store.tables.keys import KeyCount, NewKey
from longmind.validation.identifiers import validate_id
from longmind.validation.text import validate_text

_RATE = re.compile(r"[1-9][0-9]{0,8}/(second|minute|hour|day)")


class AccessKeys:
    """The access keys of a database, for the host alone: a caller of `create` can act as any user."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._uses = KeyUseLog(database)

    def __repr__(self) -> str:
        return f"AccessKeys({self._database.address!r})"

    def create(
        self,
        *,
        tenant_id: str,
        app_id: str,
        user_id: str | None = None,
        any_user: bool = False,
        admin: bool = False,
        name: str = "",
        expires_at: Instant | None = None,
        rate: str | None = None,
    ) -> MadeKey:
        """Create a key for one user, for any user that a request names, or for administration.

        The `token` of the result is shown only here. rate: the limit of its requests, such as `600/minute`.
        """
        now = self._clock()
        token = new_token(now)
        new = NewKey(
            id=token.id,
            name=validate_text("name", name, limit=IDENTITY_LIMIT),
            tenant_id=validate_identity("tenant_id", tenant_id),
            app_id=validate_identity("app_id", app_id),
            access=_access(user_id, any_user, admin),
            user_id=None if user_id is None else validate_identity("user_id", user_id),
            digest=token.digest,
            rate=None if rate is None else validate_rate("rate", rate),
            expires_at=None if expires_at is None else _validate_expiry(to_micros(expires_at, "expires_at"), now),
        )
        made = self._database.write(None, keys.insert, new, now)
        return MadeKey(**made.model_dump(by_alias=False), token=token.text)

    def list(self, *, tenant_id: str | None = None, app_id: str | None = None) -> Page[AccessKey]:
        """Return the keys of all tenants, of one, or of one app, oldest first; revoked ones are included."""
        return Page(self._database.read(None, keys.list_oldest_first, tenant_id, app_id))

    def revoke(self, key_id: str) -> AccessKey:
        """Revoke a key by its id. Every server of this database refuses its next request."""
        key_id = validate_id("key_id", key_id)
        # A whole token is accepted as well, since it begins with the id.
        token = read_token(key_id)
        key = self._database.write(None, keys.revoke, token.id if token else key_id, self._clock())
        if key is None:
            raise NotFound("key", token.id if token else key_id)
        return key

    def count(self) -> KeyCount:
        """Return the number of keys that were ever created, and of those that are valid."""
        return self._database.read(None, keys.count, self._clock())

    def any_made(self) -> bool:
        """Return whether a key was ever created."""
        return self._database.read(None, keys.has_any)

    def check(self, token: str) -> AccessKey:
        """Return the key of a request's token; raise Unauthenticated if it is unknown, wrong, revoked or expired."""
        read = read_token(token)
        known = None if read is None else self._database.read(None, keys.find, read.id)
        if read is None or known is None or not read.fits(known.digest):
            # One message for all three, so that it does not reveal which ids exist.
            raise Unauthenticated("The key is unknown.")
        if known.key.revoked_at is not None:
            raise Unauthenticated("The key was revoked.", hint="Ask the operator of the server for a new one.")
        now = self._clock()
        if known.expires_at is not None and known.expires_at <= now:
            raise Unauthenticated("The key has expired.", hint="Ask the operator of the server for a new one.")
        self._uses.note(read.id, known.last_used_at, now)
        return known.key

    def settle(self) -> None:
        """Wait until the last uses of keys are stored, which happens in the background."""
        self._uses.settle()


def validate_rate(name: str, value: object) -> str:
    """Return the value if it is a rate such as `600/minute`; raise InvalidInput otherwise."""
    if not isinstance(value, str) or not _RATE.fullmatch(value):
        raise InvalidInput(
            f"{name} is {value!r}.",
            hint="Write requests per second, minute, hour or day, such as 600/minute.",
        )
    return value


def _access(user_id: str | None, any_user: bool, admin: bool) -> KeyAccess:
    if (user_id is not None) + any_user + admin != 1:
        raise InvalidInput(
            "A key is for one user, for any user, or for an admin.",
            hint="Pass one of user_id, any_user=True or admin=True.",
        )
    return "user" if user_id is not None else "admin" if admin else "any-user"


def _validate_expiry(expires_at: Micros, now: Micros) -> Micros:
    if expires_at <= now:
        raise InvalidInput(f"expires_at {to_iso(expires_at)} is in the past.", hint="Pass an instant in the future.")
    return expires_at
