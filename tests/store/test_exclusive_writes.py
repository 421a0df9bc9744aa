"""Who changes a user as a whole keeps others out, and no longer than it lives: also not when it is stopped."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType
from typing import Any

import psycopg
import pytest

import longmind
from harness.crew import Line, start_process
from longmind.store.database import Transaction

LIMITS: dict[str, Any] = {"embedder": None, "busy_timeout_seconds": 0.5, "answer_timeout_seconds": 3.0}
MOMENTS = {
    # A generator returns when it yields, and is called again to go on.
    "before the transaction begins": ("return", 1),
    "after the transaction has ended": ("call", 2),
}


def ada(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada")


def locks_of(url: str) -> int:
    """How many users are held by somebody alone."""
    with psycopg.connect(url) as connection:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchall()
    return int(count)


def erase_and_be_stopped(line: Line, url: str, event_wanted: str, time_wanted: int) -> str:
    times = 0

    def stop(frame: FrameType, event: str, _: object) -> None:
        nonlocal times
        if event == event_wanted and frame.f_code.co_name == "exclusive_scope_lock":
            times += 1
            if times == time_wanted:
                sys.setprofile(None)
                line.say((os.getpid(), locks_of(url)))
                os.kill(os.getpid(), signal.SIGSTOP)

    with longmind.open(url, **LIMITS) as engine:
        sys.setprofile(stop)
        try:
            receipt = ada(engine).admin.delete_user_data(confirm=True)["receipt"]
        except longmind.LongmindError as error:
            return type(error).__name__
        return "erased" if ada(engine).admin.verify_receipt(receipt) else "not erased"


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_process_that_is_stopped_beside_its_erasure_gives_the_lock_back_and_is_told_the_truth(
    moment: str, postgres_url: str
) -> None:
    with longmind.open(postgres_url, **LIMITS) as engine:
        ada(engine).conversations.create_conversation("daily")
        # The writes of a job stand behind the fence that an erasure holds.
        engine.register_job("begin", lambda run: longmind.Effect(_look, ()))
        with start_process(erase_and_be_stopped, postgres_url, *MOMENTS[moment]) as child:
            pid, locks = child.hear()
            assert locks == 1
            began = time.monotonic()
            ada(engine).jobs.enqueue("begin")
            while (report := engine.work()).succeeded == 0:
                assert time.monotonic() - began < 60, report
            assert locks_of(postgres_url) == 0
            os.kill(pid, signal.SIGCONT)
            assert child.result() == "erased"
        assert ada(engine).conversations.list_conversations() == []


def _look(run: Transaction) -> None:
    run.one("get_job", id="any")


def test_a_session_may_be_idle_again_for_ever_once_it_holds_nothing(postgres_url: str) -> None:
    def limit(run: Transaction) -> object:
        return run._connection.execute("SHOW idle_session_timeout").fetchone()[0]  # type: ignore[attr-defined]

    with longmind.open(postgres_url, pool_size=1, **LIMITS) as engine:
        assert engine._database.write_exclusively(ada(engine).scope, limit) == "3500ms"
        assert engine._database.read(None, limit) == "0"
