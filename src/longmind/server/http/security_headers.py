"""Response headers that stop browsers from misusing a response.

The API serves no pages, so its content security policy forbids everything; this protects a user who opens a response
directly in a browser.
"""

from __future__ import annotations

from longmind.server.observability.middleware import Application, Message, Receive, Send

_ALWAYS = {
    b"x-content-type-options": b"nosniff",
    # Memory must not end up in a cache between server and client.
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}
_OVER_TLS = {b"strict-transport-security": b"max-age=31536000"}


class SecurityHeadersMiddleware:
    """ASGI middleware that adds these headers to every response, except those that the response sets itself."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = _ALWAYS | (_OVER_TLS if scope.get("scheme") == "https" else {})

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = list(message.get("headers", ()))
                names = {name.lower() for name, _ in present}
                message["headers"] = [*present, *((name, value) for name, value in added.items() if name not in names)]
            await send(message)

        await self._app(scope, receive, send_secured)
