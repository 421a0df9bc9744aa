"""Single-user mode: a server on the loopback address that needs no key.

Every request is taken to come from the user of the machine, so only programs on this machine may send one. A browser is
such a program too: pages of other sites are kept out by their Origin and Sec-Fetch-Site headers, and DNS rebinding by
the Host header. Requests through a proxy are refused, since behind a proxy every client looks local.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from longmind.errors import Forbidden, InvalidInput, Unauthenticated
from longmind.server.http.header_reader import RequestHeaders

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_CREATE_A_KEY = "Create a key with `longmind keys create`, and send it."


def is_loopback(host: str) -> bool:
    """Return whether an address, or the name `localhost`, reaches only this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def refuse_strangers(headers: RequestHeaders, client: str | None, allowed_origins: frozenset[str]) -> None:
    """Raise Forbidden or Unauthenticated unless a local program, or a page of an allowed origin, sent the request.

    client: the network address of the sender, if it is known.
    allowed_origins: the origins of cors_origins; "*" must have been removed.
    """
    try:
        host, origin, site = (headers.get(name) for name in ("host", "origin", "sec-fetch-site"))
    except InvalidInput as error:
        raise Forbidden(error.message, hint=error.hint) from None
    if client is not None and not is_loopback(client):
        raise Unauthenticated("Single-user mode serves only this machine.", hint=_CREATE_A_KEY, given=False)
    if any(name in headers for name in _FORWARDED):
        # Behind a proxy every client has a local address.
        raise Unauthenticated("Single-user mode does not work behind a proxy.", hint=_CREATE_A_KEY, given=False)
    # With DNS rebinding a foreign name resolves to this machine; the browser then sends that name as Host.
    if host is None or not is_loopback(_parse_host(f"//{host}")):
        raise Forbidden(
            "In single-user mode the Host must be localhost.", hint="Use http://localhost or http://127.0.0.1."
        )
    if origin in allowed_origins:
        return
    if origin is not None and origin != f"http://{host}":
        raise Forbidden("This page may not call the server.", hint="Add its origin to the setting cors_origins.")
    if site not in (None, "same-origin", "none"):
        raise Forbidden("Another site may not call the server.", hint="Add its origin to the setting cors_origins.")


def _parse_host(address: str) -> str:
    try:
        parts = urlsplit(address)
        # Reading the port validates it.
        _ = parts.port
    except ValueError:
        return ""
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return ""
    return parts.hostname or ""
