"""Workers that are cut off in the middle of their jobs, in every way a line can fail, and come back."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import psycopg

import recollect
from prove.machines.accounts import faults
from prove.machines.backlog import Backlog, happened, summaries
from prove.machines.network import Network
from prove.machines.nodes import Node
from prove.machines.waiting import work_off
from prove.machines.words import Words
from prove.machines.world import DATABASE, LEASE, SILENCE, WORKERS, World, connect
from prove.section import Check, Plan

MANNERS: dict[str, Callable[[Network, str], None]] = {
    "unplugged": lambda lines, name: lines.unplug(name),
    "cut silently": lambda lines, name: lines.cut(name, DATABASE),
    "unheard": lambda lines, name: lines.lose(name, DATABASE),
    "deaf": lambda lines, name: lines.lose(DATABASE, name),
}
FULL_ROUNDS = 10
_LONG = LEASE + SILENCE + 1
_WORKING_AGAIN = 20.0
OPEN = 1.0
"""Seconds that the transaction of a slow remark is open."""
_HELD = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_xid IS NOT NULL AND now() - xact_start >= interval '1 second'
"""


def run(plan: Plan, world: World) -> Iterator[Check]:
    """Cut one after the other off, until the time for it is over, and settle the accounts at the end."""
    url, door = world.new_database()
    dice = plan.dice("worker cuts")
    cuts: Counter[str] = Counter()
    silent: list[str] = []
    back: list[float] = []
    with (
        recollect.open(door, embedder=None, job_attempts=100) as engine,
        connect(door) as database,
        world.workers(url, WORKERS[:3]) as workers,
    ):
        backlog = Backlog(engine)
        until = time.monotonic() + plan.left() * 0.2
        while min(cuts[each] for each in MANNERS) < FULL_ROUNDS if plan.full else _worth_another(cuts, until):
            name, manner = dice.choice(WORKERS[:3]), min(MANNERS, key=lambda each: cuts[each])
            backlog.queue_conversations(2)
            backlog.queue_remarks(10)
            backlog.queue_remarks(4, "slow-remark")
            node = workers[name]
            # In turns, so that also a short run has both: a transaction that is open, and a job that is given up late.
            late = sum(cuts.values()) % 2 == 0
            _wait_for_beginning(node, backlog, "long-remark" if late else "slow-remark")
            MANNERS[manner](world.lines, name)
            cuts[manner] += 1
            # Long enough for another to take the job over; every second time, for the server to give the line up too.
            time.sleep(dice.choice((LEASE * 1.5, _LONG)))
            world.lines.plug_in(name)
            world.lines.heal(name)
            waited = _seconds_until_at_work(node, backlog)
            back.append(waited)
            if waited > _WORKING_AGAIN:
                silent.append(f"{name} after it was {manner}")
        left = work_off(database, seconds=60)
        wrong = faults(backlog.accounts, happened(database), summaries(database))
        refused = sum(node.count_logged("_Refused") for node in workers.values())
        taken_twice = _one(database, "SELECT count(*) FROM recollect.jobs WHERE fencing_token > 1")
        with recollect.open(door, embedder=Words()) as looking:
            without_vector = looking.reindex()
    figures = {
        "cuts": dict(cuts),
        "jobs": backlog.jobs,
        "taken by a second worker": taken_twice,
        "late commits refused": refused,
    }
    yield Check(
        "each job of a worker that was cut off has one effect: extraction, summaries, vectors, handlers of one's own",
        passed=not wrong and not left and not without_vector,
        figures=figures,
        detail="; ".join([*wrong[:5], *left, *([f"{without_vector} atoms had no vector"] if without_vector else [])]),
    )
    yield Check(
        "a worker that comes back late is refused, and its job is what the other one made of it",
        passed=refused > 0 and taken_twice > 0,
        figures={"late commits refused": refused},
        detail="no worker came back to a job that another had taken: nothing was shown",
    )
    yield Check(
        "after the line is mended a worker goes on by itself",
        passed=not silent,
        figures={"seconds until its next job": {"median": round(median(back), 2), "worst": round(max(back), 2)}},
        detail="; ".join(silent),
    )


def a_vanished_transaction(world: World) -> Iterator[Check]:
    """What a worker has locked when it vanishes must not hold up the others for long."""
    longest = LEASE + 4 * SILENCE
    url, door = world.new_database()
    with (
        recollect.open(door, embedder=None, job_attempts=100) as engine,
        connect(door) as database,
        world.workers(url, WORKERS[:2], "--open", str(OPEN)) as workers,
    ):
        backlog = Backlog(engine)
        victim = workers[WORKERS[0]]
        _wait_for_beginning(victim, backlog, "slow-remark")
        world.lines.cut(WORKERS[0], DATABASE)
        began = time.monotonic()
        # Long after its transaction would have ended by itself, by what the worker says.
        time.sleep(OPEN)
        held = _one(database, _HELD)
        backlog.queue_remarks(3)
        left = work_off(database, seconds=60)
        took = time.monotonic() - began
        wrong = faults(backlog.accounts, happened(database))
        world.lines.heal(WORKERS[0])
    yield Check(
        "what a worker that vanished in a transaction has locked is free after its lease and a few silence_seconds",
        passed=not left and not wrong and held > 0 and took < longest,
        figures={
            "seconds until all was done": round(took, 1),
            "at most": longest,
            "silence_seconds": SILENCE,
            "lease": LEASE,
        },
        detail="; ".join([*wrong[:5], *left]) or ("it took too long" if held else "it held nothing: nothing was shown"),
    )


def _worth_another(cuts: Counter[str], until: float) -> bool:
    """Whether there is time for another cut; two are made in any case, one of each kind of job."""
    return sum(cuts.values()) < 2 or time.monotonic() < until


def _wait_for_beginning(node: Node, backlog: Backlog, kind: str) -> None:
    """Until it is in the middle of a job of this kind; of a slow remark, in the transaction that ends it."""
    node.forget_said()
    for _ in range(100):
        backlog.queue_remarks(1, kind)
        until = time.monotonic() + 2.0
        while (said := node.hear(max(0.0, until - time.monotonic()))) is not None:
            if said["began"] == ("transaction" if kind == "slow-remark" else kind):
                return
    raise RuntimeError(f"{node.machine.name} does no jobs:\n" + "\n".join(node.log[-20:]))


def _seconds_until_at_work(node: Node, backlog: Backlog) -> float:
    node.forget_said()
    began = time.monotonic()
    while time.monotonic() - began <= _WORKING_AGAIN:
        backlog.queue_remarks(2)
        if node.hear(0.5) is not None:
            break
    return time.monotonic() - began


def _one(database: psycopg.Connection[tuple[Any, ...]], query: str) -> int:
    [(number,)] = database.execute(query).fetchall()
    return int(number)
