"""MCP over standard input and output: one process per user, for as long as the host keeps it running."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from longmind.context import Context
from longmind.mcp.server import make_server


def serve_stdio(context: Context, space: str | None = None) -> None:
    """Serve until standard input ends. Anything else that prints must use standard error: stdout is the protocol."""
    anyio.run(_serve, context, space)


async def _serve(context: Context, space: str | None) -> None:
    # A host starts one process per user, so all requests share one context.
    server = make_server(lambda request: context, space)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
