"""Memory for agents at one path, with the keys, the errors and the log of all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.mcp.http import McpApp
from recollect.server.endpoint import failure
from recollect.server.identity import Authenticator, Identity
from recollect.server.observing import IDENTITY, OPERATION

MCP_PATH = "/mcp"


def mcp_app(engine: Recollect, authenticator: Authenticator) -> McpApp:
    """The application for that path. It has to be held open while the server is up."""

    def identify(scope: Any) -> Identity:
        scope[OPERATION] = "mcp"
        client = scope["client"][0] if scope.get("client") else None
        identity = scope[IDENTITY] = authenticator.identify(scope["headers"], client)
        return identity

    return McpApp(engine, identify, _problem_of)


def _problem_of(error: RecollectError) -> tuple[int, Mapping[str, str], bytes]:
    answer = failure(error)
    return answer.status, answer.headers, answer.body
