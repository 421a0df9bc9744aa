"""Waiting for the workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg


def work_off(
    database: psycopg.Connection[tuple[Any, ...]], seconds: float, meanwhile: Callable[[], None] = lambda: None
) -> list[str]:
    """Wait until no job is left, and return the jobs that are left when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        left = database.execute(
            "SELECT kind, status, count(*) FROM longmind.jobs WHERE status <> 'succeeded' GROUP BY 1, 2"
        ).fetchall()
        if not left or time.monotonic() > deadline:
            return [f"{count} jobs {kind} are {status}" for kind, status, count in left]
        meanwhile()
        time.sleep(0.05)
