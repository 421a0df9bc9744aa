"""Random kills: writers, workers and servers die during a mixed workload; every answered operation exists once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

from harness.crew import load_beforehand, wait_until
from harness.postgres import PostgresServer
from longmind.models.job import JobStatus
from prove.kills import checker, journal, processes, rounds
from prove.section import Check, Plan, Section, judge_claim

GOAL = 500
"""Kills on each engine."""
CHECK_EVERY = 20
"""Rounds between two comparisons of everything."""
SERVER_EVERY = 3
COMMANDS_EVERY = 25
"""Servers start slowest of all, and real commands slower still, so only some rounds have them."""
_SHOWN = 12
_UNFINISHED: tuple[JobStatus, ...] = ("queued", "running", "failed")

# Modules that the processes of the attack need, loaded before the fork so that each starts in a moment.
_LOADED = (
    "longmind.admin.user_erasure",
    "longmind.events.search_index",
    "longmind.extraction.pipeline",
    "longmind.recall.retriever",
    "longmind.recall.index.storage",
    "longmind.server.app",
    "longmind.server.process",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.ollama",
    "prove.kills.processes",
)


def run(plan: Plan) -> Iterator[Check]:
    load_beforehand(*_LOADED)
    for place, engine in enumerate(plan.engines):
        with ExitStack() as stack:
            if engine == "sqlite":
                url = f"sqlite:///{plan.folder}/kills.db"
            else:
                url = stack.enter_context(PostgresServer()).create_database("kills")
            attack = rounds.prepare(url, plan.folder / engine, plan.dice(engine))
            # A quarter of the time is for comparing.
            share = 0.75 * plan.seconds_left() / (len(plan.engines) - place)
            yield from _attack(engine, attack, time.monotonic() + share)


def _attack(engine: str, attack: rounds.KillAttack, until: float) -> Iterator[Check]:
    found: list[str] = []
    while not found and attack.tally.killed < GOAL and time.monotonic() < until:
        rounds_done = attack.tally.rounds
        by_command = rounds_done % COMMANDS_EVERY == 1
        attack.round(served=by_command or rounds_done % SERVER_EVERY == 0, by_command=by_command)
        if attack.tally.rounds % CHECK_EVERY == 0:
            found = compare(attack)
    found = found or compare(attack)
    tally = attack.tally
    states = Counter(entry.state for user in attack.everybody for entry in journal.read(attack.folder, user).entries)
    yield judge_claim(
        f"what was answered is there once, and the rest wholly or not at all ({engine})",
        tally.killed,
        [f"{len(found)} problems:", *found[:_SHOWN]] if found else [],
        {"kills": tally.killed, **dict(sorted(tally.kills.items())), "operations": dict(states)},
    )
    cut = tally.cut.total()
    yield Check(
        f"operations of many kinds were cut off in their middle ({engine})",
        passed=cut > 0,
        figures={
            "cut off": cut,
            "kinds": len(tally.cut),
            **dict(tally.cut.most_common()),
            "jobs begun again": checker.count_restarted_jobs(attack.url),
        },
        detail="" if cut else "No kill has hit an operation: nothing was shown.",
    )


def compare(attack: rounds.KillAttack) -> list[str]:
    """Finish the remaining jobs with a fresh engine, and return the problems found afterwards."""
    with processes.open_engine(attack.url, attack.folder) as engine:
        engine.start_workers(2)
        # All of them at one look: between two, one that is done may have queued another.
        wait_until(lambda: not any(each.due or each.running or each.later for each in engine.measures().queue))
        engine.stop_workers()
        return list(checker.problems(engine, attack.folder, attack.everybody))


SECTION = Section(name="kills", title="Kills of writers, workers and servers", seconds=120, run=run)
