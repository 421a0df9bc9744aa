"""The two ways to reach memory: as a program of its own, and over HTTP with a key."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def program(url: str, *options: str) -> StdioServerParameters:
    """How a host starts the server: its command, and whose memory it is."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "longmind.cli", "mcp", *options],
        env={"LONGMIND_URL": url, "LONGMIND_OFFLINE": "1", "PYTHONPATH": ":".join(sys.path)},
    )


@asynccontextmanager
async def over_http(address: str, key: str, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}", **headers}, timeout=60) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client
