"""Scopes: the immutable owner of memory that every read and write is bound to, and the timelines of its events.

The host of the engine makes a scope, or the server makes it from a credential; nothing that a caller sends decides it.
Rows carry hashes of the ids (`Scope.id`, `app_key`), which row-level security compares. The hashes are stored, so the
way they are made can never change.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Literal, get_args
from urllib.parse import quote

from longmind.errors import Forbidden, InvalidIdentity, InvalidInput

IDENTITY_LIMIT = 255
ENCODED_LIMIT = 500
"""Longest encoded id in the id of a timeline. An index row of PostgreSQL holds at most 2,700 bytes: three such ids, and
the longest kind, topic or key."""
EVERYBODY = "*"

Capability = Literal["admin"]
Level = Literal["session", "user", "run", "org", "scope"]


def validate_identity(name: str, value: object) -> str:
    """Return the value if it can be an id of a tenant, app, user and so on; raise InvalidIdentity otherwise."""
    if not isinstance(value, str):
        raise InvalidIdentity(f"{name} must be a text, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidIdentity(f"{name} is blank.")
    if value == EVERYBODY:
        raise InvalidIdentity(f"{name} is '*', which is reserved for all users.")
    if len(value) > IDENTITY_LIMIT:
        raise InvalidIdentity(f"{name} is limited to {IDENTITY_LIMIT} characters; {len(value):,} were given.")
    for position, character in enumerate(value):
        # Cc are the control characters, Cs the halves of surrogate pairs, which no database can store.
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise InvalidIdentity(f"{name} has the control character U+{ord(character):04X} at position {position}.")
    return value


@dataclass(frozen=True, repr=False)
class Scope:
    """A user of an app of a tenant, and optional ids that say more about the call.

    Tenant, app and user decide which rows are visible; the other ids file events and blocks within them. Memory blocks
    are those of `block_owner`.
    """

    tenant_id: str
    app_id: str
    user_id: str
    agent_id: str | None = None
    group: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    client_id: str | None = None
    graph_id: str | None = None
    node_id: str | None = None
    capabilities: frozenset[Capability] = field(default=frozenset())

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name == "capabilities":
                continue
            value = getattr(self, each.name)
            if value is not None or each.name in ("tenant_id", "app_id", "user_id"):
                validate_identity(each.name, value)
        object.__setattr__(self, "capabilities", _validate_capabilities(self.capabilities))

    def __repr__(self) -> str:
        """Return the ids that are set."""
        named = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if getattr(self, each.name)]
        return f"{type(self).__name__}({', '.join(named)})"

    @cached_property
    def id(self) -> str:
        """The key in every row of this user: 24 characters, a hash of tenant, app and user."""
        return _key(b"recollect.scope", self.tenant_id, self.app_id, self.user_id)

    @cached_property
    def app_key(self) -> str:
        """The key in rows that belong to the whole app of this user."""
        return TenantScope.from_scope(self).id

    @property
    def block_owner(self) -> Scope:
        """The scope of the user's memory blocks: this one, or in an app that shares blocks that of the whole tenant."""
        return self

    def make_for_user(self, user_id: str) -> Scope:
        """Return the scope of a user of the same app, which shares memory blocks if this one does."""
        return type(self)(self.tenant_id, self.app_id, user_id)

    def require(self, capability: Capability) -> None:
        """Raise Forbidden unless the host has granted the capability."""
        if capability not in self.capabilities:
            raise Forbidden(
                f"This needs the capability {capability!r}.",
                hint=f"Make the context with capabilities={{{capability!r}}}.",
            )


class ScopedService:
    """A group of operations in the scope of one user."""

    _scope: Scope

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._scope!r})"


@dataclass(frozen=True, repr=False)
class ReaderScope(Scope):
    """The scope of the owner of a shared space, for a user who may read there: the store refuses writes in it."""


@dataclass(frozen=True, repr=False)
class SharingScope(Scope):
    """A user of an app that shares the user's memory blocks with other apps of the tenant.

    Only the engine makes it, from the setting `apps_sharing_blocks`. In all else it is the scope of the same ids.
    """

    @cached_property
    def block_owner(self) -> Scope:
        """The scope of the same user in the whole tenant."""
        return TenantUserScope(self.tenant_id, EVERYBODY, self.user_id)


@dataclass(frozen=True, repr=False)
class TenantUserScope(Scope):
    """A user of a tenant, as the owner of the memory blocks that apps share. Its app id is '*', which no app has."""

    def __post_init__(self) -> None:
        # Made from a validated scope; '*' itself would not pass.
        return


