"""Whose memory it is: the immutable scope that every read and write is bound to.

A scope is made by the host of the engine (or by the server from a credential), never from what a caller sends.
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
"""How long an id may be in the id of a timeline: PostgreSQL has no more than 2,700 bytes in an index for three of them,
and the longest kind, topic or key."""
EVERYBODY = "*"

Capability = Literal["admin"]
Level = Literal["session", "user", "run", "org", "scope"]


def validate_identity(name: str, value: object) -> str:
    """Return the value if it can be an identity, and say why if it cannot."""
    if not isinstance(value, str):
        raise InvalidIdentity(f"{name} must be a text, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidIdentity(f"{name} is blank.")
    if value == EVERYBODY:
        raise InvalidIdentity(f"{name} is '*', which stands for everybody and so is nobody's id.")
    if len(value) > IDENTITY_LIMIT:
        raise InvalidIdentity(f"{name} is limited to {IDENTITY_LIMIT} characters; {len(value):,} were given.")
    for position, character in enumerate(value):
        # Cc are the control characters, Cs the halves of surrogate pairs, which no database can store.
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise InvalidIdentity(f"{name} has the control character U+{ord(character):04X} at position {position}.")
    return value


@dataclass(frozen=True)
class Scope:
    """A user inside an app inside a tenant, and what else is known of the call."""

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

    @cached_property
    def id(self) -> str:
        """The key that begins every row of this user: 24 characters made from tenant, app and user."""
        return _key(b"recollect.scope", self.tenant_id, self.app_id, self.user_id)

    @cached_property
    def app_key(self) -> str:
        """The key of what belongs to the whole app that the user is in."""
        return TenantScope.from_scope(self).id

    def require(self, capability: Capability) -> None:
        if capability not in self.capabilities:
            raise Forbidden(
                f"This needs the capability {capability!r}.",
                hint=f"Make the context with capabilities={{{capability!r}}}.",
            )


@dataclass(frozen=True)
class ReaderScope(Scope):
    """The scope of somebody who shares a space, as another user reads in it: the store refuses to write in it."""


@dataclass(frozen=True)
class AppScope(Scope):
    """An app as the owner of the log of what was done to its users' data. Its user is '*', which is nobody's id."""

    def __post_init__(self) -> None:
        # Made of a scope that was checked.
        return

    @classmethod
    def from_scope(cls, scope: Scope) -> AppScope:
        return cls(scope.tenant_id, scope.app_id, EVERYBODY)


def make_owner_scope(tenant_id: str, app_id: str, user_id: str) -> Scope:
    """Whose a log is, by the names that stand in it."""
    if user_id == EVERYBODY:
        return AppScope.from_scope(Scope(tenant_id, app_id, "-"))
    return Scope(tenant_id, app_id, user_id)


@dataclass(frozen=True)
class TenantScope:
    """An app inside a tenant: whose what belongs to none of its users is, such as what has been spent."""

    tenant_id: str
    app_id: str

    @classmethod
    def from_scope(cls, scope: Scope) -> TenantScope:
        return cls(scope.tenant_id, scope.app_id)

    @cached_property
    def id(self) -> str:
        """The key of its rows, which no user's can be: it is made in another manner."""
        return _key(b"recollect.tenant", self.tenant_id, self.app_id)

    @property
    def app_key(self) -> str:
        return self.id


AnyScope = Scope | TenantScope


def _key(kind: bytes, *identities: str) -> str:
    # The kinds begin with the former name of the product: stored keys were derived from it.
    digest = hashlib.blake2b(digest_size=15, person=kind)
    for part in identities:
        encoded = part.encode()
        # The length goes first, so that no two lists are written the same way.
        digest.update(len(encoded).to_bytes(4) + encoded)
    return base64.b32encode(digest.digest()).decode().lower()


def _validate_capabilities(given: Iterable[str]) -> frozenset[str]:
    known = get_args(Capability)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"capabilities must be a set of names, not {given!r}.", hint=f"Known are {known}.")
    names = list(given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidInput(f"Unknown capabilities {unknown}.", hint=f"Known are {known}.")
    return frozenset(names)


def timeline_id(scope: Scope, level: Level = "session", *, session_id: str | None = None) -> str:
    """Name the timeline that events of this scope are kept on.

    A level whose id the scope lacks falls back to the next wider one that it has; a user is always known. Ids are
    percent-encoded, so that an id holding `|`, `:` or `/` neither collides with another timeline nor escapes a path. A
    long one in another script than ours takes many times its length so, and is cut: a hash of all of it stands for the
    rest.
    """
    org = f"org:{_encoded(scope.tenant_id)}"
    session = session_id or scope.session_id
    user = f"{org}:user:{_encoded(scope.user_id)}"
    match level:
        case "session" if session:
            bucket = f"session:{_encoded(session)}"
        case "run" if scope.run_id:
            bucket = f"run:{_encoded(scope.run_id)}"
        case "org":
            return org
        case "scope":
            bucket = "global"
        case _:
            bucket = user
    return f"{org}|{bucket}"


def bucket_timeline_id(scope: Scope, bucket: str) -> str:
    """The timeline of a bucket that the caller has named, which is none of those that are made of ids."""
    return f"org:{_encoded(scope.tenant_id)}|bucket:{_encoded(validate_identity('bucket', bucket))}"


@lru_cache(maxsize=4096)
def bucket_of(timeline_id: str) -> str:
    """What a timeline is the timeline of: without the tenant before it."""
    return timeline_id.partition("|")[2] or timeline_id


def timeline_of(scope: Scope, bucket: str) -> str:
    """The timeline of a bucket: what `bucket_of` was made from."""
    org = f"org:{_encoded(scope.tenant_id)}"
    return bucket if bucket == org else f"{org}|{bucket}"


def rename_timeline(timeline: str, source: Scope, target: Scope) -> str:
    """What a timeline of one user is called when it becomes another user's."""
    bucket = bucket_of(timeline)
    for level in ("org", "user"):
        if bucket == bucket_of(timeline_id(source, level)):
            return timeline_id(target, level)
    return timeline_of(target, bucket)


def _encoded(identity: str) -> str:
    # quote() leaves dots alone, and a path made of '..' is the one way left to climb out of a folder.
    encoded = quote(identity, safe="").replace(".", "%2E")
    if len(encoded) <= ENCODED_LIMIT:
        return encoded
    # No other id has an exclamation mark in it once it is encoded.
    rest = "!" + _key(b"recollect.long", identity)
    return encoded[: ENCODED_LIMIT - len(rest)] + rest
