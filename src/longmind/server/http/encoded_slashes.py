"""A slash that is part of a name, and is written `%2F`, does not part the path."""

from __future__ import annotations

import re
from urllib.parse import unquote

from longmind.server.observability.middleware import Application, Message, Receive, Send

_IN_A_NAME = "\uffff"
"""What stands for such a slash until the path is taken apart: no character, so that no name has it."""
_WRITTEN = re.compile("%2f", re.IGNORECASE)


class Slashes:
    """Marks them, as ASGI middleware: servers give paths decoded, where one slash is like the other."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope["raw_path"].decode("latin-1")
            if _WRITTEN.search(raw):
                scope["path"] = unquote(_WRITTEN.sub(_IN_A_NAME, raw))
        await self._app(scope, receive, send)


def name_in(part: str) -> str:
    """A part of the path as it was meant."""
    return part.replace(_IN_A_NAME, "/")