@dataclass(frozen=True, repr=False)
class AppScope(Scope):
    """An app as the owner of the log of administration of its users' data. Its user id is '*', which no user has."""

    def __post_init__(self) -> None:
        # Made from a validated scope; '*' itself would not pass.
        return

    @classmethod
    def from_scope(cls, scope: Scope) -> AppScope:
        return cls(scope.tenant_id, scope.app_id, EVERYBODY)


def make_owner_scope(tenant_id: str, app_id: str, user_id: str) -> Scope:
    """Return the scope that owns a log, from the ids in it."""
    if user_id == EVERYBODY:
        return AppScope.from_scope(Scope(tenant_id, app_id, "-"))
    return Scope(tenant_id, app_id, user_id)


@dataclass(frozen=True)
class TenantScope:
    """An app of a tenant, as the owner of rows that belong to no single user, such as the spend of a month."""

    tenant_id: str
    app_id: str

    @classmethod
    def from_scope(cls, scope: Scope) -> TenantScope:
        return cls(scope.tenant_id, scope.app_id)

    @cached_property
    def id(self) -> str:
        """The key in its rows. The hash is of another kind than a user's, so the two never coincide."""
        return _key(b"recollect.tenant", self.tenant_id, self.app_id)

    @property
    def app_key(self) -> str:
        return self.id


AnyScope = Scope | TenantScope


def _key(kind: bytes, *identities: str) -> str:
    # The kinds begin with the former name of the product, because stored keys were derived from it.
    digest = hashlib.blake2b(digest_size=15, person=kind)
    for part in identities:
        encoded = part.encode()
        # The length goes first, so that no two lists have the same encoding.
        digest.update(len(encoded).to_bytes(4) + encoded)
    return base64.b32encode(digest.digest()).decode().lower()


def _validate_capabilities(given: Iterable[str]) -> frozenset[str]:
    known = get_args(Capability)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"capabilities must be a set of names, not {given!r}.", hint=f"Use only {', '.join(known)}.")
    names = list(given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidInput(f"Unknown capabilities {unknown}.", hint=f"Use only {', '.join(known)}.")
    return frozenset(names)


def timeline_id(scope: Scope, level: Level = "session", *, session_id: str | None = None) -> str:
    """Name the timeline that events of this scope are kept on.

    A level whose id the scope lacks falls back to the user. Ids are percent-encoded, so that one with `|`, `:` or `/`
    neither collides with another timeline nor escapes a path. Encoding multiplies the length of an id in a non-Latin
    script; if it becomes too long, it is cut, and a hash of the whole id replaces the rest.
    """
    org = f"org:{_encode_identity(scope.tenant_id)}"
    session = session_id or scope.session_id
    user = f"{org}:user:{_encode_identity(scope.user_id)}"
    match level:
        case "session" if session:
            bucket = f"session:{_encode_identity(session)}"
        case "run" if scope.run_id:
            bucket = f"run:{_encode_identity(scope.run_id)}"
        case "org":
            return org
        case "scope":
            bucket = "global"
        case _:
            bucket = user
    return f"{org}|{bucket}"


def bucket_timeline_id(scope: Scope, bucket: str) -> str:
    """Name the timeline of a bucket of the caller's own, which differs from all that are made of ids."""
    return f"org:{_encode_identity(scope.tenant_id)}|bucket:{_encode_identity(validate_identity('bucket', bucket))}"


@lru_cache(maxsize=4096)
def bucket_of(timeline_id: str) -> str:
    """Return the bucket of a timeline: its id without the tenant in front."""
    return timeline_id.partition("|")[2] or timeline_id


def timeline_of(scope: Scope, bucket: str) -> str:
    """Return the timeline of a bucket, the inverse of `bucket_of`."""
    org = f"org:{_encode_identity(scope.tenant_id)}"
    return bucket if bucket == org else f"{org}|{bucket}"


def rename_timeline(timeline: str, source: Scope, target: Scope) -> str:
    """Return the id of a timeline after it has moved from one user to another."""
    bucket = bucket_of(timeline)
    for level in ("org", "user"):
        if bucket == bucket_of(timeline_id(source, level)):
            return timeline_id(target, level)
    return timeline_of(target, bucket)


def _encode_identity(identity: str) -> str:
    # quote() leaves dots alone, and '..' would be the one way left to climb out of a folder.
    encoded = quote(identity, safe="").replace(".", "%2E")
    if len(encoded) <= ENCODED_LIMIT:
        return encoded
    # Encoded ids contain no exclamation mark, so a cut one collides with none of them.
    rest = "!" + _key(b"recollect.long", identity)
    return encoded[: ENCODED_LIMIT - len(rest)] + rest
