"""Lines that lose about half of the traffic in bursts: the rest arrives late and in pieces.

The kernel's own means for it (netem) are often not built in, so that the lines are cut and mended again and again.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import longmind
from prove.machines.accounts import faults
from prove.machines.backlog import Backlog
from prove.machines.effects import answers, list_effects
from prove.machines.http_client import client
from prove.machines.nodes import api_node
from prove.machines.queue_drain import work_off
from prove.machines.world import API, CLIENT, DATABASE, QUICK, WORKERS, NetworkWorld, connect
from prove.section import Check, Plan

SECONDS = 8.0
FULL_SECONDS = 120.0
_BURST = (0.05, 0.6)
_AT_ONCE = 6


def run(plan: Plan, world: NetworkWorld) -> Iterator[Check]:
    url, door = world.new_database()
    whose: dict[str, Any] = {"tenant_id": "acme", "app_id": "prove", "user_id": "ada"}
    statuses: Counter[str] = Counter()
    slowest = 0.0
    with (
        longmind.open(door, embedder=None, job_attempts=100) as engine,
        connect(door) as database,
        ExitStack() as stack,
    ):
        backlog = Backlog(engine)
        token = engine.keys.create(**whose).token
        stack.enter_context(world.workers(url, WORKERS[:3], "--think", "0.05"))
        for name in API:
            stack.enter_context(api_node(world.lines[name], url, QUICK))
        asking = stack.enter_context(client(world.lines[CLIENT], token))
        backlog.queue_conversations(10)
        talk = backlog.ctx.conversations.create_conversation("talk")
        # It becomes so long that it is summarised by the way.
        backlog.accounts.ask(f"summary {talk.id}")
        path = f"/ai-conversations/{talk.id}/messages/user"
        until = time.monotonic() + (FULL_SECONDS if plan.full else SECONDS)
        number = 0
        with _flaky(world, plan.dice("flaky lines")) as bursts:
            while time.monotonic() < until:
                backlog.queue_remarks(3)
                sent = {}
                for _ in range(_AT_ONCE):
                    key, name = f"flaky {number}", API[number % 2]
                    number += 1
                    backlog.accounts.ask(f"message {key}")
                    sent[key] = asking.send(world.lines[name], "POST", path, {"content": key}, key=key, seconds=20)
                for key, future in sent.items():
                    answer = future.result(60)
                    statuses[str(answer.status) if answer.status else answer.error] += 1
                    slowest = max(slowest, answer.seconds)
                    if answer.good:
                        backlog.accounts.acknowledge(f"message {key}", answer.body["id"])
        left = work_off(database, seconds=60)
        stands = database.execute(
            "SELECT idempotency_key, event_id FROM longmind.events WHERE idempotency_key LIKE 'flaky %'"
        ).fetchall()
        there = [*list_effects(database), *(f"message {key}" for key, _ in stands)]
        stood = {**answers(database), **{f"message {key}": event for key, event in stands}}
        wrong = faults(backlog.accounts, there, stood)
        # None of them waits as long as a burst where no burst was in its way.
        wrong += [] if bursts and stands and slowest > _BURST[0] else ["no request was held up: nothing was shown"]
    yield Check(
        "over lines that lose half of everything in bursts, jobs and acknowledged writes have one effect each",
        passed=not wrong and not left,
        figures={
            "bursts": len(bursts),
            "jobs": backlog.jobs,
            "requests": dict(statuses),
            "slowest request": f"{slowest:.1f} s",
        },
        detail="; ".join([*wrong[:5], *left]),
    )


@contextmanager
def _flaky(world: NetworkWorld, dice: random.Random) -> Iterator[list[str]]:
    """Break random lines to the database, in either direction, and mend each a moment later, while the block runs."""
    over, bursts = threading.Event(), list[str]()

    def flap(name: str, dice: random.Random) -> None:
        while not over.wait(dice.uniform(*_BURST)):
            breaking = dice.choice((world.lines.cut, world.lines.lose, lambda one, two: world.lines.lose(two, one)))
            breaking(name, DATABASE)
            bursts.append(name)
            over.wait(dice.uniform(*_BURST))
            world.lines.mend(name, DATABASE)

    with ThreadPoolExecutor() as threads:
        flapping = [threads.submit(flap, name, random.Random(dice.random())) for name in (*WORKERS[:3], *API)]
        try:
            yield bursts
        finally:
            over.set()
        for each in flapping:
            # A thread that could not break a line raises its error here.
            each.result()
