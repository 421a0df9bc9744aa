"""Over standard input and output: one program, one user, from the start of the program to its end."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from longmind.context import Context
from longmind.mcp.server import make_server


def serve_stdio(context: Context, space: str | None = None) -> None:
    """Answer until standard input ends. What anything prints meanwhile goes to standard error: the rest is protocol."""
    anyio.run(_serve, context, space)


async def _serve(context: Context, space: str | None) -> None:
    server = make_server(lambda asked: context, space)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
