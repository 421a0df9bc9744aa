"""Processes that find the same PostgreSQL database not up to date: they wait for each other, though not for ever."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import psycopg
import pytest

import longmind
from harness.crew import Line, start_process, wait_until
from harness.postgres import PostgresServer
from longmind.store.postgres.migrations import MIGRATION_LOCK

# A process that brings the database up to date and stumbles for longer than this is taken for stopped.
LIMITS: dict[str, Any] = {"embedder": None, "busy_timeout_seconds": 2.0, "answer_timeout_seconds": 0.5}


@pytest.fixture
def empty(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database that nobody has opened yet."""
    yield postgres_server.create_database("never_opened")
    postgres_server.drop_database("never_opened")


def held(url: str) -> psycopg.Connection[Any]:
    """A transaction of somebody who is to bring the database up to date."""
    connection = psycopg.connect(url, application_name="somebody")
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
    return connection


def test_who_waits_for_a_session_that_stands_still_is_told_whose_it_is(empty: str) -> None:
    with held(empty) as somebody:
        pid = somebody.info.backend_pid
        with pytest.raises(longmind.StoreBusy, match=rf"Session {pid} \(somebody, .* has been idle") as caught:
            longmind.open(empty, **LIMITS)
        assert f"pg_terminate_backend({pid})" in caught.value.hint
    longmind.open(empty, embedder=None).close()


def test_who_waits_for_a_session_that_works_waits_until_it_is_done(empty: str) -> None:
    with held(empty) as somebody, ThreadPoolExecutor(1) as threads:
        began = time.monotonic()
        # The server itself ends the transaction, however long this process is held up at that moment.
        threads.submit(somebody.execute, "SELECT pg_sleep(4); ROLLBACK")
        wait_until(lambda: is_at_work(empty, somebody.info.backend_pid))
        longmind.open(empty, **LIMITS).close()
        # Longer than one that stands still would have been waited for.
        assert time.monotonic() - began > 3.9


def is_at_work(url: str, pid: int) -> bool:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone()
    # Or was a moment ago: the query that is shown is the last one.
    return found is not None and "pg_sleep" in found[0]


def test_a_database_that_is_up_to_date_is_opened_while_somebody_stands_still(postgres_url: str) -> None:
    longmind.open(postgres_url, embedder=None).close()
    with held(postgres_url):
        longmind.open(postgres_url, **LIMITS).close()


def test_a_process_that_is_stopped_while_it_brings_a_database_up_to_date_holds_nobody_up(empty: str) -> None:
    with start_process(stop_in_the_middle, empty) as child:
        pid = child.hear()
        began = time.monotonic()
        with longmind.open(empty, embedder=None, answer_timeout_seconds=120.0) as engine:
            # By its own patience it would have waited for far longer.
            assert time.monotonic() - began < 60
            ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
            ada.conversations.create_conversation("daily")
        os.kill(pid, signal.SIGCONT)
        assert child.result() == "StoreUnavailable"


def stop_in_the_middle(line: Line, url: str) -> str:
    def stop(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code.co_name == "ensure_schema":
            sys.setprofile(None)
            line.say(os.getpid())
            os.kill(os.getpid(), signal.SIGSTOP)

    sys.setprofile(stop)
    try:
        longmind.open(url, **LIMITS).close()
    except longmind.StoreError as error:
        return type(error).__name__
    return "opened"
