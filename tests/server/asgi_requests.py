"""Requests as a server gets them: the headers of one, and what is to be done with it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import jwt

from harness.log_watch import TOKEN_SECRET

SECRET = TOKEN_SECRET


def bearer(token: str, **headers: str) -> list[tuple[bytes, bytes]]:
    """The headers of a request with a credential; `x_longmind_user=` stands for X-Longmind-User."""
    return [(b"authorization", f"Bearer {token}".encode()), *lines(**headers)]


def lines(**headers: str) -> list[tuple[bytes, bytes]]:
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]


def claims(**changed: Any) -> dict[str, Any]:
    """What a good token says, but for what is changed; None leaves a claim out."""
    now = int(time.time())
    good = {"sub": "ada", "tenant": "acme", "app": "support", "iat": now, "exp": now + 300}
    return {name: value for name, value in (good | changed).items() if value is not None}


def signed(key: Any = SECRET, algorithm: str = "HS256", headers: dict[str, Any] | None = None, **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers=headers)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def ask(app: Any, path: str, *headers: tuple[bytes, bytes], method: str = "GET", scheme: str = "http") -> Answer:
    """Send a request to an ASGI application, from this machine, and give what it answers."""
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": scheme,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *headers],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8765),
    }
    asyncio.run(app(scope, receive, send))
    start = told[0]
    body = b"".join(message.get("body", b"") for message in told[1:])
    return Answer(start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, body)
