"""Which credential a request was sent with."""

from __future__ import annotations

import re

from longmind.errors import InvalidInput, Unauthenticated
from longmind.server.http.header_reader import RequestHeaders

_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/=-]+)", re.IGNORECASE)
_LONGEST = 8192


def credential_of(headers: RequestHeaders) -> str | None:
    """The key or token of `Authorization: Bearer …` or `X-API-Key`; None when the request has neither."""
    try:
        authorization, api_key = headers.get("authorization"), headers.get("x-api-key")
    except InvalidInput as error:
        raise Unauthenticated(error.message, hint=error.hint) from None
    if authorization is None and api_key is None:
        return None
    if authorization is not None and api_key is not None:
        raise Unauthenticated("The request has two credentials.", hint="Send Authorization or X-API-Key, not both.")
    given = f"Bearer {api_key}" if authorization is None else authorization
    found = _BEARER.fullmatch(given) if len(given) <= _LONGEST else None
    if found is None:
        raise Unauthenticated("The credential cannot be read.")
    return found[1]
