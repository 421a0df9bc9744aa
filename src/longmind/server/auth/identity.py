"""Authentication: from the headers of a request to the tenant, app and user it belongs to.

    authenticator = Authenticator(engine, host="127.0.0.1")
    identity = authenticator.identify(scope["headers"], client="127.0.0.1")  # reads the database: call it in a thread
    context = engine.context(**identity.names)

The credential alone decides tenant and app. A request can add to the scope (agent, session, run …) and, with a key for
any user, name the user; it can never replace what the credential says. There are three ways in: an API key, a signed
web token, and single-user mode (see single_user.py).

It raises Unauthenticated (401), Forbidden (403), RateLimited (429) or InvalidInput (400), and `make_error_headers`
returns the headers that the response to such an error needs. `identity.headers` go with every other response.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from longmind.engine import Engine
from longmind.errors import Forbidden, InvalidInput, LongmindError, RateLimited, Unauthenticated
from longmind.keys.token import PREFIX
from longmind.scope import Capability, Scope
from longmind.server.auth.credential import read_credential
from longmind.server.auth.rate_limits import RateAllowance, RateLimiter
from longmind.server.auth.single_user import is_loopback, refuse_strangers
from longmind.server.auth.web_tokens import WebTokenVerifier
from longmind.server.http.header_reader import RawHeaders, RequestHeaders
from longmind.settings import load_caller

AuthenticationMethod = Literal["key", "token", "single-user"]

_SCOPE_HEADERS_BY_NAME = {
    "agent_id": "x-longmind-agent",
    "group": "x-longmind-group",
    "session_id": "x-longmind-session",
    "run_id": "x-longmind-run",
    "client_id": "x-longmind-client",
    "graph_id": "x-longmind-graph",
    "node_id": "x-longmind-node",
}
"""The parts of a scope that a request may add, with their headers."""
SCOPE_HEADERS = ("x-longmind-user", *_SCOPE_HEADERS_BY_NAME.values())
"""The headers that are part of the scope, for the CORS configuration."""


@dataclass(frozen=True)
class Identity:
    """The authenticated sender of a request."""

    scope: Scope
    via: AuthenticationMethod
    key_id: str | None = None
    allowance: RateAllowance | None = None

    @property
    def names(self) -> dict[str, Any]:
        """The scope as arguments of `engine.context()`."""
        return {each.name: getattr(self.scope, each.name) for each in fields(Scope)}

    @property
    def headers(self) -> dict[str, str]:
        """The rate-limit headers of the response."""
        return {} if self.allowance is None else _make_rate_headers(self.allowance)


@dataclass(frozen=True)
class _CredentialGrant:
    """The statement of a credential, before the headers of the request are added."""

    via: AuthenticationMethod
    tenant_id: str
    app_id: str
    user_id: str | None
    """None if every request has to name its user."""
    capabilities: frozenset[Capability] = frozenset()
    key_id: str | None = None
    rate: str | None = None


class Authenticator:
    """The authenticator of a server; threads may share it."""

    def __init__(self, engine: Engine, *, host: str = "127.0.0.1") -> None:
        settings = engine.settings
        self._keys = engine.keys
        self._web_tokens = WebTokenVerifier(settings) if settings.jwt_algorithm else None
        self._rates = RateLimiter(settings)
        self._caller = load_caller({})
        # "*" is ignored in single-user mode: otherwise a page of any site could read the user's memory.
        self._origins = frozenset(parse_origins(settings.cors_origins)) - {"*"}
        self._loopback = is_loopback(host)
        self._any_key_made = self._keys.any_made()
        if not self._loopback and self._web_tokens is None and not self._keys.count().valid:
            raise InvalidInput(
                f"The server cannot listen on {host!r} without a key, since other machines can reach it.",
                hint="Create a key with `longmind keys create`, set jwt_algorithm, or listen on 127.0.0.1.",
            )

    @property
    def single_user(self) -> bool:
        """True if a request without a credential belongs to the user of this machine.

        The first key ends this for good. Until then each request asks the database, since another process may create
        the key.
        """
        if not self._loopback or self._web_tokens is not None:
            return False
        self._any_key_made = self._any_key_made or self._keys.any_made()
        return not self._any_key_made

    def identify(self, raw: RawHeaders, client: str | None = None) -> Identity:
        """Authenticate a request and count it against the rate of its credential.

        It reads the database, so an event loop has to call it in a thread.

        raw: the headers as ASGI passes them.
        client: the network address of the sender, if it is known.
        """
        headers = RequestHeaders(raw)
        grant = self._check_credential(headers, client)
        scope = _make_scope(grant, headers)
        allowance = self._rates.use(grant.key_id or f"{grant.via}:{scope.id}", grant.rate)
        return Identity(scope, grant.via, grant.key_id, allowance)

    def require_admin(self, raw: RawHeaders, client: str | None = None) -> None:
        """Raise Forbidden unless the credential is an admin's. The request need not name a user."""
        grant = self._check_credential(RequestHeaders(raw), client)
        if "admin" not in grant.capabilities:
            raise Forbidden("This needs an admin key.", hint="Create one with `longmind keys create --admin`.")

    def _check_credential(self, headers: RequestHeaders, client: str | None) -> _CredentialGrant:
        """Verify the credential of a request. The prefix distinguishes an API key from a web token."""
        credential = read_credential(headers)
        if credential is None:
            return self._grant_to_local_user(headers, client)
        if credential.startswith(f"{PREFIX}_"):
            key = self._keys.check(credential)
            return _CredentialGrant(
                "key",
                key.tenant_id,
                key.app_id,
                key.user_id,
                frozenset({"admin"}) if key.access == "admin" else frozenset(),
                key.id,
                key.rate,
            )
        if self._web_tokens is not None:
            return _CredentialGrant("token", *self._web_tokens.check(credential))
        raise Unauthenticated("Unknown credential.")

    def _grant_to_local_user(self, headers: RequestHeaders, client: str | None) -> _CredentialGrant:
        """Accept a request without a credential in single-user mode; raise Unauthenticated or Forbidden otherwise."""
        if not self.single_user:
            raise Unauthenticated("The request has no credential.", given=False)
        refuse_strangers(headers, client, self._origins)
        # The user of this machine can open the database file anyway, so administration is allowed too.
        caller = self._caller
        return _CredentialGrant("single-user", caller.tenant, caller.app, caller.user, frozenset({"admin"}))


