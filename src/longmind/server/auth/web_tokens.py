"""JSON web tokens of another issuer: signed with the one algorithm that is set, and for one tenant, app and user."""

from __future__ import annotations

from typing import Any, NamedTuple

import jwt

from longmind.errors import InvalidIdentity, InvalidInput, Unauthenticated
from longmind.scope import validate_identity
from longmind.server.auth.signing_keys import SigningKeys, open_signing_keys
from longmind.settings import Settings

_TYPES = (None, "jwt", "at+jwt")
"""What `typ` may say; other kinds of signed messages are not meant for this."""


class Named(NamedTuple):
    """Whom a token is for."""

    tenant_id: str
    app_id: str
    user_id: str


class WebTokens:
    """Checks tokens. What the token itself says of how it should be checked counts for nothing, but for `kid`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys: SigningKeys = open_signing_keys(settings)

    def check(self, token: str) -> Named:
        """Whom a token is for; refused unless it is signed, meant for us, and of this hour."""
        return self._named(self._claims(token))

    def _claims(self, token: str) -> dict[str, Any]:
        settings = self._settings
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") != settings.jwt_algorithm:
                raise Unauthenticated(f"The token is not signed with {settings.jwt_algorithm}.")
            if "crit" in header or str(header.get("typ") or "jwt").lower() not in _TYPES:
                raise Unauthenticated("The token is of a kind that is not known here.")
            claims: dict[str, Any] = jwt.decode(
                token,
                self._keys.pick(header.get("kid")),
                algorithms=[settings.jwt_algorithm],
                issuer=settings.jwt_issuer or None,
                audience=settings.jwt_audience or None,
                leeway=settings.jwt_leeway_seconds,
                options={"require": _required(settings)},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("The token has expired.", hint="Get a new one from its issuer.") from None
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            # What is wrong is named by its kind. The library's words may quote the token.
            raise Unauthenticated(
                f"The token is not valid here ({type(error).__name__}).", hint="Get a new one from its issuer."
            ) from None
        return claims

    def _named(self, claims: dict[str, Any]) -> Named:
        settings = self._settings
        try:
            return Named(
                validate_identity("The tenant of the token", claims.get(settings.jwt_tenant_claim)),
                validate_identity("The app of the token", claims.get(settings.jwt_app_claim, settings.jwt_app)),
                validate_identity("The user of the token", claims.get(settings.jwt_user_claim)),
            )
        except InvalidIdentity as error:
            raise Unauthenticated(
                error.message, hint="See the settings jwt_tenant_claim, jwt_app_claim and jwt_user_claim."
            ) from None


def _required(settings: Settings) -> list[str]:
    """A claim that is to be checked must be there."""
    checked = {"exp": True, "iss": bool(settings.jwt_issuer), "aud": bool(settings.jwt_audience)}
    return [name for name, wanted in checked.items() if wanted]


def check_jwt_settings(settings: Settings) -> None:
    """Say what is wrong with the settings of tokens, if anything is."""
    if settings.jwt_algorithm:
        WebTokens(settings)
    elif settings.jwt_secret or settings.jwt_public_key or settings.jwt_jwks:
        raise InvalidInput("There is a key for tokens, and no algorithm.", hint="Set jwt_algorithm to HS256 or RS256.")
