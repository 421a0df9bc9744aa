"""JSON web tokens of another issuer, signed with the one configured algorithm, for one tenant, app and user.

The server never issues tokens. A token must carry an expiry; issuer and audience are required if they are configured.
Which claims name the tenant, the app and the user is configured too, since issuers differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jwt

from longmind.errors import InvalidIdentity, InvalidInput, Unauthenticated
from longmind.scope import validate_identity
from longmind.server.auth.signing_keys import SigningKeys, open_signing_keys
from longmind.settings import Settings

_TYPES = (None, "jwt", "at+jwt")
"""Accepted values of `typ`; other signed messages of the same issuer are not access tokens."""


class TokenOwner(NamedTuple):
    """The tenant, app and user of a token."""

    tenant_id: str
    app_id: str
    user_id: str


class WebTokenVerifier:
    """The verifier of tokens. Of the token's own header only `kid` matters; it cannot choose the algorithm."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys: SigningKeys = open_signing_keys(settings)

    def check(self, token: str) -> TokenOwner:
        """Return the owner of a token.

        Raises Unauthenticated unless the token is signed, current, and issued for this server.
        """
        return self._read_owner(self._verify(token))

    def _verify(self, token: str) -> dict[str, Any]:
        settings = self._settings
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") != settings.jwt_algorithm:
                raise Unauthenticated(f"The token is not signed with {settings.jwt_algorithm}.")
            # A critical extension that we do not implement must make the token invalid (RFC 7515).
            if "crit" in header or str(header.get("typ") or "jwt").lower() not in _TYPES:
                raise Unauthenticated("The token is not an access token.")
            claims: dict[str, Any] = jwt.decode(
                token,
                self._keys.pick(header.get("kid")),
                algorithms=[settings.jwt_algorithm],
                issuer=settings.jwt_issuer or None,
                audience=settings.jwt_audience or None,
                leeway=settings.jwt_leeway_seconds,
                options={"require": _list_required_claims(settings)},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("The token has expired.", hint="Get a new token from its issuer.") from None
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            # Only the type of the error is reported: the library's message may quote the token.
            raise Unauthenticated(
                f"The token is invalid ({type(error).__name__}).", hint="Get a new token from its issuer."
            ) from None
        return claims

    def _read_owner(self, claims: dict[str, Any]) -> TokenOwner:
        settings = self._settings
        try:
            return TokenOwner(
                validate_identity("The tenant of the token", claims.get(settings.jwt_tenant_claim)),
                validate_identity("The app of the token", claims.get(settings.jwt_app_claim, settings.jwt_app)),
                validate_identity("The user of the token", claims.get(settings.jwt_user_claim)),
            )
        except InvalidIdentity as error:
            raise Unauthenticated(
                error.message, hint="Check the settings jwt_tenant_claim, jwt_app_claim and jwt_user_claim."
            ) from None


def _list_required_claims(settings: Settings) -> list[str]:
    """Return the claims that must be present, since a missing claim would not be verified."""
    checked = {"exp": True, "iss": bool(settings.jwt_issuer), "aud": bool(settings.jwt_audience)}
    return [name for name, needed in checked.items() if needed]


def check_jwt_settings(settings: Settings) -> None:
    """Raise InvalidInput if the settings of web tokens are incomplete or contradictory."""
    if settings.jwt_algorithm:
        WebTokenVerifier(settings)
    elif settings.jwt_secret or settings.jwt_public_key or settings.jwt_jwks:
        raise InvalidInput(
            "The settings have a key for tokens but no algorithm.", hint="Set jwt_algorithm to HS256 or RS256."
        )
