"""The credential of a request: an API key or a web token, in one of two headers."""

from __future__ import annotations

import re

from longmind.errors import InvalidInput, Unauthenticated
from longmind.server.http.header_reader import RequestHeaders

_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/=-]+)", re.IGNORECASE)
_LONGEST = 8192


def read_credential(headers: RequestHeaders) -> str | None:
    """Return the key or token of `Authorization: Bearer …` or `X-API-Key`, or None if there is neither.

    Raises Unauthenticated if both headers are present, or the credential is malformed.
    """
    try:
        authorization, api_key = headers.get("authorization"), headers.get("x-api-key")
    except InvalidInput as error:
        raise Unauthenticated(error.message, hint=error.hint) from None
    if authorization is None and api_key is None:
        return None
    if authorization is not None and api_key is not None:
        raise Unauthenticated("The request has two credentials.", hint="Send Authorization or X-API-Key, not both.")
    text = f"Bearer {api_key}" if authorization is None else authorization
    # The length is checked first, so that the pattern never runs over a huge header.
    found = _BEARER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise Unauthenticated("The credential is malformed.")
    return found[1]
