"""Ids of connections, by which calls of the memory tools are counted if a request names no session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longmind.clock import system_clock
from longmind.ids import new_id

_KEY = "longmind.connection"


def make_connection_state() -> dict[str, str]:
    """Return a new id in the form in which an ASGI server keeps it with a connection."""
    return {_KEY: new_id("ses", system_clock())}


def find_connection(scope: Mapping[str, Any]) -> str | None:
    """Return the id of the connection that a request came by, or None if another server than ours accepted it."""
    found: str | None = (scope.get("state") or {}).get(_KEY)
    return found