def make_error_headers(error: LongmindError) -> dict[str, str]:
    """Return the headers that the response to an authentication error needs."""
    match error:
        case Unauthenticated():
            # RFC 6750: a request without a credential must not learn an error code.
            return {"WWW-Authenticate": 'Bearer realm="longmind"' + (', error="invalid_token"' if error.given else "")}
        case RateLimited():
            spent = RateAllowance(error.limit, error.window, 0, error.retry_after)
            return {"Retry-After": str(error.retry_after), **_make_rate_headers(spent)}
        case _:
            return {}


def parse_origins(setting: str) -> list[str]:
    """Split the setting cors_origins into origins without a final slash."""
    return [origin.strip().rstrip("/") for origin in setting.split(",") if origin.strip()]


def _make_scope(grant: _CredentialGrant, headers: RequestHeaders) -> Scope:
    """Combine the statement of a credential with the headers of a request.

    Raises Forbidden if a header contradicts the credential, and InvalidInput if no user is named.
    """
    for header, bound in (("x-longmind-tenant", grant.tenant_id), ("x-longmind-app", grant.app_id)):
        _refuse_other(headers, header, bound)
    user_id = grant.user_id
    if user_id is None:
        user_id = headers.get("x-longmind-user")
        if user_id is None:
            raise InvalidInput("The request names no user.", hint="Send the header X-Longmind-User with this key.")
    elif grant.via == "single-user" and headers.get("x-longmind-user") not in (None, user_id):
        raise Forbidden(
            "The server is in single-user mode, without keys, and works for its own user only.",
            hint="Name no user; to serve several, create a key with `longmind keys create --any-user`.",
        )
    else:
        _refuse_other(headers, "x-longmind-user", user_id)
    return Scope(
        tenant_id=grant.tenant_id,
        app_id=grant.app_id,
        user_id=user_id,
        capabilities=grant.capabilities,
        **{name: headers.get(header) for name, header in _SCOPE_HEADERS_BY_NAME.items()},
    )


def _refuse_other(headers: RequestHeaders, header: str, bound: str) -> None:
    """Raise Forbidden if a header names something else than the credential is bound to."""
    if headers.get(header) not in (None, bound):
        raise Forbidden(f"The credential is not valid for the value of {header}.", hint="Remove this header.")


def _make_rate_headers(allowance: RateAllowance) -> dict[str, str]:
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(allowance.reset),
        "RateLimit-Policy": f"{allowance.limit};w={allowance.window}",
    }
