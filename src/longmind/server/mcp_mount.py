"""Memory for agents at one path, with the keys, the errors and the log of all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longmind.engine import Engine
from longmind.errors import LongmindError
from longmind.mcp.http import McpApp
from longmind.server.auth.identity import Authenticator, Identity
from longmind.server.endpoint import failure
from longmind.server.observability.middleware import IDENTITY, OPERATION

MCP_PATH = "/mcp"


def mcp_app(engine: Engine, authenticator: Authenticator) -> McpApp:
    """The application for that path. It has to be held open while the server is up."""

    def identify(scope: Any) -> Identity:
        scope[OPERATION] = "mcp"
        client = scope["client"][0] if scope.get("client") else None
        identity = scope[IDENTITY] = authenticator.identify(scope["headers"], client)
        return identity

    return McpApp(engine, identify, _problem_of)


def _problem_of(error: LongmindError) -> tuple[int, Mapping[str, str], bytes]:
    answer = failure(error)
    return answer.status, answer.headers, answer.body
