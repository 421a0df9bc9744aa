"""The harness itself: a real PostgreSQL that leaves nothing behind, and no network."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

import longmind
from harness.clean_databases import CleanDatabases
from harness.network import NetworkForbidden
from harness.postgres import PostgresServer
from tests.conftest import TEMPLATE

ROOT = Path(__file__).parents[1]

START_A_SERVER_AND_WAIT = """
from harness.postgres import PostgresServer
server = PostgresServer()
print(server.pid, server.folder, flush=True)
input()
"""


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_running(pid: int) -> bool:
    # A machine's first process may be slow to take note of an ended one, or in a container never do.
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_pgvector_finds_the_nearest_vector(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE points (name text, place vector(2))")
        connection.execute("INSERT INTO points VALUES ('far', '[9,9]'), ('near', '[1,2]')")
        nearest = connection.execute("SELECT name FROM points ORDER BY place <-> '[1,1]' LIMIT 1").fetchone()
    assert nearest == ("near",)


def test_fsync_is_on(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)


def test_a_database_can_be_copied_from_a_template(postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_server.create_database("original")) as connection:
        connection.execute("CREATE TABLE notes AS SELECT 'kept' AS text")
    with psycopg.connect(postgres_server.create_database("copy", template="original")) as connection:
        assert connection.execute("SELECT text FROM notes").fetchone() == ("kept",)
    postgres_server.drop_database("copy")
    postgres_server.drop_database("original")


def test_a_dropped_database_ends_its_connections(postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_server.create_database("doomed")) as connection:
        postgres_server.drop_database("doomed")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


@pytest.mark.usefixtures("postgres_databases")
def test_a_database_that_is_lent_again_holds_nothing_of_the_test_before(postgres_server: PostgresServer) -> None:
    # From who has lent nothing yet: one that was lent often enough is not lent again.
    databases, seen = CleanDatabases(postgres_server, TEMPLATE), []
    for _ in range(2):
        with databases.lend() as url, longmind.open(url) as engine:
            ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
            seen.append((url, ctx.conversations.list_conversations(), engine.last_cursor()))
            ctx.conversations.create_conversation("left behind")
    assert seen[0] == seen[1]
    assert seen[0][1:] == ([], 0)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE longmind.events ADD COLUMN odd TEXT",
        "CREATE TABLE odd (id INTEGER)",
        "DROP INDEX longmind.events_later_attempts",
        "ALTER TABLE longmind.events DISABLE ROW LEVEL SECURITY",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 1024', current_database()); END $$",
        "DELETE FROM longmind.longmind_schema",
    ],
)
def test_a_database_that_was_changed_is_not_lent_again(postgres_databases: CleanDatabases, change: str) -> None:
    with postgres_databases.lend() as url, psycopg.connect(url) as connection:
        connection.execute(change.encode())
    with postgres_databases.lend() as again:
        assert again != url


def test_a_stopped_server_leaves_no_process_and_no_folder() -> None:
    with PostgresServer() as server:
        pid = server.pid
        assert is_running(pid)
        assert server.folder.exists()
    assert eventually(lambda: not is_running(pid))
    assert not server.folder.exists()
    server.stop()  # a second time is harmless


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_committed_rows_outlive_a_restart(mode) -> None:
    with PostgresServer() as server:
        first = server.pid
        with psycopg.connect(server.url()) as connection:
            connection.execute("CREATE TABLE notes AS SELECT 'kept' AS text")
        server.restart(mode)
        assert server.pid != first
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT text FROM notes").fetchone() == ("kept",)


def test_over_tcp_a_password_is_needed() -> None:
    with PostgresServer(tcp=True) as server:
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        user_and_password, place = server.url().split("@")
        assert place.startswith("127.0.0.1:")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(user_and_password.rpartition(":")[0] + "@" + place)


def test_the_server_dies_with_the_process_that_started_it() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", START_A_SERVER_AND_WAIT],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        assert is_running(int(pid))
        os.kill(process.pid, signal.SIGKILL)
    assert eventually(lambda: not is_running(int(pid)) and not Path(folder).exists())


def test_the_server_never_runs_as_root(postgres_server: PostgresServer) -> None:
    assert psutil.Process(postgres_server.pid).uids().effective != 0


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.invalid", 443)])
def test_connecting_beyond_this_machine_is_refused(address: tuple[str, int]) -> None:
    with socket.socket() as connection, pytest.raises(NetworkForbidden, match=address[0]):
        connection.connect(address)


def test_connecting_to_this_machine_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()).close()


def test_a_kept_server_finds_what_the_one_before_has_stored() -> None:
    # Short, as the path of a socket has to be, and open to the account that the server runs under.
    with tempfile.TemporaryDirectory(prefix="longmind-kept-", dir="/tmp") as folder:
        with PostgresServer(kept=Path(folder)) as server:
            server.create_database("kept")
            pid = server.pid
        assert eventually(lambda: not is_running(pid))
        with PostgresServer(kept=Path(folder)) as server, psycopg.connect(server.url("kept")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
