"""Encoded slashes: `%2F` in a path is part of a name and does not separate segments.

Names of states, entities and readers may contain slashes. The router sees a placeholder in their place; whatever reads
a path parameter or reports a path restores them with `decode_slashes`.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from longmind.server.observability.middleware import Application, Message, Receive, Send

_PLACEHOLDER = "\uffff"
"""Placeholder for an encoded slash until the path is split: a noncharacter, so no name contains it."""
_ENCODED = re.compile("%2f", re.IGNORECASE)


class EncodedSlashMiddleware:
    """ASGI middleware that marks encoded slashes. Servers pass decoded paths, in which all slashes look alike."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope["raw_path"].decode("latin-1")
            if _ENCODED.search(raw):
                scope["path"] = unquote(_ENCODED.sub(_PLACEHOLDER, raw))
        await self._app(scope, receive, send)


def decode_slashes(part: str) -> str:
    """Return a path segment with its slashes restored."""
    return part.replace(_PLACEHOLDER, "/")
