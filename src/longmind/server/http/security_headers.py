"""Headers that keep browsers from doing with an answer what it was not made for."""

from __future__ import annotations

from longmind.server.observability.middleware import Application, Message, Receive, Send

_ALWAYS = {
    b"x-content-type-options": b"nosniff",
    # What is remembered belongs into no cache on the way.
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}
_OVER_TLS = {b"strict-transport-security": b"max-age=31536000"}


class SecurityHeaders:
    """Adds them to every answer, as ASGI middleware; what an answer says itself, such as a page's policy, stays."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wanted = _ALWAYS | (_OVER_TLS if scope.get("scheme") == "https" else {})

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = list(message.get("headers", ()))
                names = {name.lower() for name, _ in said}
                message["headers"] = [*said, *((name, value) for name, value in wanted.items() if name not in names)]
            await send(message)

        await self._app(scope, receive, send_secured)
