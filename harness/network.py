"""A guard that keeps Python code from connecting beyond this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


class NetworkForbidden(RuntimeError):
    """A connection beyond this machine was attempted."""

    def __init__(self, address: object) -> None:
        super().__init__(f"Tests may not use the network, but a connection to {address!r} was attempted.")


@contextmanager
def loopback_only() -> Iterator[None]:
    """A block in which sockets connect to unix sockets and loopback addresses, and raise for all others."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def connect_to_loopback(self: socket.socket, address: Any) -> None:
        _refuse_beyond_loopback(self, address)
        connect(self, address)

    def connect_ex_to_loopback(self: socket.socket, address: Any) -> int:
        _refuse_beyond_loopback(self, address)
        return connect_ex(self, address)

    with (
        patch.object(socket.socket, "connect", connect_to_loopback),
        patch.object(socket.socket, "connect_ex", connect_ex_to_loopback),
    ):
        yield


def _refuse_beyond_loopback(connecting: socket.socket, address: Any) -> None:
    if connecting.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
        raise NetworkForbidden(address)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
