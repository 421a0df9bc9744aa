"""Single-user mode: a server on the loopback of one's own machine that asks for no key.

Whoever can reach it is taken for the user. So it has to be sure of who can: programs on this machine, and no page of
another site in a browser on this machine.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from longmind.errors import Forbidden, InvalidInput, Unauthenticated
from longmind.server.http.header_reader import RequestHeaders

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_MAKE_A_KEY = "Make a key with `longmind keys create`, and send it."


def is_loopback(host: str) -> bool:
    """Whether an address, or the name `localhost`, leads nowhere but to this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def refuse_strangers(headers: RequestHeaders, client: str | None, allowed_origins: frozenset[str]) -> None:
    """Let pass only what a program of this machine's own user sends, or a page that was allowed by name."""
    try:
        host, origin, site = (headers.get(name) for name in ("host", "origin", "sec-fetch-site"))
    except InvalidInput as error:
        raise Forbidden(error.message, hint=error.hint) from None
    if client is not None and not is_loopback(client):
        raise Unauthenticated("In single-user mode only this machine is served.", hint=_MAKE_A_KEY, given=False)
    if any(name in headers for name in _FORWARDED):
        # Behind a proxy everybody comes from this machine.
        raise Unauthenticated("In single-user mode a proxy is not served.", hint=_MAKE_A_KEY, given=False)
    # A name that somebody else controls may lead here as well (DNS rebinding); the browser then tells that name.
    if host is None or not is_loopback(_name_of(f"//{host}")):
        raise Forbidden("In single-user mode the Host must be localhost.", hint="Call http://localhost or 127.0.0.1.")
    if origin in allowed_origins:
        return
    if origin is not None and origin != f"http://{host}":
        raise Forbidden("This page may not call the server.", hint="Name its origin in the setting cors_origins.")
    if site not in (None, "same-origin", "none"):
        raise Forbidden("Another site may not call the server.", hint="Name its origin in the setting cors_origins.")


def _name_of(address: str) -> str:
    try:
        parts = urlsplit(address)
        # To ask for the port checks it.
        _ = parts.port
    except ValueError:
        return ""
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return ""
    return parts.hostname or ""
