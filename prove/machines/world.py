"""The set-up of this section: PostgreSQL on a machine of its own, API nodes, workers and a client on others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg

import longmind
from harness.postgres import PostgresServer
from prove.machines.network import Network, network
from prove.machines.nodes import NetworkNode, thinking_worker

DATABASE = "db"
CLIENT = "client"
API = ("api1", "api2")
WORKERS = ("worker1", "worker2", "worker3", "worker4")
LEASE = 2.0
SILENCE = 3.0

# Long waits at each cut would prove the same, and less often.
QUICK = {
    "LONGMIND_JOB_LEASE_SECONDS": str(LEASE),
    "LONGMIND_WORKER_POLL_SECONDS": "0.1",
    "LONGMIND_JOB_ATTEMPTS": "100",
    "LONGMIND_JOB_RETRY_SECONDS": "0.1",
    "LONGMIND_CONNECT_TIMEOUT_SECONDS": "3",
    "LONGMIND_SILENCE_SECONDS": str(SILENCE),
    "LONGMIND_LOG_LEVEL": "warning",
}


class NetworkWorld:
    """The machines, and a way to the database that no cut closes: its unix socket."""

    def __init__(self, lines: Network, server: PostgresServer) -> None:
        self.lines = lines
        self.server = server
        self._databases = 0

    def new_database(self) -> tuple[str, str]:
        """Return the address of an empty database for the machines, and for the attacker."""
        self._databases += 1
        name = f"proof_{self._databases}"
        self.server.create_database(name)
        with longmind.open(self.server.local_url(name), embedder=None):
            pass
        return self.server.url(name), self.server.local_url(name)

    @contextmanager
    def workers(self, url: str, names: tuple[str, ...], *options: str) -> Iterator[dict[str, NetworkNode]]:
        with ExitStack() as stack:
            yield {name: stack.enter_context(thinking_worker(self.lines[name], url, QUICK, *options)) for name in names}


@contextmanager
def world() -> Iterator[NetworkWorld]:
    with network(DATABASE, CLIENT, *API, *WORKERS) as lines, PostgresServer(machine=lines[DATABASE]) as server:
        yield NetworkWorld(lines, server)


def connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(url, autocommit=True)
