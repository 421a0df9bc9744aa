"""MCP at one path of the server, with the same credentials, errors and logs as all other paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longmind.engine import Engine
from longmind.errors import LongmindError
from longmind.mcp.http import McpApp
from longmind.server.auth.identity import Authenticator, Identity
from longmind.server.endpoint import to_error_response
from longmind.server.http.connection_ids import find_connection
from longmind.server.observability.middleware import IDENTITY, OPERATION

MCP_PATH = "/mcp"


def make_mcp_app(engine: Engine, authenticator: Authenticator) -> McpApp:
    """Return the ASGI application for `MCP_PATH`. Keep its `run_sessions` open while the server is up."""

    def identify(scope: Any) -> Identity:
        scope[OPERATION] = "mcp"
        client = scope["client"][0] if scope.get("client") else None
        identity = scope[IDENTITY] = authenticator.identify(scope["headers"], client)
        return identity

    return McpApp(engine, identify, _describe_problem, find_connection)


def _describe_problem(error: LongmindError) -> tuple[int, Mapping[str, str], bytes]:
    response = to_error_response(error)
    return response.status, response.headers, response.body
