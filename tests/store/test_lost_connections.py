"""Each end of a connection to PostgreSQL notices when the other is gone without a word."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import longmind
from harness.crew import Line, start_process, wait_until
from harness.postgres import PostgresServer
from longmind.store.postgres.connection import ScopedConnection, Silent
from longmind.store.postgres.keepalive import client_keepalive, connect_unpooled
from longmind.store.queries import NamedQuery

IMPATIENT: dict[str, Any] = {"busy_timeout_seconds": 1.0, "answer_timeout_seconds": 1.0}


@pytest.fixture(scope="module")
def tcp_url() -> Iterator[str]:
    with PostgresServer(tcp=True) as server:
        url = server.create_database("silence")
        # Made without haste, so that a test with little patience finds it made.
        longmind.open(url, embedder=None).close()
        yield url


def looked_after(connection: psycopg.Connection[Any]) -> list[str]:
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
    return [row[0] for name in names for row in connection.execute(f"SHOW {name}".encode())]


def test_the_server_is_told_to_look_after_an_engine_that_may_have_vanished(tcp_url: str) -> None:
    def shown(run: Any) -> list[str]:
        return looked_after(run._connection)

    with longmind.open(tcp_url, embedder=None, silence_seconds=9) as engine:
        assert engine._database.read(None, shown) == ["3", "3", "2", "9000"]


def test_the_server_looks_after_who_makes_the_schema_too_since_others_wait_for_it(tcp_url: str) -> None:
    with connect_unpooled(longmind.Settings(url=tcp_url, silence_seconds=9)) as connection:
        assert looked_after(connection) == ["3", "3", "2", "9000"]
        connection.rollback()
        assert looked_after(connection) == ["3", "3", "2", "9000"]


def test_an_export_may_pause_longer_than_a_write(tcp_url: str) -> None:
    def shown(run: Any) -> str:
        return str(run._connection.run_statement("SHOW idle_in_transaction_session_timeout").one()[0])

    with longmind.open(tcp_url, embedder=None) as engine:
        assert engine._database.write(None, shown) == "90s"
        assert engine._database.read_snapshot(None, shown) == "0"
        assert engine._database.write(None, shown) == "90s"


def test_what_the_address_says_of_the_line_goes_first() -> None:
    settings = longmind.Settings(url="postgresql://db.example/memory?keepalives_idle=99&tcp_user_timeout=1")
    options = client_keepalive(settings)
    assert "keepalives_idle" not in options
    assert "tcp_user_timeout" not in options
    assert options["keepalives_interval"] == 5


def test_an_import_may_take_longer_than_a_server_may_be_silent(tcp_url: str, tmp_path: Path) -> None:
    with longmind.open(tcp_url, embedder=None) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        for _ in range(3):
            ada.events.record_many([{"kind": "note", "text": f"Number {number}."} for number in range(1_000)])
        ada.admin.export_user_archive(tmp_path / "ada.zip")
    with longmind.open(tcp_url, embedder=None, **IMPATIENT) as engine, slow_events(tcp_url):
        host = engine.context(tenant_id="acme", app_id="support", user_id="host", capabilities={"admin"})
        began = time.monotonic()
        imported = host.admin.import_user_data(tmp_path / "ada.zip", "grace")["imported"]
        assert time.monotonic() - began > sum(IMPATIENT.values())
        assert imported["events"] == 3_000


@contextmanager
def slow_events(url: str) -> Iterator[None]:
    """Each event that is imported takes a millisecond at least, on a machine of any speed."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION longmind.dawdle() RETURNS trigger LANGUAGE plpgsql "
            "AS $$ BEGIN PERFORM pg_sleep(0.001); RETURN NULL; END $$"
        )
        connection.execute(
            "CREATE TRIGGER dawdle AFTER INSERT ON longmind.events "
            "FOR EACH STATEMENT EXECUTE FUNCTION longmind.dawdle()"
        )
        try:
            yield
        finally:
            connection.execute("DROP FUNCTION longmind.dawdle() CASCADE")


def test_what_takes_too_long_is_told_as_such_and_nothing_of_it_is_written(tcp_url: str) -> None:
    with longmind.open(tcp_url, embedder=None, **IMPATIENT) as engine:
        linger = NamedQuery("linger", "SELECT pg_sleep(0.5)", system=True)
        engine._database.add_queries({"linger": linger})
        with pytest.raises(longmind.StoreUnavailable, match="too long"):
            engine._database.write(None, lambda run: [run.one("linger") for _ in range(10)])


READY = b"Z\0\0\0\5I"
"""The end of every answer: the server is ready for the next statement."""


def pass_on_all_but_the_end(line: Line, address: tuple[str, int]) -> None:
    """Stand between an engine and its server, and keep the end of the answer to itself that is asked for `withheld`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line.say(listener.getsockname()[1])
        engine, _ = listener.accept()
    with engine, socket.create_connection(address) as server, selectors.DefaultSelector() as ready:
        for one, other in ((engine, server), (server, engine)):
            ready.register(one, selectors.EVENT_READ, other)
        withheld = False
        # Longer than who asks has patience; and no longer, so that who waits without a limit hears of an end.
        while events := ready.select(timeout=60):
            for key, _ in events:
                said = key.fileobj.recv(65536)  # type: ignore[union-attr]
                if not said:
                    return
                withheld = withheld or b"withheld" in said
                key.data.sendall(said.removesuffix(READY) if withheld and key.data is engine else said)


def test_a_server_that_stops_in_the_middle_of_what_was_begun_is_not_waited_for_any_longer(tcp_url: str) -> None:
    server = conninfo_to_dict(tcp_url)
    with start_process(pass_on_all_but_the_end, (server["host"], int(str(server["port"])))) as between:
        url = make_conninfo(tcp_url, port=between.hear())
        with ScopedConnection.connect(url, noting=lambda _: None, autocommit=True) as connection:
            connection.patience = 0.2
            answer = connection.begin_statement("SELECT 'withheld'")
            wait_until(connection.has_input)
            with pytest.raises(Silent):
                answer.one()
            assert connection.closed
