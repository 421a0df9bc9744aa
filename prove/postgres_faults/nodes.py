"""PostgreSQL servers that can be stopped, started, frozen, copied as they run, and made the primary."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import psutil
import psycopg

from harness.postgres import PostgresServer, free_port

OWNER, PASSWORD, DATABASE = "keeper", "kept-secret", "memory"

StopMode = Literal["fast", "immediate"]


class PostgresNode:
    """One server: its data folder, and where it listens."""

    def __init__(self, data: Path, sockets: Path, port: int, programs: Path) -> None:
        self.data = data
        self.port = port
        self._sockets = sockets
        self._programs = programs

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().splitlines()[0])

    def url(self, ports: str | None = None, **options: str) -> str:
        """The address over the loopback for the role that owns the database."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in (ports or str(self.port)).split(","))
        named = "".join(f"&{name}={quote(value)}" for name, value in options.items())
        return f"postgresql://{OWNER}:{PASSWORD}@{hosts}/{DATABASE}?sslmode=disable&gssencmode=disable{named}"

    def administer(self, *statements: str, database: str = DATABASE) -> list[Any]:
        """Run statements as the superuser over the socket; return the rows of the last."""
        address = f"postgresql://postgres@/{database}?host={quote(str(self._sockets), safe='')}&port={self.port}"
        with psycopg.connect(address, autocommit=True, connect_timeout=10) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def session(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction of another client, open until the end of the block."""
        address = f"postgresql://postgres@/{DATABASE}?host={quote(str(self._sockets), safe='')}&port={self.port}"
        with psycopg.connect(address) as connection:
            yield connection

    def start(self) -> None:
        self._run("pg_ctl", "start", "--wait", "--pgdata", str(self.data), "--log", str(self._sockets / "log"))

    def stop(self, mode: StopMode) -> None:
        self._run("pg_ctl", "stop", "--wait", "--pgdata", str(self.data), "--mode", mode)

    def restart(self, mode: StopMode) -> None:
        self.stop(mode)
        self.start()

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "--wait", "--pgdata", str(self.data))

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze its processes until the end of the block, as with a disk that does not answer."""
        postmaster = psutil.Process(self.pid)
        processes = [postmaster, *postmaster.children(recursive=True)]
        try:
            for each in processes:
                _signal(each, signal.SIGSTOP)
            yield
        finally:
            for each in reversed(processes):
                _signal(each, signal.SIGCONT)

    def count_stopped(self) -> int:
        """Return the number of its stopped processes."""
        postmaster = psutil.Process(self.pid)
        processes = (postmaster, *postmaster.children(recursive=True))
        return sum(each.status() == psutil.STATUS_STOPPED for each in processes)

    def replica(self, name: str) -> PostgresNode:
        """A copy that follows this server, in a folder that goes with the first server's."""
        data, port = self._sockets / name, free_port()
        self._run(
            "pg_basebackup", "--pgdata", str(data), "--host", str(self._sockets), "--port", str(self.port),
            "--username", "postgres", "--write-recovery-conf", "--checkpoint", "fast",
        )  # fmt: skip
        with (data / "postgresql.auto.conf").open("a") as file:
            file.write(f"port = {port}\nsynchronous_standby_names = ''\nwal_retrieve_retry_interval = '200ms'\n")
        node = PostgresNode(data, self._sockets, port, self._programs)
        node.start()
        return node

    def remove(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.data, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        owner = self._sockets.stat()
        rights: dict[str, Any] = {}
        if os.geteuid() == 0:
            rights = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
        output = self._sockets / f"{program}.attacked"
        with output.open("wb") as file:
            subprocess.run(
                [str(self._programs / program), *arguments],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=self._sockets,
                env={"PATH": os.defpath, "LC_ALL": "C"}, check=True, timeout=90, **rights,
            )  # fmt: skip


@contextmanager
def first_node() -> Iterator[PostgresNode]:
    """A primary with a role that owns the database of the attack and is no superuser."""
    with PostgresServer(tcp=True) as server:
        programs = Path(psutil.Process(server.pid).exe()).parent
        port = int(server.url().rpartition(":")[2].partition("/")[0])
        node = PostgresNode(server.folder / "data", server.folder, port, programs)
        node.administer(
            f"CREATE ROLE {OWNER} LOGIN PASSWORD '{PASSWORD}'",
            f"CREATE DATABASE {DATABASE} OWNER {OWNER}",
            "ALTER SYSTEM SET max_connections = 60",
            database="postgres",
        )
        node.administer("CREATE EXTENSION vector")
        node.restart("fast")
        yield node


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)
