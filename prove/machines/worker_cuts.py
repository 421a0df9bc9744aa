"""Workers that are cut off in the middle of their jobs, in every way a line can fail, and come back."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import longmind
from prove.machines.accounts import faults
from prove.machines.backlog import Backlog
from prove.machines.effects import Database, answers, list_effects
from prove.machines.hash_embedder import HashEmbedder
from prove.machines.job_holders import KINDS, WORKING_AGAIN, find_held_job, seconds_until_at_work, wait_for_job
from prove.machines.network import Network
from prove.machines.queue_drain import work_off
from prove.machines.world import DATABASE, LEASE, SILENCE, WORKERS, NetworkWorld, connect
from prove.section import Check, Plan, skip_check

MANNERS: dict[str, Callable[[Network, str], None]] = {
    "unplugged": lambda lines, name: lines.unplug(name),
    "cut silently": lambda lines, name: lines.cut(name, DATABASE),
    "unheard": lambda lines, name: lines.lose(name, DATABASE),
    "deaf": lambda lines, name: lines.lose(DATABASE, name),
}
FULL_ROUNDS = 10
_LONG = LEASE + SILENCE + 1
OPEN = 1.0
"""Seconds that the transaction of a slow remark is open."""
_HELD = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_xid IS NOT NULL AND now() - xact_start >= interval '1 second'
"""


@dataclass
class Cuts:
    """The cuts so far: their manner, and the job that each interrupted."""

    manners: Counter[str] = field(default_factory=Counter)
    together: set[tuple[str, str]] = field(default_factory=set)
    in_the_middle: list[tuple[str, str, int]] = field(default_factory=list)
    """The kind, the job, and the token of the worker that held it when its line was already cut."""
    back: list[float] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)

    def next(self) -> tuple[str, str]:
        """Return the next kind of job and manner of cut, in turn until every pair has occurred."""
        count = sum(self.manners.values())
        return list(KINDS)[count % len(KINDS)], list(MANNERS)[(count + count // len(KINDS)) % len(MANNERS)]

    def is_complete(self) -> bool:
        return (
            len(self.together) == len(KINDS) * len(MANNERS)
            and min(self.manners[manner] for manner in MANNERS) >= FULL_ROUNDS
        )

    def figures(self, database: Database) -> dict[str, Any]:
        tokens: dict[str, int] = dict(database.execute("SELECT id, fencing_token FROM longmind.jobs").fetchall())
        taken = Counter(kind for kind, job, token in self.in_the_middle if tokens[job] > token)
        return {
            "cuts": dict(self.manners),
            "in the middle of a job": len(self.in_the_middle),
            "of kind": dict(Counter(kind for kind, _, _ in self.in_the_middle)),
            "taken over by another worker": dict(taken),
        }


def run(plan: Plan, world: NetworkWorld) -> Iterator[Check]:
    """Cut off one worker after the other until the time is over, and compare the accounts at the end."""
    url, door = world.new_database()
    dice = plan.dice("worker cuts")
    cuts = Cuts()
    with (
        longmind.open(door, embedder=None, job_attempts=100) as engine,
        connect(door) as database,
        world.workers(url, WORKERS[:3]) as workers,
    ):
        backlog = Backlog(engine)
        until = time.monotonic() + plan.seconds_left() * 0.25
        while not cuts.is_complete() if plan.full else not cuts.manners or time.monotonic() < until:
            kind, manner = cuts.next()
            backlog.queue_conversations(2)
            backlog.queue_remarks(10)
            backlog.queue_remarks(4, "slow-remark")
            name = wait_for_job(workers, backlog, kind)
            MANNERS[manner](world.lines, name)
            cuts.manners[manner] += 1
            cuts.together.add((kind, manner))
            cuts.in_the_middle += find_held_job(database, workers[name], kind)
            # Long enough for another to take the job over; every second time, for the server to give the line up too.
            time.sleep(dice.choice((LEASE * 1.5, _LONG)))
            world.lines.plug_in(name)
            world.lines.heal(name)
            waited = seconds_until_at_work(workers[name], backlog)
            cuts.back.append(waited)
            if waited > WORKING_AGAIN:
                cuts.silent.append(f"{name} after it was {manner}")
        left = work_off(database, seconds=90)
        wrong = faults(backlog.accounts, list_effects(database), answers(database))
        refused = sum(node.count_logged("_Refused") for node in workers.values())
        taken_twice = _one(database, "SELECT count(*) FROM longmind.jobs WHERE fencing_token > 1")
        figures = cuts.figures(database)
        with longmind.open(door, embedder=HashEmbedder()) as looking:
            without_vector = looking.reindex()
    yield Check(
        "each job of a worker that was cut off has one effect: extraction, sleep-time memory, distillation, summaries, "
        "vectors of atoms and events, handlers of one's own",
        passed=bool(cuts.in_the_middle) and not wrong and not left and not without_vector,
        figures={**figures, "jobs": backlog.jobs},
        detail="; ".join([*wrong[:5], *left, *([f"{without_vector} atoms had no vector"] if without_vector else [])])
        or "no cut fell into the middle of a job",
    )
    if missing := set(KINDS) - figures["of kind"].keys():
        yield skip_check(
            f"a worker is cut off in the middle of: {', '.join(sorted(missing))}", "there was no time for it"
        )
    yield Check(
        "a worker that comes back late is refused, and its job is what the other one made of it",
        passed=refused > 0 and taken_twice > 0,
        figures={"jobs taken by a second worker": taken_twice, "late commits refused": refused},
        detail="no worker came back to a job that another had taken: nothing was shown",
    )
    yield Check(
        "after the line is mended a worker goes on by itself",
        passed=not cuts.silent,
        figures={
            "seconds until its next job": {"median": round(median(cuts.back), 2), "worst": round(max(cuts.back), 2)}
        },
        detail="; ".join(cuts.silent),
    )


def check_vanished_transaction(world: NetworkWorld) -> Iterator[Check]:
    """Check that the locks of a vanished worker do not hold up the others for long."""
    longest = LEASE + 4 * SILENCE
    url, door = world.new_database()
    with (
        longmind.open(door, embedder=None, job_attempts=100) as engine,
        connect(door) as database,
        world.workers(url, WORKERS[:2], "--open", str(OPEN)) as workers,
    ):
        backlog = Backlog(engine)
        victim = wait_for_job(workers, backlog, "slow-remark")
        world.lines.cut(victim, DATABASE)
        began = time.monotonic()
        # Long after its transaction would have ended by itself, by what the worker says.
        time.sleep(OPEN)
        held = _one(database, _HELD)
        backlog.queue_remarks(3)
        left = work_off(database, seconds=60)
        took = time.monotonic() - began
        wrong = faults(backlog.accounts, list_effects(database))
        world.lines.heal(victim)
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


def _one(database: Database, query: str) -> int:
    [(number,)] = database.execute(query).fetchall()
    return int(number)
