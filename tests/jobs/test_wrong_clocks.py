"""Machines that share a PostgreSQL, one of them with a clock that is minutes off."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import pytest

import longmind
from longmind import JobRun, WorkReport
from longmind.clock import system_clock

FIVE_MINUTES = 300 * 1_000_000


@pytest.mark.patient
@pytest.mark.parametrize("wrong", [FIVE_MINUTES, -FIVE_MINUTES], ids=["ahead", "behind"])
def test_a_worker_with_a_wrong_clock_takes_no_job_away_and_loses_none(postgres_url: str, wrong: int) -> None:
    with (
        longmind.open(postgres_url, embedder=None) as right,
        longmind.open(postgres_url, embedder=None, clock=lambda: system_clock() + wrong) as off,
    ):
        for at_work, idle in ((right, off), (off, right)):
            begun, go_on = threading.Event(), threading.Event()

            def think(run: JobRun, begun: threading.Event = begun, go_on: threading.Event = go_on) -> str:
                begun.set()
                go_on.wait(60)
                return "done"

            at_work.register_job("think", think)
            idle.register_job("think", lambda run: "taken away")
            at_work.context(tenant_id="acme", app_id="support", user_id="ada").jobs.enqueue("think")
            reports: list[WorkReport] = []
            thread = threading.Thread(target=lambda engine=at_work, into=reports: into.append(engine.work()))
            thread.start()
            assert begun.wait(60)
            assert idle.work() == WorkReport()
            go_on.set()
            thread.join()
            assert reports == [WorkReport(succeeded=1)]


def test_what_a_machine_queues_whose_clock_is_ahead_is_done_at_once_by_another(postgres_url: str) -> None:
    with (
        longmind.open(postgres_url, embedder=None) as right,
        longmind.open(postgres_url, embedder=None, clock=lambda: system_clock() + FIVE_MINUTES) as ahead,
    ):
        right.register_job("think", lambda run: "done")
        ahead.context(tenant_id="acme", app_id="support", user_id="ada").jobs.enqueue("think")
        assert right.work() == WorkReport(succeeded=1)


@pytest.mark.patient
@pytest.mark.parametrize("wrong", [FIVE_MINUTES, -FIVE_MINUTES], ids=["ahead", "behind"])
def test_a_machine_with_a_wrong_clock_goes_by_that_of_the_database(
    postgres_url: str, wrong: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = time.time_ns
    before = datetime.now(UTC)
    monkeypatch.setattr(time, "time_ns", lambda: right() + wrong * 1000)
    with longmind.open(postgres_url, embedder=None) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        made = ctx.conversations.create_conversation("support")
    assert abs((datetime.fromisoformat(made.created_at) - before).total_seconds()) < 60
