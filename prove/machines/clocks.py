"""Machines with clocks five minutes apart: leases, the queue and the order of writes must not depend on them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import longmind
from prove.machines.accounts import faults
from prove.machines.backlog import Backlog
from prove.machines.effects import answers, list_effects
from prove.machines.http_client import client
from prove.machines.nodes import NetworkNode, api_node, thinking_worker
from prove.machines.queue_drain import work_off
from prove.machines.world import API, CLIENT, QUICK, WORKERS, NetworkWorld, connect
from prove.section import Check, Plan

OFF = (300.0, -300.0, 0.0)
JOBS = 30
FULL_JOBS = 300
_CLOSE = 60.0


def run(plan: Plan, world: NetworkWorld) -> Iterator[Check]:
    yield _workers(world, FULL_JOBS if plan.full else JOBS)
    yield _nodes(world)


def _workers(world: NetworkWorld, jobs: int) -> Check:
    """Check three workers, one ahead, one behind, one right: none dies, so no job may be taken twice."""
    url, door = world.new_database()
    with longmind.open(door, embedder=None) as engine, connect(door) as database, ExitStack() as stack:
        apart = []
        for name, off in zip(WORKERS, OFF, strict=False):
            options = ("--clock", str(off), "--think", "0.1")
            worker = stack.enter_context(thinking_worker(world.lines[name], url, QUICK, *options))
            apart.append(_micros_of(worker) / 1e6 - time.time())
        backlog = Backlog(engine)
        backlog.queue_remarks(jobs)
        backlog.queue_conversations(3)
        began = time.monotonic()
        left = work_off(database, seconds=60 + jobs)
        took = time.monotonic() - began
        wrong = faults(backlog.accounts, list_effects(database), answers(database))
        [(stolen,)] = database.execute("SELECT count(*) FROM longmind.jobs WHERE fencing_token > 1")
    return Check(
        "workers whose clocks are five minutes ahead and behind take no job away from one another",
        passed=not left and not wrong and stolen == 0 and _as_wanted(apart),
        figures={
            "jobs": backlog.jobs,
            "taken twice": stolen,
            "seconds": round(took, 1),
            "clocks off by": [round(each) for each in apart],
        },
        detail="; ".join([*left, *wrong[:5]]) or f"{stolen} jobs were taken from a worker that was at them",
    )


def _nodes(world: NetworkWorld) -> Check:
    """Two nodes, the systems of which are ten minutes apart, write in turns."""
    url, door = world.new_database()
    whose: dict[str, Any] = {"tenant_id": "acme", "app_id": "prove", "user_id": "ada"}
    with longmind.open(door, embedder=None) as engine, ExitStack() as stack:
        token = engine.keys.create(**whose).token
        for name, off in zip(API, OFF, strict=False):
            stack.enter_context(api_node(world.lines[name], url, QUICK, off))
        asking = stack.enter_context(client(world.lines[CLIENT], token))
        made = [
            asking.ask(world.lines[API[number % 2]], "POST", "/ai-conversations", {"namespace": "chat"}).body
            for number in range(10)
        ]
        dates = [asking.ask(world.lines[name], "GET", "/healthz").date for name in API]
        apart = [parsedate_to_datetime(each).timestamp() - time.time() for each in dates]
        listed = asking.ask(world.lines[API[0]], "GET", "/ai-conversations?limit=100").body["items"]
    order = [each["id"] for each in reversed(listed)] == [each["id"] for each in made]
    now = datetime.now(UTC)
    off = max(abs((datetime.fromisoformat(each["createdAt"]) - now).total_seconds()) for each in made)
    return Check(
        "what nodes write whose clocks are ten minutes apart has the time of the database, and its order",
        passed=order and off < 60 and _as_wanted(apart),
        figures={
            "writes": len(made),
            "in order": order,
            "furthest from the right time": f"{off:.0f} s",
            "clocks off by": [round(each) for each in apart],
        },
        detail="they are in another order than they were written in, or have another time",
    )


def _micros_of(worker: NetworkNode) -> int:
    """Return the worker's time at its start, which is just now."""
    [at] = (found[1] for line in worker.log if (found := re.search(r"at work at (\d+)", line)))
    return int(at)


def _as_wanted(apart: list[float]) -> bool:
    """Return whether the clocks are as wrong as intended; otherwise the check proves nothing."""
    return all(abs(each - off) < _CLOSE for each, off in zip(apart, OFF, strict=False))
