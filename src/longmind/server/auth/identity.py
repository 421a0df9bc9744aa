"""From the headers of a request to whose it is.

    authenticator = Authenticator(engine, host="127.0.0.1")
    identity = authenticator.identify(scope["headers"], client="127.0.0.1")  # reads the database: call it in a thread
    context = engine.context(**identity.names)

It raises Unauthenticated (401), Forbidden (403), RateLimited (429) or InvalidInput (400), and for all of them
`error_headers(error)` says which headers the answer needs. `identity.headers` go with every other answer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from longmind.engine import Engine
from longmind.errors import Forbidden, InvalidInput, LongmindError, RateLimited, Unauthenticated
from longmind.keys.token import PREFIX
from longmind.scope import Capability, Scope
from longmind.server.auth.credential import credential_of
from longmind.server.auth.rate_limits import Allowance, Rates
from longmind.server.auth.single_user import is_loopback, refuse_strangers
from longmind.server.auth.web_tokens import WebTokens
from longmind.server.http.header_reader import RawHeaders, RequestHeaders
from longmind.settings import load_caller

Via = Literal["key", "token", "single-user"]

_ADDITIONS = {
    "agent_id": "x-longmind-agent",
    "group": "x-longmind-group",
    "session_id": "x-longmind-session",
    "run_id": "x-longmind-run",
    "client_id": "x-longmind-client",
    "graph_id": "x-longmind-graph",
    "node_id": "x-longmind-node",
}
"""What a request may add to the user it is for."""
SCOPE_HEADERS = ("x-longmind-user", *_ADDITIONS.values())
"""The headers that say for whom a request is, for the description of the API."""


@dataclass(frozen=True)
class Identity:
    """Whose a request is, and how that is known."""

    scope: Scope
    via: Via
    key_id: str | None = None
    allowance: Allowance | None = None

    @property
    def names(self) -> dict[str, Any]:
        """The scope as `engine.context()` takes it."""
        return {each.name: getattr(self.scope, each.name) for each in fields(Scope)}

    @property
    def headers(self) -> dict[str, str]:
        """What the answer tells of the rate."""
        return {} if self.allowance is None else _rate_headers(self.allowance)


@dataclass(frozen=True)
class _Holder:
    """What a credential says by itself."""

    via: Via
    tenant_id: str
    app_id: str
    user_id: str | None
    """None when each request names a user."""
    capabilities: frozenset[Capability] = frozenset()
    key_id: str | None = None
    rate: str | None = None


class Authenticator:
    """Decides for each request who sent it. Threads may share it."""

    def __init__(self, engine: Engine, *, host: str = "127.0.0.1") -> None:
        settings = engine.settings
        self._keys = engine.keys
        self._web_tokens = WebTokens(settings) if settings.jwt_algorithm else None
        self._rates = Rates(settings)
        self._caller = load_caller({})
        # In single-user mode no list of pages is "all of them": a page of any site could then read what is remembered.
        self._origins = frozenset(origins_of(settings.cors_origins)) - {"*"}
        self._loopback = is_loopback(host)
        self._any_key_made = self._keys.any_made()
        if not self._loopback and self._web_tokens is None and not self._keys.count().valid:
            raise InvalidInput(
                f"Without a key the server listens on this machine only, and {host!r} is reached by others.",
                hint="Make a key with `longmind keys create`, or set jwt_algorithm, or listen on 127.0.0.1.",
            )

    @property
    def single_user(self) -> bool:
        """Whether a request without a credential is taken for the user of this machine.

        That ends, for good, with the first key that is made: whether one was is asked until then.
        """
        if not self._loopback or self._web_tokens is not None:
            return False
        self._any_key_made = self._any_key_made or self._keys.any_made()
        return not self._any_key_made

    def identify(self, raw: RawHeaders, client: str | None = None) -> Identity:
        """Whose a request with these headers is. It reads the database, so an event loop calls it in a thread."""
        headers = RequestHeaders(raw)
        holder = self._holder(headers, client)
        scope = _scope(holder, headers)
        allowance = self._rates.use(holder.key_id or f"{holder.via}:{scope.id}", holder.rate)
        return Identity(scope, holder.via, holder.key_id, allowance)

    def require_admin(self, raw: RawHeaders, client: str | None = None) -> None:
        """Refuse who may not administrate; what is asked for is of no user, so none need be named."""
        holder = self._holder(RequestHeaders(raw), client)
        if "admin" not in holder.capabilities:
            raise Forbidden("This is for who administrates.", hint="Make a key with `longmind keys create --admin`.")

    def _holder(self, headers: RequestHeaders, client: str | None) -> _Holder:
        credential = credential_of(headers)
        if credential is None:
            return self._user_of_this_machine(headers, client)
        if credential.startswith(f"{PREFIX}_"):
            key = self._keys.check(credential)
            return _Holder(
                "key",
                key.tenant_id,
                key.app_id,
                key.user_id,
                frozenset({"admin"}) if key.access == "admin" else frozenset(),
                key.id,
                key.rate,
            )
        if self._web_tokens is not None:
            return _Holder("token", *self._web_tokens.check(credential))
        raise Unauthenticated("The credential is none that this server gives out.")

    def _user_of_this_machine(self, headers: RequestHeaders, client: str | None) -> _Holder:
        if not self.single_user:
            raise Unauthenticated("The request has no credential.", given=False)
        refuse_strangers(headers, client, self._origins)
        # Who sits at the machine has the database in hand, and is the host as well.
        caller = self._caller
        return _Holder("single-user", caller.tenant, caller.app, caller.user, frozenset({"admin"}))


def error_headers(error: LongmindError) -> dict[str, str]:
    """The headers that an answer with this error needs."""
    match error:
        case Unauthenticated():
            # RFC 6750: what is wrong is said only to who has sent something.
            return {"WWW-Authenticate": 'Bearer realm="longmind"' + (', error="invalid_token"' if error.given else "")}
        case RateLimited():
            spent = Allowance(error.limit, error.window, 0, error.retry_after)
            return {"Retry-After": str(error.retry_after), **_rate_headers(spent)}
        case _:
            return {}


def origins_of(written: str) -> list[str]:
    return [origin.strip().rstrip("/") for origin in written.split(",") if origin.strip()]


def _scope(holder: _Holder, headers: RequestHeaders) -> Scope:
    for header, bound in (("x-longmind-tenant", holder.tenant_id), ("x-longmind-app", holder.app_id)):
        _refuse_other(headers, header, bound)
    user_id = holder.user_id
    if user_id is None:
        user_id = headers.get("x-longmind-user")
        if user_id is None:
            raise InvalidInput("The request names no user.", hint="Send the header X-Longmind-User with this key.")
    else:
        _refuse_other(headers, "x-longmind-user", user_id)
    return Scope(
        tenant_id=holder.tenant_id,
        app_id=holder.app_id,
        user_id=user_id,
        capabilities=holder.capabilities,
        **{name: headers.get(header) for name, header in _ADDITIONS.items()},
    )


def _refuse_other(headers: RequestHeaders, header: str, bound: str) -> None:
    if headers.get(header) not in (None, bound):
        raise Forbidden(f"The credential is not for what {header} says.", hint="Leave the header out.")


def _rate_headers(allowance: Allowance) -> dict[str, str]:
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(allowance.reset),
        "RateLimit-Policy": f"{allowance.limit};w={allowance.window}",
    }
